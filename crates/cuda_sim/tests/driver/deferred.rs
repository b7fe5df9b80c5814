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
