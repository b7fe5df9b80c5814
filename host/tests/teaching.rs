//! Commands for learners: kernels that print, and kernels that fail. On the simulator.

use ladders::input::generate::generate;
use serde_json::Value;
use std::process::Command;

/// Runs the program, and returns exit code, standard output and standard error.
fn host(args: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_host")).args(args).env("RUSTWARP_LIBCUDA", "no-such-libcuda.so").output();
    let output = output.expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

fn json(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The launch of the dot-product slides (`docs/sources.md`): two blocks of three threads.
const SLIDES: [&str; 11] =
    ["print", "--device", "sim", "--n", "6", "--block", "3", "--seed", "5", "--variant", "println,printf"];

/// Every line of a launch in which the threads `threads` print.
fn lines(threads: std::ops::Range<usize>) -> Vec<String> {
    let values: Vec<i32> = generate(6, 5);
    threads.map(|i| format!("block {} thread {}: value is {}", i / 3, i % 3, values[i])).collect()
}

/// The lines of the output that a kernel printed.
fn printed(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().filter(|line| line.starts_with("block ")).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn chosen_threads_print() {
    let twice = |lines: Vec<String>| lines.into_iter().flat_map(|line| [line.clone(), line]).collect::<Vec<_>>();
    let (code, out, _) = host(&SLIDES);
    assert_eq!((code, printed(&out)), (0, twice(lines(0..6))));
    let (code, out, _) = host(&[&SLIDES[..], &["--first", "2", "--count", "2"]].concat());
    assert_eq!((code, printed(&out)), (0, twice(lines(2..4))));
    let (code, out, _) = host(&[&SLIDES[..], &["--count", "0"]].concat());
    assert_eq!((code, printed(&out)), (0, vec![]));

    let values: Vec<i32> = generate(100, 42);
    let sum =
        |warp: usize| values[32 * warp..100.min(32 * warp + 32)].iter().fold(0_i32, |sum, x| sum.wrapping_add(*x));
    let expected: Vec<_> = [1, 2, 3].map(|warp| format!("block 0 warp {warp}: sum is {}", sum(warp))).into();
    let warps =
        ["print", "--device", "sim", "--n", "100", "--variant", "one_per_warp", "--first", "1", "--count", "99"];
    assert_eq!(printed(&host(&warps).1), expected);
}

/// Text that kernels print goes to standard error if standard output is for programs.
#[test]
fn printing_leaves_json_alone() {
    let (code, out, err) = host(&[&SLIDES[..], &["--json"]].concat());
    let rows = json(&out);
    assert_eq!((code, rows.len(), printed(&err).len()), (0, 2, 12));
    assert!(rows.iter().all(|row| row["verified"] == true));
}

#[test]
fn failing_examples_are_listed_and_diagnosed() {
    let (code, out, _) = host(&["list", "--failing", "--json"]);
    let examples = json(&out);
    assert_eq!(code, 0);
    assert!(examples.len() >= 15);
    assert!(!host(&["list"]).1.contains("failing"), "kept out of the normal rows");

    // The exit code is 1 for a finding and for a fault.
    for (name, finding) in [
        ("missing_barrier", "race-war"),
        ("no_bounds_test", "out-of-bounds"),
        ("barrier_in_if", "barrier-divergence"),
        ("lock_step", "race-warp-raw"),
    ] {
        let (code, out, err) = host(&["check", "failing", "--variant", name]);
        let source = format!("failing/{name}.rs:");
        assert!(code == 1 && err.contains(finding) && err.contains(&source), "{name}: {code}\n{out}{err}");
        assert!(!err.contains("clean"), "{err}");
    }
    // A checker that is off finds nothing, and no result is judged: neither verified nor clean.
    let off = ["check", "failing", "--variant", "missing_barrier", "--checks", "overflow"];
    let (code, out, err) = host(&off);
    assert!(code == 1 && err.contains("NOT JUDGED") && !err.contains("clean"), "{code}\n{out}{err}");
    let (code, out, _) = host(&[&off[..], &["--json"]].concat());
    assert_eq!((code, &json(&out)[0]["verified"]), (1, &serde_json::Value::Null), "{out}");
    let (code, _, err) = host(&["check", "failing", "--variant", "no_such_example"]);
    assert!(code == 2 && err.contains("missing_barrier"), "{err}");
    for command in [vec!["failing"], vec!["explain", "failing"], vec!["bench", "failing", "--device", "sim"]] {
        assert_ne!(host(&command).0, 0, "{command:?}: examples are only checked");
    }
}
