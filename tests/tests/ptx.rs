//! The PTX itself: it assembles for every architecture, and has the instructions that the source intends.

/// The text of one entry, without debug lines.
fn entry<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let start = ptx.find(&format!(".entry {name}(")).expect("an entry of this name");
    let end = start + ptx[start..].find("\n}").expect("its end");
    ptx[start..end].lines().filter(|line| !line.trim_start().starts_with(".loc")).collect()
}

/// The text of all families.
fn text() -> String {
    let images = rustwarp::ptx::find_families("kernels-gpu", None, None).expect("the kernels' PTX");
    images.into_iter().map(|image| String::from_utf8(image.bytes).expect("PTX is text")).collect()
}

fn count(lines: &[&str], what: &str) -> usize {
    lines.iter().filter(|line| line.trim_start().starts_with(what)).count()
}

/// The text of every entry except those of `print` and the functions they call. Formatting and possible panics need
/// local memory there; no other entry calls a function.
fn entries_that_do_not_print(ptx: &str) -> String {
    let (mut text, mut names, mut inside) = (String::new(), 0, false);
    for line in ptx.lines().filter(|line| !line.trim_start().starts_with(".loc")) {
        if let Some((_, name)) = line.split_once(".entry ") {
            inside = !name.starts_with("print_");
            names += u32::from(inside);
        }
        if inside {
            assert!(
                !line.trim_start().starts_with("call"),
                "a function was not inlined, or a panic was not optimised away: {line}"
            );
            text.push_str(line);
            text.push('\n');
        }
        inside &= line != "}";
    }
    assert!(names >= 240, "{names} entries");
    text
}

#[test]
fn the_ptx_has_as_many_barriers_as_the_source() {
    let ptx = text();
    // One barrier after the load, and one in the loop, which must not be duplicated into the arms of its `if`.
    for rung in ["interleaved", "interleaved_strided", "sequential", "first_add", "grid_stride"] {
        assert_eq!(count(&entry(&ptx, &format!("reduce_{rung}_sum_f32")), "bar.sync"), 2, "{rung}");
    }
    assert_eq!(count(&entry(&ptx, "reduce_warp_shuffle_sum_f32"), "bar.sync"), 1);
    // 512 threads: one barrier after the load, then one for each of the steps 256, 128 and 64.
    assert_eq!(count(&entry(&ptx, "reduce_unrolled_sum_f32_512"), "bar.sync"), 4);
    // One barrier after the load, and one per step: two buffers make a second one per step unnecessary.
    assert_eq!(count(&entry(&ptx, "scan_kogge_stone_sum_f32"), "bar.sync"), 2);
    // One barrier in each sweep, and one at the end.
    assert_eq!(count(&entry(&ptx, "scan_blelloch_sum_f32"), "bar.sync"), 3);
    // One barrier each for the ticket, the totals of the warps, and the prefix of the tile.
    assert_eq!(count(&entry(&ptx, "scan_best_sum_f32_8"), "bar.sync"), 3);
}

#[test]
fn shared_memory_is_accessed_as_shared_memory() {
    let ptx = text();
    for line in entries_that_do_not_print(&ptx).lines().map(str::trim_start) {
        let generic = ["ld.b", "st.b", "ld.v", "st.v", "ld.u", "st.u", "atom.add", "atom.max", "atom.min", "atom.inc"];
        assert!(!generic.iter().any(|access| line.starts_with(access)), "a generic access: {line}");
    }
    assert!(count(&entry(&ptx, "reduce_sequential_sum_f32"), "ld.shared") >= 2);
    assert!(count(&entry(&ptx, "reduce_sequential_sum_f32"), "st.shared") >= 2);
}

#[test]
fn no_local_memory_and_no_panics_in_the_kernels() {
    let ptx = entries_that_do_not_print(&text());
    assert!(!ptx.contains(".local"), "an array or a spill went to local memory");
    assert!(!ptx.contains("trap;"), "a bounds check or a check for division by zero was not optimised away");
}

