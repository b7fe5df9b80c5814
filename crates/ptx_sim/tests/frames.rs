//! Arrays in one frame: nvcc's debug information says where they lie, so that an index past one is not in another.

use ptx_sim::{Checks, Config, Launch, Machine, Program, Report, Stop};
use std::path::Path;

/// The first two are made by one version of LLVM, the third by another.
const ARCHITECTURES: [&str; 3] = ["sm_75", "sm_90", "sm_100"];

fn text(arch: &str) -> String {
    let path = format!("tests/programs/nvcc/frames.{arch}.ptx");
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the PTX is in the repository")
}

/// Runs a kernel whose first parameter is `out`, and returns its first element.
fn run(text: &str, entry: &str, values: &[Vec<u8>]) -> Result<(i32, Report), Box<Stop>> {
    let program = Program::parse(text).expect("PTX");
    let mut machine = Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() });
    let out = machine.alloc(4, "out").expect("room");
    let mut params = vec![out.to_le_bytes().to_vec()];
    params.extend_from_slice(values);
    let launch = Launch { entry, grid: [1; 3], block: [1; 3], params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch).map_err(Box::new)?;
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    let mut bytes = [0; 4];
    machine.read(out, &mut bytes).expect("read");
    Ok((i32::from_le_bytes(bytes), report))
}

fn numbers(values: &[i32]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_le_bytes().to_vec()).collect()
}

/// Checks that a run stops at an access that is described in these words, in all versions of the program, and that the
/// frame that the access misses is that of `frame`.
fn fails(entry: &str, values: &[i32], words: &str, frame: &str) {
    for arch in ARCHITECTURES {
        let stop = run(&text(arch), entry, &numbers(values)).expect_err(words);
        let diagnostic = stop.diagnostic();
        assert_eq!(stop.code(), "out-of-bounds", "{arch}: {stop}");
        assert!(diagnostic.title.ends_with(&format!("is out of bounds: {words}")), "{arch}: {stop}");
        assert_eq!(diagnostic.notes, [format!("the address is in the frame of `{frame}`")], "{arch}");
        assert!(diagnostic.user_source().is_some_and(|source| source.file.ends_with("frames.cu")), "{arch}: {stop}");
    }
}

fn passes(entry: &str, values: &[i32], expected: i32) {
    for arch in ARCHITECTURES {
        let (out, _) = run(&text(arch), entry, &numbers(values)).unwrap_or_else(|stop| panic!("{arch}: {stop}"));
        assert_eq!(out, expected, "{arch}");
    }
}

#[test]
fn an_index_past_an_array_is_in_no_other() {
    passes("two_arrays", &[3, 0], 363);
    fails("two_arrays", &[4, 0], "right after the end of `first` (16 bytes)", "two_arrays");
    fails("two_arrays", &[5, 0], "4 bytes past the end of `first` (16 bytes)", "two_arrays");
    fails("two_arrays", &[-1, 0], "4 bytes before `first` (16 bytes)", "two_arrays");
    fails("two_arrays", &[0, -1], "4 bytes before `second` (16 bytes)", "two_arrays");
    fails("two_arrays", &[0, 4], "right after the end of `second` (16 bytes)", "two_arrays");
}

/// The store has no effect, and the run goes on.
#[test]
fn an_access_between_arrays_may_be_a_finding() {
    let program = Program::parse(&text("sm_90")).expect("PTX");
    let mut machine = Machine::new(Config { keep_going: true, ..Config::default() });
    let out = machine.alloc(4, "out").expect("room");
    let params = [&[out.to_le_bytes().to_vec()][..], &numbers(&[4, 0])].concat();
    let launch = Launch { entry: "two_arrays", grid: [1; 3], block: [1; 3], params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch).expect("it goes on");
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].diagnostic.code, "out-of-bounds");
    let mut bytes = [0; 4];
    machine.read(out, &mut bytes).expect("read");
    assert_eq!(i32::from_le_bytes(bytes), 266);
}

#[test]
fn functions_have_frames_of_their_own() {
    passes("calls", &[2], 5);
    fails("calls", &[3], "right after the end of `tmp` (12 bytes)", "own_frame");
}

#[test]
fn the_caller_of_a_function_has_the_array() {
    passes("passes_pointers", &[5], 69);
    fails("passes_pointers", &[6], "right after the end of `small` (20 bytes)", "passes_pointers");
}

/// The frames with their gaps would exceed the stack.
#[test]
fn gaps_do_not_count_as_stack() {
    let sum = |n: i32| 1 + (1..=n).map(|n| n + n % 2).sum::<i32>();
    passes("recursive", &[3900], sum(3900));
}

