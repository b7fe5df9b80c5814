//! The rungs of the family `wgmma`: bugs planted into their PTX are found, the kernels without them are clean, have the
//! same bits in every run, and treat infinities and NaN as IEEE 754 says.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use half::f16;
use kernels_gpu::wgmma::{F16, LINES, ROWS, copied, persistent, producer, tma};
use rustwarp::backend::{Backend, Buffer, Checkers, Checks, Choice, Shape, open};
use rustwarp::mixed_matmul;
use std::sync::LazyLock;
use tests::planted::{self, WAIT, changed, descriptor, no_wait, with_descriptor};

/// More stages than a ring has, the last in part, and two tiles for each block of a cluster.
const M: usize = 256;
const N: usize = 512;
const K: usize = 64 * 11 - 8;

/// Small integers, whose sums are exact. Their period divides no number of stages, so that a stage of another round has
/// other elements.
static FACTORS: LazyLock<[Vec<f16>; 2]> = LazyLock::new(|| {
    let numbers = |len: usize, step| (0..len).map(|i| f16::from_f32((i * step % 5) as f32 - 2.0)).collect();
    [numbers(M * K, 7), numbers(K * N, 3)]
});

/// Their product.
static PRODUCT: LazyLock<Vec<f32>> = LazyLock::new(|| product(&FACTORS));

/// The product of two factors.
fn product(factors: &[Vec<f16>; 2]) -> Vec<f32> {
    let [a, b] = factors.each_ref().map(|factor| factor.iter().map(|x| x.to_f32()).collect::<Vec<_>>());
    (0..M * N).map(|i| (0..K).map(|l| a[i / N * K + l] * b[l * N + i % N]).sum()).collect()
}

type ReadsLauncher = for<'a> fn(Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32) -> Call<'a>;
type Map = TensorMap<F16>;
type MapsLauncher = for<'a> fn(Map, Map, Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32, u32) -> Call<'a>;

/// What launches a rung: the maps of both factors, or the factors.
enum Launcher {
    Reads(ReadsLauncher),
    Maps(MapsLauncher),
}

/// A rung for f16, neither factor stored transposed.
struct Rung {
    entry: &'static str,
    launcher: Launcher,
    columns: u32,
    /// Blocks, if they stay.
    blocks: Option<u32>,
    threads: u32,
    shared: u32,
}

const COPIED: Rung = Rung {
    entry: ".entry wgmma_copied_f16_false_true(",
    launcher: Launcher::Reads(copied::wgmma_copied::<F16, false, true>),
    columns: copied::COLUMNS,
    blocks: None,
    threads: copied::BLOCK,
    shared: copied::SHARED,
};

const TMA: Rung = Rung {
    entry: ".entry wgmma_tma_f16_false_true(",
    launcher: Launcher::Maps(tma::wgmma_tma::<F16, false, true>),
    columns: tma::COLUMNS,
    blocks: None,
    threads: tma::BLOCK,
    shared: tma::SHARED,
};

const PRODUCER: Rung = Rung {
    entry: ".entry wgmma_producer_f16_false_true(",
    launcher: Launcher::Maps(producer::wgmma_producer::<F16, false, true>),
    columns: producer::COLUMNS,
    blocks: None,
    threads: producer::BLOCK,
    shared: producer::SHARED,
};

const PERSISTENT: Rung = Rung {
    entry: ".entry wgmma_persistent_f16_false_true(",
    launcher: Launcher::Maps(persistent::wgmma_persistent::<F16, false, true>),
    columns: persistent::COLUMNS,
    blocks: Some(persistent::CLUSTER),
    threads: persistent::BLOCK,
    shared: persistent::SHARED,
};

/// The map of a matrix of f16.
fn map(device: &dyn Backend, matrix: &Buffer<'_, f16>, rows: usize, columns: usize) -> Map {
    let sizes = [columns as u32, rows as u32, 1];
    mixed_matmul::map::<f16, _>(&device, matrix.address(), sizes, [columns as u64, 0], LINES).expect("a map")
}