/// The instruction suffix for a vector of 16 bytes of elements of this type.
fn vector(dtype: &str) -> &'static str {
    if dtype.ends_with("64") { "v2.b64" } else { "v4.b32" }
}

/// Number of instructions that move several elements at once, but less than 16 bytes.
fn halves(lines: &[&str]) -> usize {
    let narrow = |line: &&&str| {
        let line = line.trim_start();
        (line.starts_with("ld.global") || line.starts_with("st.global") || line.starts_with("ld.shared.v2.b32"))
            && [".v2.b32", ".v2.b16", ".v4.b8"].iter().any(|width| line.contains(width))
    };
    lines.iter().filter(narrow).count()
}

#[test]
fn best_loads_sixteen_bytes_at_a_time() {
    use kernels_gpu::{dot, histogram, reduce, scan, transpose, vecadd};
    let ptx = text();
    for dtype in ["f32", "f16", "bf16"] {
        let loads = count(&entry(&ptx, &format!("reduce_best_sum_{dtype}")), "ld.global.v4.b32");
        assert!(loads >= 2 * reduce::best::UNROLL, "{dtype}: {loads}");
    }
    assert!(count(&entry(&ptx, "reduce_best_sum_f64"), "ld.global.v2.b64") >= 2 * reduce::best::UNROLL);
    // Loads go through the read-only cache, and there are as many loads and stores as the source has vectors.
    let moved = |name: String, dtype: &str, loads: usize, stores: usize| {
        let (lines, width) = (entry(&ptx, &name), vector(dtype));
        let counts = |what: &str| count(&lines, &format!("{what}.{width}"));
        assert_eq!((counts("ld.global.nc"), counts("st.global")), (loads, stores), "{name}");
        assert_eq!(halves(&lines), 0, "{name}");
    };
    for dtype in ["f32", "f64", "i32", "u64"] {
        moved(format!("transpose_vectorised_{dtype}"), dtype, 1, 1);
        moved(format!("vecadd_vectorised_{dtype}"), dtype, 2, 1);
        // A whole tile, and single vectors after the last one.
        moved(format!("vecadd_best_{dtype}"), dtype, 2 * (vecadd::best::EACH + 1), vecadd::best::EACH + 1);
        moved(format!("scan_best_sum_{dtype}_8"), dtype, scan::best::ROWS, scan::best::ROWS);
        // Keys of 4 bytes are loaded like values of 4 bytes.
        let rows = scan::best::blocked_rows(if dtype.ends_with("64") { 8 } else { 4 });
        let by_key = format!("scan_by_key_best_sum_{dtype}_u32_4");
        let lines = entry(&ptx, &by_key);
        let loads = count(&lines, &format!("ld.global.nc.{}", vector(dtype)));
        assert_eq!(loads, if dtype.ends_with("64") { rows } else { 2 * rows }, "{by_key}");
        // Results come from shared memory, 16 bytes each.
        let global: Vec<_> = lines.iter().copied().filter(|line| line.contains(".global")).collect();
        assert_eq!((count(&lines, "st.global.v4.b32"), halves(&global)), (rows, 0), "{by_key}");
        // The first tile, and the next one.
        moved(format!("segreduce_best_sum_{dtype}"), dtype, 2 * 4, 0);
    }
    for (dtype, bytes) in [("u32", 4), ("u64", 8)] {
        let each = transpose::best::side(bytes).pow(2) as usize * bytes / 16 / transpose::BLOCK as usize;
        // Stores of tiles whose rows start on sectors, and of others.
        moved(format!("transpose_best_{dtype}"), dtype, each, 2 * each);
    }
    for dtype in ["f32", "f64"] {
        moved(format!("access_structures_vector_{dtype}"), dtype, 1, 1);
        // Whole rounds and the last round, of two vectors each.
        moved(format!("dot_best_{dtype}"), dtype, 2 * 2 * dot::best::UNROLL, 0);
        for channels in [1, 2] {
            // A vector of results, from one before it to one after it; of two channels from the second one.
            let window = 2 * channels + 1;
            moved(format!("conv1d_best_short_{dtype}_{channels}"), dtype, window, 1);
            // Tiles: copies of four vectors per thread and of the halo, two groups of elements, four vectors of
            // results. Of a vector of taps only some may be used.
            let tiles = format!("conv1d_best_{dtype}_{channels}");
            let (lines, width) = (entry(&ptx, &tiles), vector(dtype));
            let copies = lines.iter().filter(|line| line.contains("cp.async.cg.shared.global")).count();
            let of_tile = ["ld", "st"].map(|what| count(&lines, &format!("{what}.shared.{width}")));
            assert!(copies >= 5 && of_tile[0] >= 2 * 4 && of_tile[1] >= 4, "{tiles}: {copies} copies, {of_tile:?}");
            assert_eq!(count(&lines, &format!("st.global.{width}")), 4, "{tiles}");
            let global: Vec<_> = lines.iter().copied().filter(|line| line.contains(".global")).collect();
            assert_eq!(halves(&global), 0, "{tiles}");
        }
    }
    moved("picture_best_scale".to_owned(), "u8", 1, 1);
    // Three vectors of colours, or one of grey.
    moved("picture_best_grey".to_owned(), "u8", 3 + 1, 1 + 1);
    for dtype in ["u8", "letter", "u32", "f32", "f64"] {
        for (kernel, unroll) in
            [("lanes", histogram::best::lanes::UNROLL), ("windows", histogram::best::windows::UNROLL)]
        {
            let lines = entry(&ptx, &format!("histogram_best_{kernel}_{dtype}"));
            assert!(count(&lines, &format!("ld.global.nc.{}", vector(dtype))) > unroll, "{kernel} {dtype}");
        }
    }
    for pixel in ["pair", "rgb", "rgba", "rgbx"] {
        let lines = entry(&ptx, &format!("histogram_best_channels_{pixel}_32"));
        assert_eq!(count(&lines, "ld.global.nc.v4.b32"), histogram::best::channels::UNROLL + 1, "{pixel}");
    }
    for dtype in ["f32", "f64", "i32", "u64"] {
        let lines = entry(&ptx, &format!("reduce_arg_max_{dtype}"));
        assert!(count(&lines, &format!("ld.global.nc.{}", vector(dtype))) >= reduce::best::UNROLL, "{dtype}");
    }
}

