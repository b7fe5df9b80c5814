//! Faults and findings.

use super::*;

/// A fault is the context's from then on; another context works.
#[test]
fn a_fault_stays_in_its_context() {
    let first = start();
    let wild = function(module(), "wild");
    let data = words([0; 32]);
    ok(launch(wild, 0, &[data]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700);
    assert_eq!(launch(wild, 0, &[data]), 700);
    let mut address = 0;
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, 4) }, 700);
    start();
    ok(unsafe { cuMemAlloc_v2(&mut address, 4) });
    ok(unsafe { cuCtxDestroy_v2(first) });
    assert_eq!(unsafe { cuCtxSetCurrent(first) }, 201);
    let entry = reported(|entry| entry["code"] == "out-of-bounds").expect("the fault is in the report");
    assert_eq!(entry["kind"], "fault");
    assert_eq!(entry["kernel"], "wild");
    assert!(entry["title"].as_str().is_some_and(|title| title.contains("cuMemAlloc")), "{entry}");
}

/// Findings of the checkers are in the report, and the launch succeeds.
#[test]
fn a_race_is_reported() {
    start();
    let (racy, data) = (function(module(), "racy"), words([0; 32]));
    let value = [data];
    let pointers = value.each_ref().map(std::ptr::from_ref);
    ok(unsafe { cuLaunchKernel(racy, 2, 1, 1, 32, 1, 1, 0, 0, pointers.as_ptr().cast(), std::ptr::null()) });
    let entry = reported(|entry| entry["code"] == "race-waw").expect("the race is in the report");
    assert_eq!((entry["kind"].as_str(), entry["kernel"].as_str()), (Some("finding"), Some("racy")));
}