/// The results are those of g++ for the same code.
#[test]
fn a_correct_program_has_no_findings() {
    let given: Vec<u8> = numbers(&[7, 8, 9, 10]).concat();
    for (n, expected, printed) in [
        (1_i32, 187, "43 1.000000 less\n"),
        (2, 204, "49 2.000000 less\n"),
        (5, 241, "59 5.000000 more\n"),
        (9, 279, "75 9.000000 more\n"),
    ] {
        for arch in ARCHITECTURES {
            let values = [n.to_le_bytes().to_vec(), given.clone()];
            let (out, report) = run(&text(arch), "everything", &values).unwrap_or_else(|stop| panic!("{arch}: {stop}"));
            assert_eq!((out, report.printed.as_str()), (expected, printed), "{arch}");
        }
    }
    // Its variables do lie apart.
    for arch in ARCHITECTURES {
        let stop = run(&text(arch), "everything", &[numbers(&[-1]).concat(), given.clone()]).expect_err("name[-1]");
        assert!(stop.diagnostic().title.ends_with("1 bytes before `name` (10 bytes)"), "{arch}: {stop}");
    }
}

/// What `two_arrays` computes where `first[4]` is `second[0]`.
const AS_PLACED: i32 = 6 + 60 + 100 + 200 - 10;

/// Changes the text of `two_arrays`.
fn changed(arch: &str, change: impl Fn(&str) -> String) -> String {
    let text = text(arch);
    let (before, rest) = text.split_once(".entry two_arrays(").expect("the kernel");
    let (kernel, after) = rest.split_once("\n}").expect("its end");
    let changed = change(kernel);
    assert_ne!(changed, kernel);
    format!("{before}.entry two_arrays({changed}\n}}{after}")
}

#[test]
fn other_uses_of_the_frame_keep_it_as_it_is() {
    for arch in ARCHITECTURES {
        let register = |kernel: &str| {
            let at = kernel.find(", %SP, 16;").expect("an addition");
            kernel[..at].rsplit_once('\t').expect("its register").1.to_owned()
        };
        // An offset in a register, as a compiler may put it there.
        let computed = changed(arch, |kernel| {
            let register = register(kernel);
            let add = format!("add.u64 \t{register}, %SP, 16;");
            kernel.replacen(&add, &format!("mov.u64 {register}, 16;\nadd.u64 {register}, %SP, {register};"), 1)
        });
        // An address that is in a variable, but not its start.
        let inside = changed(arch, |kernel| {
            let register = register(kernel);
            let add = format!("add.u64 \t{register}, %SP, 16;");
            kernel.replacen(&add, &format!("add.u64 {register}, %SP, 12;\nadd.s64 {register}, {register}, 4;"), 1)
        });
        // A constant that is in no variable, in code that does not run.
        let outside = changed(arch, |kernel| kernel.replacen("ret;", "ret;\nst.u32 [%SP+32], 1;\nret;", 1));
        // The address itself as a value, in code that does not run.
        let stored = changed(arch, |kernel| kernel.replacen("ret;", "ret;\nst.u64 [%SP+8], %SP;\nret;", 1));
        // Another value of the register.
        let replaced = changed(arch, |kernel| kernel.replacen("ret;", "ret;\nmov.u64 %SP, 0;\nret;", 1));
        for (what, text) in [
            ("computed", computed),
            ("inside", inside),
            ("outside", outside),
            ("stored", stored),
            ("replaced", replaced),
        ] {
            let found = run(&text, "two_arrays", &numbers(&[4, 1])).map(|(out, _)| out);
            assert_eq!(found.unwrap_or_else(|stop| panic!("{arch}, {what}: {stop}")), AS_PLACED, "{arch}, {what}");
        }
    }
}

#[test]
fn odd_debug_information_keeps_frames_as_they_are() {
    let text = text("sm_90");
    let (code, sections) = text.split_at(text.find(".section\t.debug_loc").expect("sections"));
    let is_as_placed = |sections: &str, what: &str| {
        let out = run(&format!("{code}{sections}"), "two_arrays", &numbers(&[4, 1])).map(|(out, _)| out);
        assert_eq!(out.unwrap_or_else(|stop| panic!("{what}: {stop}")), AS_PLACED, "{what}");
    };
    is_as_placed("", "no sections");
    is_as_placed(&format!("{sections}\n{sections}"), "two modules in one text");
    is_as_placed(
        &sections.replace(".b8 108,103,101,110,102,101,58", ".b8 99,108,97,110,103,46,46"),
        "another compiler",
    );
    is_as_placed(&sections.replace(".b8 35", ".b8 34"), "another operation");
    is_as_placed(&sections.replace(".b64 __local_depot", ".b64 1-__local_depot"), "an expression");
    let lines: Vec<&str> = sections.lines().collect();
    let start = lines.iter().position(|line| line.contains(".debug_info")).expect("a section");
    let end = lines.iter().rposition(|line| line.contains('}')).expect("its end");
    // Without some of its lines, or with a number that is wrong.
    for at in (start + 3..end).step_by(97) {
        let parsed = |lines: &[&str]| Program::parse(&format!("{code}{}", lines.join("\n"))).map(|_| ());
        parsed(&[&lines[..at], &lines[end..]].concat()).expect("PTX");
        parsed(&[&lines[..at], &lines[at + 1..]].concat()).expect("PTX");
        parsed(&[&lines[..at], &[".b8 255"], &lines[at + 1..]].concat()).expect("PTX");
    }
}