/// Rows that are stored whole use vector stores; windows that masks cover to the last element use vector loads.
#[test]
fn conv2d_best_moves_sixteen_bytes_at_a_time() {
    let ptx = text();
    for size in kernels_gpu::conv2d::best::SIZES {
        for (dtype, width) in [("f32", 4), ("f64", 2)] {
            let lines = entry(&ptx, &format!("conv2d_best_{dtype}_{size}"));
            let whole = count(&lines, &format!("st.global.{}", vector(dtype)));
            let single = count(&lines, if width == 4 { "st.global.b32" } else { "st.global.b64" });
            assert!(whole > 0 && single == width * whole, "{size} {dtype}: {whole} stores, {single} of elements");
            assert_eq!(count(&lines, "st.global.v2.b32"), 0, "{size} {dtype}");
            if (size as usize / 2).is_multiple_of(width) {
                let loads = count(&lines, &format!("ld.global.nc.{}", vector(dtype)));
                let window = (size as usize - 1) / width + 1;
                assert!(
                    loads > 0 && loads.is_multiple_of(window) && halves(&lines) == 0,
                    "{size} {dtype}: {loads} loads"
                );
            }
        }
    }
}

/// A tap is an immediate operand: the only loads are those of the signal or picture, and of the output of an earlier
/// launch.
#[test]
fn constant_masks_are_not_loaded() {
    let ptx = text();
    for dtype in ["f32", "f64"] {
        for family in ["conv1d", "conv2d"] {
            let lines = entry(&ptx, &format!("{family}_constant_any_{dtype}"));
            let loads = (count(&lines, "ld.global.nc"), count(&lines, "ld.global.b"));
            assert_eq!(loads, (kernels_gpu::filter::TAPS, 1), "{family} {dtype}");
        }
    }
}

