//! Bugs planted into the kernels for products of f16, in their PTX: each is found, and the kernels without them are
//! clean.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use half::f16;
use rustwarp::Diagnostic;
use rustwarp::backend::{Buffer, Checkers, Checks, Choice, open};
use rustwarp::matmul::{Batch, Sizes};
use rustwarp::mixed_matmul::{Forced, Plan};
use tests::planted::{self, WAIT, changed, descriptor, no_wait, with_descriptor, without};

/// A kernel that the simulator launches for [`SIZES`].
struct Kernel {
    family: &'static str,
    entry: &'static str,
    /// The number of the part of the product that a block of single warps computes.
    tile: Option<usize>,
}

/// By warpgroups.
const TENSOR: Kernel = Kernel { family: "tensor", entry: ".entry tensor_half_64_f16_false_true(", tile: None };

/// By single warps.
const MMA: Kernel = Kernel { family: "mma", entry: ".entry mma_best_small_f16_false_true(", tile: Some(2) };

/// By single warps, each with a slice of the depth.
const BRIEF: Kernel = Kernel { family: "mma", entry: ".entry mma_best_brief_f16_false_true(", tile: Some(1) };

/// More stages than the ring has.
const SIZES: Sizes = Sizes { m: 128, n: 64, k: 64 * 19, transposed: [false; 2], leading_dimensions: [0; 3] };

/// The codes of the findings of one run, and whether the product is right.
fn run(kernel: &Kernel, change: impl Fn(&str) -> String) -> (Vec<String>, bool) {
    let (codes, right, _) = explained(kernel, change);
    (codes, right)
}

