//! Tests with the programs of `tests/pass` and `tests/fail`: ways to run them that must not change what is reported.

#[path = "../../../tests/corpus/program.rs"]
mod program;

use super::fast_paths::ONLY_SLOW_PATH;
use crate::program::independence::blocks_are_independent;
use crate::program::{Program, entry};
use program::{Ran, Test, programs};
use std::sync::atomic::Ordering::Relaxed;

/// Returns everything that a program's run reports, and the bytes of its buffers.
fn outcome(ran: Result<Ran, String>) -> (Vec<String>, Vec<Vec<u8>>) {
    let (machine, buffers, result) = ran.expect("runs");
    let bytes = buffers.iter().map(|&(address, len)| {
        let mut bytes = vec![0; 4 * len];
        if address != 0 {
            machine.read(address, &mut bytes).expect("in bounds");
        }
        bytes
    });
    let reports = match result {
        Ok(report) => report.findings.iter().map(ToString::to_string).collect(),
        Err(stop) => stop.findings().iter().map(ToString::to_string).chain([stop.to_string()]).collect(),
    };
    (reports, bytes.collect())
}

#[test]
fn fast_and_slow_paths_agree() {
    let mut findings = 0;
    for folder in ["pass", "fail"] {
        for path in programs(folder) {
            let test = Test::read(&path);
            let (fast, _) = outcome(test.run());
            ONLY_SLOW_PATH.store(true, Relaxed);
            let (slow, _) = outcome(test.run());
            ONLY_SLOW_PATH.store(false, Relaxed);
            assert_eq!(fast, slow, "{}", path.display());
            findings += fast.len();
        }
    }
    assert!(findings >= 100, "{findings} findings");
}

/// What a launch reports and leaves in memory is the same with several workers; a launch that finds something has been
/// taken back.
#[test]
fn workers_agree() {
    let (mut divided, mut found) = (0, 0);
    for folder in ["pass", "fail"] {
        for path in programs(folder) {
            let test = Test::read(&path);
            let with =
                |workers| outcome(test.run_with(|config| (config.workers, config.checks.race) = (workers, true)));
            let one = with(1);
            assert_eq!(one, with(3), "{}", path.display());
            let text = Program::parse(&test.text).expect("PTX");
            let launch = test.directive("launch").expect("a launch");
            let name = launch.split_whitespace().next().expect("an entry");
            let several = launch.contains("grid=") && !launch.contains("grid=1 ") && !launch.contains("cluster=");
            if several && blocks_are_independent(&text, entry::entry(&text, name).expect("an entry")) {
                divided += 1;
                found += usize::from(!one.0.is_empty());
            }
        }
    }
    assert!(divided >= 15 && found >= 8, "{divided} launches on several workers, {found} of them with findings");
}