/// The loops over the mask are unrolled, and every element goes directly from device memory to registers.
#[test]
fn conv2d_best_is_multiply_adds_on_registers() {
    let ptx = text();
    for size in kernels_gpu::conv2d::best::SIZES {
        for (dtype, width) in [("f32", 4), ("f64", 2)] {
            let lines = entry(&ptx, &format!("conv2d_best_{dtype}_{size}"));
            let row = size as usize * size as usize * width;
            let adds = count(&lines, &format!("fma.rn.{dtype}"));
            assert!(adds > 0 && adds.is_multiple_of(row), "{size} {dtype}: {adds} multiply-adds, {row} for a row");
            assert_eq!((count(&lines, "bar.sync"), count(&lines, "ld.shared")), (0, 0), "{size} {dtype}");
        }
    }
}

/// The rows of a strip are unrolled: no more is computed than its outputs need, and each of their rows is stored once,
/// in vectors. The border adds what single elements take, with some rows in flight.
#[test]
fn unrolled_strips_compute_nothing_twice() {
    use kernels_gpu::{conv2d, separable};
    let ptx = text();
    let border = [(3, 4, 4), (5, 4, 2), (7, 2, 2), (9, 2, 1), (13, 1, 1), (17, 1, 1)];
    assert_eq!(border.map(|(size, ..)| size), conv2d::best::SIZES);
    for (size, rows, rows_of_outer) in border {
        for (dtype, width) in [("f32", 4), ("f64", 2)] {
            let strip = conv2d::best::unrolled_rows(size, 1, 16 / width).expect("a kernel") as usize;
            let (lines, size) = (entry(&ptx, &format!("conv2d_best_strips_{dtype}_{size}")), size as usize);
            let adds = count(&lines, &format!("fma.rn.{dtype}"));
            assert_eq!(adds, (strip * width + rows) * size * size, "{size} {dtype}");
            assert_eq!(count(&lines, &format!("st.global.{}", vector(dtype))), strip, "{size} {dtype}");
        }
        let strip = separable::best::unrolled_rows(size, 1, 4).expect("a kernel") as usize;
        let (lines, size) = (entry(&ptx, &format!("separable_best_strips_f32_{size}")), size as usize);
        let adds = count(&lines, "fma.rn.f32");
        assert_eq!(adds, (2 * strip + size - 1) * size * 4 + rows_of_outer * 2 * size, "{size} separable");
    }
}

#[test]
fn textures_are_fetched_once_per_sample_and_before_the_first_wait() {
    let ptx = text();
    let unit = entry(&ptx, "texture_unit_plane_float");
    assert_eq!((count(&unit, "tex."), count(&unit, "tex.2d.v4.f32.f32")), (1, 1));
    // One fetch for the nearest texel, and four for the interpolation.
    assert_eq!(count(&entry(&ptx, "texture_texels_plane_byte"), "tex.2d.v4.u32.s32"), 1 + 4);
    let best = entry(&ptx, "texture_best_space_fraction");
    let at = |what: &'static str| best.iter().enumerate().filter(move |(_, line)| line.trim_start().starts_with(what));
    assert_eq!(at("tex.3d.v4.f32.f32").count(), kernels_gpu::texture::best::EACH as usize);
    let (last, store) = (at("tex.").next_back().expect("a fetch"), at("st.global").next().expect("a store"));
    assert!(last.0 < store.0, "a result is stored before the last fetch has started");
    assert_eq!(count(&entry(&ptx, "texture_best_plane_float"), "st.global.v4.b32"), 4);
}