/// The codes of the findings of one run, and the product, unless the launch failed.
fn run(rung: &Rung, factors: &[Vec<f16>; 2], change: impl Fn(&str) -> String) -> (Vec<String>, Option<Vec<f16>>) {
    let text = planted::ptx("wgmma", rung.entry, change);
    let (device, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    let device = &*device;
    let module = device.load(text.as_bytes(), "planted").expect("PTX");
    let [on_a, on_b] = factors.each_ref().map(|factor| Buffer::from_slice(device, factor, "a factor").expect("memory"));
    let c = Buffer::<f16>::zeros(device, M * N, "c").expect("memory");
    let [m, n, k] = [M, N, K].map(|size| size as u32);
    // SAFETY: the buffers live until the launch has ended.
    let (ptr_a, ptr_b, out) = unsafe { (Ptr::new(on_a.address()), Ptr::new(on_b.address()), PtrMut::new(c.address())) };
    let call = match rung.launcher {
        Launcher::Reads(launcher) => launcher(ptr_a, ptr_b, out, m, n, k),
        Launcher::Maps(launcher) => {
            launcher(map(device, &on_a, M, K), map(device, &on_b, K, N), ptr_a, ptr_b, out, m, n, k, 1)
        }
    };
    let blocks = rung.blocks.unwrap_or(m / ROWS * (n / rung.columns));
    let shape = Shape::linear(blocks, rung.threads).with_shared(rung.shared);
    // SAFETY: the parameters are the kernel's; the simulator refuses what a changed kernel must not do.
    let ran = unsafe { device.launch(module, &call, shape) };
    let mut codes = planted::codes(device, &ran);
    codes.sort();
    codes.dedup();
    let product = ran.is_ok().then(|| c.read(M * N).expect("elements"));
    (codes, product)
}

/// Whether a launch has computed the product of the factors.
fn is_right(product: Option<Vec<f16>>) -> bool {
    product.is_some_and(|product| product.iter().zip(&*PRODUCT).all(|(c, expected)| f32::from(*c) == *expected))
}

/// The entry with occurrence `number` of `what` replaced.
fn replaced(entry: &str, what: &str, number: usize, by: &str) -> String {
    let (at, _) = entry.match_indices(what).nth(number).expect(what);
    format!("{}{by}{}", &entry[..at], &entry[at + what.len()..])
}

/// The entry whose stages can be filled again after another number of arrivals.
fn arrivals(entry: &str, right: &str, wrong: &str) -> String {
    let start = entry.find("mbarrier.init").expect("barriers");
    let (before, after) = entry.split_at(start);
    let (line, rest) = after[after.find("mov.b32").expect("a number")..].split_once('\n').expect("lines");
    assert!(line.ends_with(right), "{line}");
    let between = &after[..after.len() - line.len() - 1 - rest.len()];
    format!("{before}{between}{}\n{rest}", line.replace(right, wrong))
}

/// The entry whose copies to both blocks of a cluster go to those of this mask.
fn with_mask(entry: &str, mask: u32) -> String {
    let masks: Vec<_> = entry.lines().filter(|line| line.trim_start().starts_with("mov.b16")).collect();
    let [all] = masks.as_slice() else { panic!("one mask: {masks:?}") };
    assert!(all.ends_with(", 3;"), "{all}");
    entry.replace(all, &all.replace(", 3;", &format!(", {mask};")))
}

const RUNGS: [&Rung; 4] = [&COPIED, &TMA, &PRODUCER, &PERSISTENT];

#[test]
fn the_kernels_are_clean_and_have_the_same_bits_in_every_run() {
    for rung in RUNGS {
        let (codes, product) = run(rung, &FACTORS, str::to_owned);
        assert!(codes.is_empty(), "{}: {codes:?}", rung.entry);
        assert_eq!(run(rung, &FACTORS, str::to_owned).1, product, "{}", rung.entry);
        assert!(is_right(product), "{}", rung.entry);
    }
}

#[test]
fn infinities_and_nan_as_ieee_754_says() {
    let mut factors = FACTORS.clone();
    let (first, last) = (f16::INFINITY, f16::NEG_INFINITY);
    // Infinities of both signs in the last and in the first stage, one that meets zeros, and NaN in each factor.
    (factors[0][3 * K + K - 1], factors[0][130 * K], factors[0][200 * K + 77]) = (first, last, f16::NAN);
    (factors[1][5 * N + 300], factors[1][(K - 1) * N + 40]) = (first, f16::NAN);
    let expected = product(&factors);
    assert!(expected.iter().any(|x| x.is_infinite()) && expected.iter().any(|x| x.is_nan()));
    for rung in RUNGS {
        let (codes, product) = run(rung, &factors, str::to_owned);
        assert!(codes.is_empty(), "{}: {codes:?}", rung.entry);
        for (i, (c, expected)) in product.expect("a product").iter().zip(&expected).enumerate() {
            let c = f32::from(*c);
            assert!(c == *expected || c.is_nan() && expected.is_nan(), "{} {i}: {c}, not {expected}", rung.entry);
        }
    }
}

#[test]
fn every_planted_bug_is_found() {
    const FENCE: &str = "fence.proxy.async.shared::cta;";
    const BARRIER: &str = "bar.sync";
    /// Where a stage is filled, where it is multiplied, and where its products have been waited for.
    const FILL: &str = "mbarrier.arrive.expect_tx";
    const MULTIPLY: &str = "wgmma.fence";
    const READ: &str = "wgmma.wait_group.sync.aligned 1;";
    const CLUSTER: &str = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";
    type Change<'a> = &'a dyn Fn(&str) -> String;
    /// What is wrong, where, the change, the findings' codes, and whether the product is right nevertheless.
    type Bug<'a> = (&'static str, &'static Rung, Change<'a>, &'static [&'static str], bool);
    // A lies along the depth, B across it, in boxes of 64 columns with 64 of the depth.
    let [of_a, of_b] = [descriptor(16, 1024, 1), descriptor(8192, 1024, 1)];
    let bugs: [Bug<'_>; 17] = [
        ("no proxy fence before products", &COPIED, &|e| replaced(e, FENCE, 0, ""), &["async-proxy"], true),
        (
            "products before others copied",
            &COPIED,
            &|e| replaced(e, BARRIER, 0, "//"),
            &["race-raw", "race-war"],
            false,
        ),
        ("copies over what is read", &COPIED, &|e| replaced(e, BARRIER, 1, "//"), &["race-raw", "race-war"], false),
        ("barriers that are not initialised", &TMA, &|e| replaced(e, BARRIER, 0, "//"), &["race-raw"], true),
        (
            "a stage is filled while the other warpgroup reads",
            &TMA,
            &|e| replaced(e, BARRIER, 1, "//"),
            &["async-source-overwritten", "race-war"],
            false,
        ),
        (
            "a stage is multiplied before it is full",
            &TMA,
            &|e| changed(e, MULTIPLY, WAIT, no_wait),
            &["mbarrier-overflow"],
            false,
        ),
        ("one warpgroup gives a stage back", &PRODUCER, &|e| arrivals(e, ", 2;", ", 1;"), &["deadlock"], false),
        (
            "a stage is filled before it is free",
            &PRODUCER,
            &|e| changed(e, FILL, WAIT, no_wait),
            &["mbarrier-overflow"],
            false,
        ),
        (
            "a stage is given back before it is read",
            &PRODUCER,
            &|e| replaced(e, READ, 0, ""),
            &["async-source-overwritten"],
            false,
        ),
        ("one block gives a stage back", &PERSISTENT, &|e| arrivals(e, ", 4;", ", 2;"), &["mbarrier-overflow"], false),
        (
            "barriers that the other block does not see",
            &PERSISTENT,
            &|e| replaced(e, CLUSTER, 0, ""),
            &["race-raw"],
            true,
        ),
        ("half of B is copied to one block", &PERSISTENT, &|e| with_mask(e, 1), &["deadlock"], false),
        (
            "a block ends before copies to it",
            &PERSISTENT,
            &|e| replaced(e, CLUSTER, 1, ""),
            &["async-not-waited", "block-ended"],
            false,
        ),
        (
            "rows of A overlap",
            &COPIED,
            &|e| with_descriptor(e, of_a, descriptor(16, 512, 1)),
            &["wgmma-overlap"],
            false,
        ),
        (
            "every other group of the depth of B",
            &TMA,
            &|e| with_descriptor(e, of_b, descriptor(8192, 2048, 1)),
            &["async-proxy", "async-source-overwritten", "race-raw", "race-war", "wgmma-skipped"],
            false,
        ),
        (
            "the second box of B in the first",
            &TMA,
            &|e| with_descriptor(e, of_b, descriptor(4096, 1024, 1)),
            &["wgmma-skipped"],
            false,
        ),
        (
            "another swizzle than that of the map of A",
            &PERSISTENT,
            &|e| with_descriptor(e, of_a, descriptor(16, 512, 2)),
            &["wgmma-swizzle"],
            false,
        ),
    ];
    for (name, rung, change, codes, right) in bugs {
        let (found, product) = run(rung, &FACTORS, change);
        let codes: Vec<_> = codes.iter().map(ToString::to_string).collect();
        assert_eq!((found, is_right(product)), (codes, right), "{name}");
    }
}
