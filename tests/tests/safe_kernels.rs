//! Kernels without `unsafe` compile to no more instructions than their twins of pointers; limits of launches reach the
//! PTX, and a launch beyond them fails.

use cuda_builder::check::{Function, PtxReport};
use test_kernels::all::cases;
use tests::cases::{program, simulate};

/// Kernels `view_NAME` and `pointer_NAME` of `tests/kernels/src/view.rs`.
const TWINS: [&str; 7] = ["once", "strided_f32", "strided_f64", "two_outputs", "product", "matrix", "reverse"];

#[test]
fn a_view_costs_no_instruction_more_than_a_pointer() {
    for arch in ["sm_75", "sm_90"] {
        let image = rustwarp::ptx::find("test-kernels", None, Some(arch)).expect("the test kernels' PTX");
        let report = PtxReport::of(&String::from_utf8(image.bytes).expect("PTX is text"));
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
