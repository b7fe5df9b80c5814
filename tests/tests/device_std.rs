//! Every public item of `cuda_std`, in a small kernel of its own, on the simulator.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use tests::cases::{program, simulate, sorted_lines};

#[test]
fn every_case_writes_and_prints_what_it_must_without_a_finding() {
    let program = program();
    let mut wrong = Vec::new();
    let cases = test_kernels::case::all();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    for case in &cases {
        let run = simulate(&program, case);
        let report = match run.result {
            Ok(report) => report,
            Err(stop) => {
                wrong.push(format!("{}: {stop}", case.name));
                continue;
            }
        };
        for finding in &report.findings {
            wrong.push(format!("{}: {finding}", case.name));
        }
        let mut expected: Vec<_> = case.printed.iter().map(String::as_str).collect();
        expected.sort_unstable();
        if sorted_lines(&report.printed) != expected {
            wrong.push(format!("{} printed\n{}\ninstead of\n{}", case.name, report.printed, case.printed.join("\n")));
        }
        for (number, (buffer, found)) in case.buffers.iter().zip(&run.buffers).enumerate() {
            if let Err(why) = buffer.check(found) {
                wrong.push(format!("{}, buffer {number}: {why}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases failed:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_entry_is_launched_by_a_case() {
    let program = program();
    let entries = program.functions.iter().filter(|f| f.kind == ptx_sim::program::Kind::Entry);
    let built: BTreeSet<&str> = entries.map(|entry| entry.name.as_str()).collect();
    let planted = test_kernels::planted::all().into_iter().map(|planted| planted.case);
    let cases: Vec<_> = test_kernels::case::all().into_iter().chain(planted).collect();
    let launched: BTreeSet<String> =
        cases.iter().map(|case| (case.call)(&vec![0; case.buffers.len()]).entry.into_owned()).collect();
    let forgotten: Vec<_> = built.iter().filter(|entry| !launched.contains(**entry)).collect();
    assert!(forgotten.is_empty(), "no case launches {forgotten:?}");
}
