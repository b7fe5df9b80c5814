//! Kernels without `unsafe` compile to no more instructions than their twins of pointers, and to none in local memory;
//! limits of launches reach the PTX, and a launch beyond them fails.

use cuda_builder::check::{Function, PtxReport, lint};
use test_kernels::all::cases;
use tests::cases::{program, simulate};

/// Kernels `view_NAME` and `pointer_NAME` of `tests/kernels/src/view.rs`.
const TWINS: [&str; 7] = ["once", "strided_f32", "strided_f64", "two_outputs", "product", "matrix", "reverse"];

/// Rungs of the ladders with views: family, entry, twin in `tests/kernels/src/rung.rs`, and the number of instructions
/// that test the lengths before the first loop. The pointers' contracts replaced these tests.
const RUNGS: [(&str, &str, &str, u32); 6] = [
    ("scan", "scan_naive_sum_f32", "rung_scan_naive", 2),
    ("reduce", "reduce_pairwise_sum_f32", "rung_reduce_pairwise", 1),
    ("reduce", "reduce_find_u64", "rung_reduce_find", 9),
    ("histogram", "histogram_contiguous_u8", "rung_histogram_contiguous", 6),
    ("histogram", "histogram_interleaved_u8", "rung_histogram_interleaved", 4),
    ("conv1d", "conv1d_basic_f32", "rung_conv1d_basic", 9),
];

/// The PTX of a crate's family for an architecture.
fn ptx(package: &str, family: Option<&str>, arch: &str) -> String {
    let image = match family {
        Some(family) => rustwarp::ptx::find_family(package, family, None, Some(arch)),
        None => rustwarp::ptx::find(package, None, Some(arch)),
    };
    let image = image.expect("the PTX");
    String::from_utf8(image.bytes).expect("PTX is text")
}

#[test]
fn a_rung_with_views_has_the_loops_of_its_pointers() {
    for arch in ["sm_75", "sm_90"] {
        let twins = ptx("test-kernels", None, arch);
        let pointers = PtxReport::of(&twins);
        for (family, rung, twin, tests) in RUNGS {
            let rungs = ptx("kernels-gpu", Some(family), arch);
            let views = PtxReport::of(&rungs);
            let (view, pointer) = (views.entry(rung).expect("an entry"), pointers.entry(twin).expect("an entry"));
            assert_eq!(view.total("call"), 0, "{arch}, {rung}: a test of an index can panic");
            let (found, most) = (instructions(view), instructions(pointer) + tests);
            assert!(found <= most, "{arch}, {rung}: {found} instructions, and the pointers need {most} with tests");
            let (found, most) = (in_loops(&rungs, rung), in_loops(&twins, twin));
            assert!(found <= most, "{arch}, {rung}: {found} instructions in loops, and the pointers need {most}");
        }
    }
}

/// The number of instructions between a label and a branch back to it.
fn in_loops(ptx: &str, entry: &str) -> usize {
    let start = ptx.find(&format!(".entry {entry}(")).expect("an entry of this name");
    let body = ptx[start..].split_once("\n{\n").expect("its body").1.split_once("\n}").expect("its end").0;
    let code: Vec<&str> = body.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect();
    let mut inside = vec![false; code.len()];
    for (at, line) in code.iter().enumerate() {
        let Some(target) = line.strip_suffix(';').filter(|_| line.contains("bra")).and_then(|l| l.rsplit('\t').next())
        else {
            continue;
        };
        if let Some(label) = code[..at].iter().position(|line| line.strip_suffix(':') == Some(target)) {
            inside[label..=at].fill(true);
        }
    }
    let counts = |(at, line): &(usize, &&str)| inside[*at] && line.ends_with(';') && !line.starts_with('.');
    code.iter().enumerate().filter(counts).count()
}

/// The index and the sizes of three dimensions are structs that are passed in memory, unless they are taken apart.
#[test]
fn an_index_that_panics_outside_needs_no_local_memory() {
    let warnings = lint(&ptx("test-kernels", None, "sm_90"), &[], &|_, _| false);
    let about_views: Vec<_> = warnings.iter().map(ToString::to_string).filter(|text| text.contains("`view_")).collect();
    assert!(about_views.is_empty(), "{about_views:#?}");
    assert!(!warnings.is_empty(), "other test kernels do access local memory");
}

#[test]
fn a_view_costs_no_instruction_more_than_a_pointer() {
    for arch in ["sm_75", "sm_90"] {
        let report = PtxReport::of(&ptx("test-kernels", None, arch));
        let count = |kernel: String| instructions(report.entry(&kernel).expect("an entry"));
        let longer: Vec<_> = TWINS
            .iter()
            .map(|name| (name, count(format!("view_{name}")), count(format!("pointer_{name}"))))
            .filter(|(_, view, pointer)| view > pointer)
            .collect();
        assert!(longer.is_empty(), "{arch}: kernels with more instructions than their twins: {longer:?}");
        for name in TWINS {
            let entry = report.entry(&format!("view_{name}")).expect("an entry").clone();
            assert_eq!(entry.total("call"), 0, "{arch}, view_{name}: a test of an index can panic");
        }
    }
}

#[test]
fn limits_of_launches_are_directives_that_a_launch_respects() {
    let image = rustwarp::ptx::find("test-kernels", None, None).expect("the test kernels' PTX");
    let text = String::from_utf8(image.bytes).expect("PTX is text");
    let directives = |name: &str| {
        let start = text.find(&format!(".entry {name}(")).expect("an entry of this name");
        let head = text[start..].split_once(')').expect("its parameters").1.split_once('{').expect("its body").0;
        let code = head.lines().map(|line| line.split("//").next().unwrap_or_default());
        code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(directives("thread_launch_bounds_64"), ".maxntid 64 .minnctapersm 2 .maxnreg 32");
    assert_eq!(directives("thread_launch_bounds_128"), ".maxntid 128 .minnctapersm 2 .maxnreg 32");
    assert_eq!(directives("thread_required_block"), ".reqntid 16, 4");

    let program = program();
    let refused = |case: &str, block: [u32; 3]| {
        let mut case = cases().into_iter().find(|c| c.name == case).expect("a case");
        case.block = block;
        simulate(&program, &case).result.err().map(|stop| stop.to_string())
    };
    assert_eq!(refused("thread_launch_bounds of 64", [64, 1, 1]), None);
    for (case, block) in [("thread_launch_bounds of 64", [65, 1, 1]), ("thread_required_block", [8, 8, 1])] {
        let why = refused(case, block).expect("a launch beyond the limit");
        assert!(why.contains("thread"), "{case}: {why}");
    }
}

/// The number of instructions of a function.
fn instructions(function: &Function) -> u32 {
    function.opcodes.values().sum()
}
