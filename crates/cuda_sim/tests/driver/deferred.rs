//! Work that runs later than the call that enqueues it: its errors reach the program.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

const NOT_READY: u32 = 600;

/// A callback is given the error of a fault before it; a function of the host and a kernel do not run.
#[test]
fn callbacks_run_after_a_fault() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    static DONE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    static STATUS: AtomicU32 = AtomicU32::new(0);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn count(_: usize) {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
    extern "C" fn called(_: usize, status: u32, _: usize) {
        STATUS.store(status, Ordering::SeqCst);
        DONE.open();
    }
    start();
    let (stream, module, data) = (stream(), module(), words([0; 32]));
    let (before, after, mut milliseconds) = (event(), event(), 0.0);
    ok(unsafe { cuEventRecord(before, stream) });
    GATE.close(stream);
    ok(launch(function(module, "wild"), stream, &[data]));
    ok(unsafe { cuLaunchHostFunc(stream, count as *const () as usize, 0) });
    ok(unsafe { cuEventRecord(after, stream) });
    ok(unsafe { cuStreamAddCallback(stream, called as *const () as usize, 0, 0) });
    GATE.open();
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, 700);
    DONE.wait();
    assert_eq!((STATUS.load(Ordering::SeqCst), CALLS.load(Ordering::SeqCst)), (700, 0));
    assert_eq!(unsafe { cuEventElapsedTime(&mut milliseconds, before, after) }, 700);
}

/// A copy that has waited for a kernel's fault returns it.
#[test]
fn a_blocking_copy_returns_the_fault_that_it_waited_for() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    let context = start();
    let (mut blocking, data, mut host) = (0, words([0; 32]), [0_u32; 32]);
    let wild = function(module(), "wild");
    ok(unsafe { cuStreamCreate(&mut blocking, 0) });
    GATE.close(blocking);
    ok(launch(wild, blocking, &[data]));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ok(unsafe { cuCtxSetCurrent(context) });
            // Until the copy waits in the default stream.
            while unsafe { cuStreamQuery(0) } != NOT_READY {
                std::thread::yield_now();
            }
            GATE.open();
        });
        assert_eq!(unsafe { cuMemcpyDtoH_v2(host.as_mut_ptr() as u64, data, 128) }, 700);
    });
}

/// What is refused when its turn comes is returned once, by the next call that waits; the context stays usable.
#[test]
fn a_deferred_refusal_is_returned_once() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (stream, add, data) = (stream(), function(module(), "add"), words([1; 32]));
    let value = [data, 1];
    let (pointers, null) = (value.each_ref().map(std::ptr::from_ref), std::ptr::null());
    let too_many = || unsafe { cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, stream, pointers.as_ptr().cast(), null) };
    assert_eq!(too_many(), 1);
    ok(unsafe { cuStreamSynchronize(stream) });
    GATE.close(stream);
    ok(too_many());
    ok(launch(add, stream, &[data, 1]));
    GATE.open();
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, 1);
    ok(unsafe { cuStreamSynchronize(stream) });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(read(data), [2; 32]);
}

/// A library's kernel runs on the device of its stream, whatever context is current, now and later.
#[test]
fn a_library_kernel_runs_on_the_device_of_its_stream() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (mut library, mut kernel, text) = (0, 0, CString::new(PTX).expect("text"));
    let (none, empty) = (std::ptr::null(), std::ptr::null());
    ok(unsafe { cuLibraryLoadData(&mut library, text.as_ptr().cast(), none, empty, 0, none, empty, 0) });
    ok(unsafe { cuLibraryGetKernel(&mut kernel, library, c"add".as_ptr()) });
    let (mut second, first) = (0, start());
    ok(unsafe { cuCtxCreate_v2(&mut second, 0, 1) });
    let (stream, data) = (stream(), words([0; 32]));
    ok(unsafe { cuCtxSetCurrent(first) });
    ok(launch(kernel, stream, &[data, 1]));
    GATE.close(stream);
    ok(launch(kernel, stream, &[data, 2]));
    GATE.open();
    ok(unsafe { cuStreamSynchronize(stream) });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(read(data), [3; 32]);
}

/// Calls that wait for a kernel return its fault: a free, and a fill of memory of the host.
#[test]
fn what_waits_for_a_fault_returns_it() {
    static GATES: [Gate; 2] = [const { Gate(Mutex::new(false), std::sync::Condvar::new()) }; 2];
    for (gate, frees) in GATES.iter().zip([true, false]) {
        let context = start();
        let (mut blocking, mut pinned, data) = (0, 0, words([0; 32]));
        let wild = function(module(), "wild");
        ok(unsafe { cuStreamCreate(&mut blocking, 0) });
        ok(unsafe { cuMemHostAlloc(&mut pinned, 128, 0) });
        gate.close(blocking);
        ok(launch(wild, blocking, &[data]));
        // The call waits until the gate is open, as the kernel does.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ok(unsafe { cuCtxSetCurrent(context) });
                gate.open();
            });
            let code = if frees { unsafe { cuMemFree_v2(data) } } else { unsafe { cuMemsetD32_v2(pinned, 1, 32) } };
            assert_eq!(code, 700, "frees: {frees}");
        });
    }
}

/// A large copy from memory that is not page-locked reads it when its turn comes, and the call waits for that.
#[test]
fn a_large_copy_is_not_set_aside() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (stream, mut data, mut back) = (stream(), 0, vec![0_u32; 1 << 18]);
    let host: Vec<std::sync::atomic::AtomicU32> = (0..1 << 18).map(std::sync::atomic::AtomicU32::new).collect();
    let begun = std::sync::Barrier::new(2);
    ok(unsafe { cuMemAlloc_v2(&mut data, 1 << 20) });
    GATE.close(stream);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            // Time for a call that does not wait to return.
            for _ in 0..1000 {
                assert_eq!(unsafe { cuStreamQuery(stream) }, NOT_READY);
            }
            host[0].store(99, Ordering::SeqCst);
            GATE.open();
        });
        begun.wait();
        ok(unsafe { cuMemcpyHtoDAsync_v2(data, host.as_ptr() as u64, 1 << 20, stream) });
        assert!(*GATE.lock(), "the call has waited");
    });
    ok(unsafe { cuMemcpyDtoH_v2(back.as_mut_ptr() as u64, data, 1 << 20) });
    assert_eq!((back[0], back[1], back[(1 << 18) - 1]), (99, 1, (1 << 18) - 1));
}

/// An event and a stream, and a kernel and a stream, belong to one context.
#[test]
fn streams_of_another_context() {
    start();
    let (add, event, data) = (function(module(), "add"), event(), words([0; 32]));
    start();
    let stream = stream();
    assert_eq!(launch(add, stream, &[data, 1]), 400);
    assert_eq!(unsafe { cuEventRecord(event, stream) }, 400);
}