/// The codes of the findings of one run, whether the product is right, and the findings.
fn explained(kernel: &Kernel, change: impl Fn(&str) -> String) -> (Vec<String>, bool, Vec<Diagnostic>) {
    let text = planted::ptx(kernel.family, kernel.entry, change);
    let (device, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    let device = &*device;
    let module = device.load(text.as_bytes(), "planted").expect("PTX");
    let Sizes { m, n, k, .. } = SIZES;
    // Sums of small integers are exact.
    let numbers =
        |len: usize, step| -> Vec<f16> { (0..len).map(|i| f16::from_f32((i * step % 3) as f32 - 1.0)).collect() };
    let (a, b) = (numbers(m * k, 5), numbers(k * n, 7));
    let (on_a, on_b) =
        (Buffer::from_slice(device, &a, "a").expect("memory"), Buffer::from_slice(device, &b, "b").expect("memory"));
    let c = Buffer::<f16>::zeros(device, m * n, "c").expect("memory");
    let way = Forced { warps: Some(kernel.tile.is_some()), tile: kernel.tile, part: Some(0) };
    let plan = Plan::<f16, f16, _>::forced(&device, SIZES, Batch::SINGLE, way).expect("a plan");
    let launches = plan.prepare([&on_a, &on_b], &c).expect("launches");
    // SAFETY: the parameters are those of the plan; the simulator refuses what a changed kernel must not do.
    let ran = launches.iter().try_for_each(|launch| unsafe { launch.run(device, module) });
    let codes = planted::codes(device, &ran);
    let term = |i: usize, l: usize| f32::from(a[i / n * k + l]) * f32::from(b[l * n + i % n]);
    let product = |i: usize| -> f32 { (0..k).map(|l| term(i, l)).sum() };
    let elements = c.read(m * n).expect("elements");
    let right = ran.is_ok() && elements.iter().enumerate().all(|(i, c)| f32::from(*c) == product(i));
    (codes, right, planted::findings(device))
}

/// Waits for the other parity.
fn other_parity(line: &str) -> String {
    let (head, parity) = line.split_once("], ").expect("operands");
    let (parity, rest) = parity.split_once(';').expect("the end");
    format!(".reg .b32 other; xor.b32 other, {parity}, 1; {head}], other;{rest}")
}

/// The entry with `by` instead of `what`.
fn replaced(entry: &str, what: &str, by: &str) -> String {
    assert!(entry.contains(what), "{what}");
    entry.replace(what, by)
}

#[test]
fn the_kernels_themselves_are_clean() {
    assert_eq!(run(&TENSOR, str::to_owned), (Vec::new(), true));
    assert_eq!(run(&MMA, str::to_owned), (Vec::new(), true));
    assert_eq!(run(&BRIEF, str::to_owned), (Vec::new(), true));
}

/// Bugs of stages that a warp fills for itself, and of sums that warps pass to each other.
#[test]
fn every_bug_in_slices_of_single_warps_is_found() {
    // The barriers of a warp: before and after a stage is read, and those of the store.
    let barrier = |entry: &str, number| without(entry, entry.match_indices("bar.warp.sync").nth(number));
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let bugs: [(&str, Change<'_>, &[&str], bool); 5] = [
        (
            "a stage is read before its copies",
            &|e| replaced(e, "wait_group 1;", "wait_group 2;"),
            &["race-war", "async-not-waited"],
            false,
        ),
        (
            "copies in no group",
            &|e| replaced(e, "cp.async.commit_group;", ""),
            &["race-war", "async-not-waited"],
            false,
        ),
        ("a stage is read before other lanes' copies", &|e| barrier(e, 0), &["race-warp-raw"], true),
        ("a stage is filled while it is read", &|e| barrier(e, 1), &["race-warp-war"], true),
        (
            "sums are added up before they are there",
            &|e| replaced(e, "bar.sync", "// bar.sync"),
            &["race-raw", "race-war", "uninit-store"],
            false,
        ),
    ];
    for (name, change, codes, right) in bugs {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        assert_eq!(run(&BRIEF, change), (codes, right), "{name}");
    }
}

/// Bugs of stages that are filled by asynchronous copies of all threads.
#[test]
fn every_bug_in_stages_of_single_warps_is_found() {
    // The barriers: before the loop, in it, and before the sums are stored.
    let in_loop = |entry: &str| without(entry, entry.match_indices("bar.sync").nth(1));
    let last = |entry: &str| without(entry, entry.match_indices("bar.sync").last());
    let (early, late) = (["race-raw", "race-war", "async-not-waited"], ["race-waw", "race-war", "async-not-waited"]);
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let bugs: [(&str, Change<'_>, [&str; 3], bool); 5] = [
        ("a stage is read before its copies", &|e| replaced(e, "wait_group 2;", "wait_group 3;"), early, false),
        ("sums are stored over copies", &|e| replaced(e, "cp.async.wait_group 0;", ""), late, true),
        ("copies in no group", &|e| replaced(e, "cp.async.commit_group;", ""), late, false),
        ("a stage is filled while it is read", &in_loop, early, false),
        ("sums are stored over a stage that is read", &last, late, true),
    ];
    for (name, change, codes, right) in bugs {
        assert_eq!(run(&MMA, change), (codes.map(str::to_owned).to_vec(), right), "{name}");
    }
}

#[test]
fn every_planted_bug_is_found() {
    /// Where the kernel fills a stage, and where it multiplies one.
    const FILL: &str = "mbarrier.arrive.expect_tx";
    const MULTIPLY: &str = "wgmma.fence";
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let bugs: [(&str, Change<'_>, &[&str], bool); 7] = [
        (
            "no proxy fence before a store",
            &|e| replaced(e, "fence.proxy.async.shared::cta;", "// "),
            &["async-proxy"],
            true,
        ),
        ("a stage is filled while it is read", &|e| changed(e, FILL, WAIT, no_wait), &["mbarrier-overflow"], false),
        ("a stage is read before it is full", &|e| changed(e, MULTIPLY, WAIT, no_wait), &["mbarrier-overflow"], false),
        ("the wrong parity for a free stage", &|e| changed(e, FILL, WAIT, other_parity), &["deadlock"], false),
        (
            "the wrong parity for a full stage",
            &|e| changed(e, MULTIPLY, WAIT, other_parity),
            &["mbarrier-overflow"],
            false,
        ),
        (
            "a stage is released too early",
            &|e| replaced(e, "wgmma.wait_group.sync.aligned 1;", "// "),
            &["async-source-overwritten"],
            false,
        ),
        (
            "shared memory ends before a store",
            &|e| replaced(e, "cp.async.bulk.wait_group.read", "// "),
            &["async-not-waited"],
            true,
        ),
    ];
    for (name, change, codes, right) in bugs {
        assert_eq!(run(&TENSOR, change), (codes.iter().map(ToString::to_string).collect(), right), "{name}");
    }
}

/// Eight rows of A follow the eight rows before after 1024 bytes, with a swizzle of 128.
#[test]
fn every_wrong_descriptor_is_found_and_explained() {
    const RIGHT: u64 = descriptor(16, 1024, 1);
    /// Where the kernel starts a product of A along the depth and B across it.
    const PRODUCT: &str = "(false, true) => sums.$add(along_a, across_b, true)";
    let source = include_str!("../../kernels-gpu/src/tensor/mixed/precision.rs");
    let line = source.lines().position(|line| line.contains(PRODUCT)).expect(PRODUCT) as u32 + 1;
    let bugs = [
        (
            descriptor(16, 512, 1),
            "wgmma-overlap",
            "row 8 of `a` consists of the same bytes as row 4: the stride dimension byte offset of its descriptor is \
             512",
            "set bits 32 to 45 of the descriptor, in units of 16 bytes, to 1024 bytes or more",
        ),
        (
            descriptor(16, 2048, 1),
            "wgmma-skipped",
            "the stride dimension byte offset of `a`, 2048, leads past rows 8 to 15 of a box that was copied, and \
             nothing reads them",
            "set bits 32 to 45 of the descriptor, in units of 16 bytes, to 1024 bytes, where these rows are",
        ),
        (
            descriptor(16, 512, 2),
            "wgmma-swizzle",
            "the descriptor of `a` has a swizzle of 64 bytes, but its bytes were copied with a swizzle of 128 bytes",
            "set bits 62 and 63 of the descriptor to 1, with offsets for rows of 128 bytes",
        ),
        (
            descriptor(16, 1024, 0),
            "wgmma-swizzle",
            "the descriptor of `a` has no swizzle, but its bytes were copied with a swizzle of 128 bytes",
            "or make the tensor map with no swizzle",
        ),
    ];
    for (wrong, code, title, help) in bugs {
        let (codes, right, findings) = explained(&TENSOR, |entry| with_descriptor(entry, RIGHT, wrong));
        assert_eq!((codes, right), (vec![code.to_owned()], false), "{wrong:#x}");
        for found in findings {
            assert_eq!(found.title, title);
            assert!(found.help.as_ref().is_some_and(|text| text.contains(help)), "{found:?}");
            let file = found.file.as_deref().unwrap_or_default();
            assert!(file.ends_with("tensor/mixed/precision.rs") && found.line == Some(line), "{line}: {found:?}");
        }
    }
}
