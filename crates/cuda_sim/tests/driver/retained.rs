//! What a program that runs for long makes the driver keep: nothing that has ended. Counted in a process of its own.

use super::process::is_alone;
use super::*;

/// The counts of what the driver keeps.
fn counts() -> Vec<(&'static str, usize)> {
    let counts = cuda_sim::retained();
    assert!(!counts.is_empty());
    counts
}

/// Runs a part of a program often, and compares the counts after the first half with those after the second: `most` of
/// each kind may be there that a search has not found yet.
fn repeat(times: usize, most: usize, mut part: impl FnMut()) {
    (0..times).for_each(|_| part());
    let early = counts();
    (0..times).for_each(|_| part());
    for ((name, before), (_, after)) in early.into_iter().zip(counts()) {
        assert!(after <= before.max(most), "{name}: {before}, then {after}");
    }
}

/// Streams, events, memory, modules and graphs of each request, joined with a stream that stays.
#[test]
fn requests_leave_nothing() {
    if !is_alone("retained::requests_leave_nothing") {
        return;
    }
    start();
    let (main, add, shared) = (stream(), function(module(), "add"), words([0; 32]));
    ok(unsafe { cuCtxSynchronize() });
    repeat(300, 150, || {
        let (stream, before, after, mut pinned) = (stream(), event(), event(), 0);
        let data = words([1; 32]);
        ok(unsafe { cuMemHostAlloc(&mut pinned, 128, 0) });
        ok(unsafe { cuEventRecord(before, main) });
        ok(unsafe { cuStreamWaitEvent(stream, before, 0) });
        ok(launch(add, stream, &[data, 1]));
        ok(launch(add, stream, &[shared, 1]));
        ok(unsafe { cuMemcpyDtoHAsync_v2(pinned, data, 128, stream) });
        ok(unsafe { cuEventRecord(after, stream) });
        ok(unsafe { cuStreamWaitEvent(main, after, 0) });
        ok(unsafe { cuStreamDestroy_v2(stream) });
        ok(unsafe { cuStreamSynchronize(main) });
        ok(unsafe { cuEventDestroy_v2(before) });
        ok(unsafe { cuEventDestroy_v2(after) });
        ok(unsafe { cuMemFree_v2(data) });
        ok(unsafe { cuMemFreeHost(pinned) });
        ok(unsafe { cuModuleUnload(module()) });
    });
    assert_eq!(read(shared), [600; 32]);
}

/// Captures that end without a graph: invalid ones, those of destroyed streams, and those of destroyed contexts.
#[test]
fn captures_that_fail_leave_nothing() {
    if !is_alone("retained::captures_that_fail_leave_nothing") {
        return;
    }
    let outer = start();
    repeat(100, 70, || {
        let inner = start();
        let (add, data, mut graph, mut memory) = (function(module(), "add"), words([1; 32]), 9, 0);
        for way in 0..4 {
            let (first, second, fork) = (stream(), stream(), event());
            ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
            ok(launch(add, first, &[data, 1]));
            ok(unsafe { cuMemAllocAsync(&mut memory, 128, first) });
            ok(unsafe { cuEventRecord(fork, first) });
            ok(unsafe { cuStreamWaitEvent(second, fork, 0) });
            ok(launch(add, second, &[data, 1]));
            match way {
                0 => assert_eq!(unsafe { cuStreamEndCapture(first, &mut graph) }, 904),
                1 => {
                    assert_eq!(unsafe { cuStreamSynchronize(first) }, 900);
                    assert_eq!(unsafe { cuStreamEndCapture(first, &mut graph) }, 901);
                }
                2 => ok(unsafe { cuStreamDestroy_v2(first) }),
                _ => {}
            }
        }
        ok(unsafe { cuCtxDestroy_v2(inner) });
        ok(unsafe { cuCtxSetCurrent(outer) });
    });
}

/// Threads that use a default stream of their own, and end.
#[test]
fn threads_leave_nothing() {
    if !is_alone("retained::threads_leave_nothing") {
        return;
    }
    let (context, data) = (start(), words([0; 32]));
    repeat(200, 150, || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ok(unsafe { cuCtxSetCurrent(context) });
                ok(unsafe { cuMemsetD32Async_ptsz(data, 7, 32, 0) });
                ok(unsafe { cuCtxSynchronize() });
            });
        });
    });
    assert_eq!(read(data), [7; 32]);
    assert!(counts().contains(&("contexts", 1)));
}

/// A call that cannot write its result makes nothing.
#[test]
fn a_null_result_makes_nothing() {
    if !is_alone("retained::a_null_result_makes_nothing") {
        return;
    }
    start();
    let (module, mut graph) = (CString::new(PTX).expect("text"), 0);
    let array = ArrayDescriptor { width: 4, height: 4, format: 3, channels: 1 };
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    let before = counts();
    let null = std::ptr::null_mut;
    let codes = unsafe {
        [
            cuMemAlloc_v2(std::ptr::null_mut(), 128),
            cuMemAllocPitch_v2(std::ptr::null_mut(), null(), 128, 2, 4),
            cuMemHostAlloc(std::ptr::null_mut(), 128, 0),
            cuMemAllocManaged(std::ptr::null_mut(), 128, 1),
            cuMemAllocAsync(std::ptr::null_mut(), 128, 0),
            cuArrayCreate_v2(null(), &array),
            cuStreamCreate(null(), 1),
            cuEventCreate(null(), 0),
            cuCtxCreate_v2(null(), 0, 0),
            cuModuleLoadData(null(), module.as_ptr().cast()),
            cuGraphCreate(null(), 0),
            cuGraphClone(null(), graph),
            cuGraphInstantiateWithFlags(null(), graph, 0),
        ]
    };
    assert_eq!(codes, [1; 13]);
    assert_eq!(counts(), before);
}