#[test]
fn rust_lines_survive() {
    let ptx = text();
    assert!(ptx.lines().any(|line| line.trim_start().starts_with(".file") && line.contains("reduce/sequential.rs")));
    assert!(ptx.lines().any(|line| line.contains(".loc") && line.contains("inlined_at")));
    assert!(
        !ptx.lines().any(|line| line.starts_with(".target") && line.contains("debug")),
        "PTX with `debug` in its target is not optimised"
    );
}

/// Bytes of local memory that PTX for sm_90 may take on sm_120, where a thread needs some more registers than the
/// limits that were measured on an H200 leave.
fn spilled_on_sm_120(entry: &str) -> u32 {
    // Products have none of it in their main loops, as their machine code shows.
    let known = [("matmul_best_small_f32", 64)];
    known.iter().find(|(name, _)| entry.starts_with(name)).map_or(0, |(_, bytes)| *bytes)
}

/// The portable PTX assembles for every architecture that the project supports, and PTX for one architecture for that
/// one, and for later ones, which load it if they can.
#[test]
fn ptx_assembles_for_every_architecture_without_spills() {
    use cuda_builder::{Arch, Cache, check::usages, cuda_tools};
    use rayon::prelude::*;

    let cache = Cache::default();
    let ptxas = cuda_tools::require("ptxas", &cache, "the PTX tests").expect("ptxas: `cargo xtask setup` fetches it");
    let built = |arch| rustwarp::ptx::find_families("kernels-gpu", None, Some(arch)).expect("the kernels' PTX");
    let (base, own) = (built("sm_75"), built("sm_90"));
    let everywhere = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];
    let mut jobs: Vec<_> =
        everywhere.iter().flat_map(|&arch| base.iter().map(move |image| (arch, "", image))).collect();
    jobs.extend(own.iter().map(|image| ("sm_90", " of its own", image)));
    let only_sm_90 = |ptx: &[u8]| String::from_utf8_lossy(ptx).lines().any(|line| line.starts_with(".target sm_90a"));
    let newer = own.iter().filter(|image| !only_sm_90(&image.bytes));
    jobs.extend(newer.flat_map(|image| ["sm_100", "sm_120"].map(|arch| (arch, " of sm_90", image))));
    // The longest first, so that no core waits for one at the end.
    jobs.sort_by_key(|(_, _, image)| std::cmp::Reverse(image.bytes.len()));
    let assembled: Vec<_> = jobs
        .into_iter()
        .par_bridge()
        .flat_map_iter(|(arch, which, image)| {
            let target: Arch = arch.parse().expect("an architecture");
            let entries = usages(&ptxas, &image.path, target).expect("PTX that ptxas takes");
            entries.into_iter().map(move |usage| (format!("{arch}{which}"), usage))
        })
        .collect();
    let of_sm_90 = ["sm_90 of its own", "sm_100 of sm_90", "sm_120 of sm_90"];
    for which in everywhere.into_iter().chain(of_sm_90) {
        let entries: Vec<_> = assembled.iter().filter(|(name, _)| name == which).map(|(_, usage)| usage).collect();
        assert!(entries.len() >= 240, "{which}: {} entries", entries.len());
        for usage in entries.iter().filter(|usage| !usage.entry.starts_with("print_")) {
            let most = if which == "sm_120 of sm_90" { spilled_on_sm_120(&usage.entry) } else { 0 };
            let local = [usage.spill_stores, usage.spill_loads, usage.stack];
            assert!(local.iter().all(|bytes| *bytes <= most), "{which}: {usage:?}");
        }
    }
}

/// The test kernels, which print floats and panic with messages, assemble too.
#[test]
fn the_test_kernels_assemble() {
    use cuda_builder::{Arch, Cache, check::usages, cuda_tools};

    let cache = Cache::default();
    let ptxas = cuda_tools::require("ptxas", &cache, "the PTX tests").expect("ptxas: `cargo xtask setup` fetches it");
    let base = rustwarp::ptx::find("test-kernels", None, Some("sm_75")).expect("the portable PTX").path;
    let entries = usages(&ptxas, &base, Arch::Compute75).expect("PTX that ptxas takes");
    assert!(entries.len() > 100);
}
