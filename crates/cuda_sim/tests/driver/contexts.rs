//! Contexts: primary ones, destroyed ones, and what waits for their work.

use super::*;
use std::sync::Barrier;

const INVALID_CONTEXT: u32 = 201;
const DESTROYED: u32 = 709;

/// One after another, because a device has one primary context.
fn primary_contexts() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn retain() -> usize {
    let mut context = 0;
    ok(unsafe { cuDevicePrimaryCtxRetain(&mut context, 1) });
    context
}

#[test]
fn a_primary_context_keeps_its_handle() {
    start();
    let _one = primary_contexts();
    let (context, mut address) = (retain(), 0);
    assert_eq!(unsafe { cuCtxDestroy_v2(context) }, INVALID_CONTEXT);
    ok(unsafe { cuCtxSetCurrent(context) });
    ok(unsafe { cuMemAlloc_v2(&mut address, 4) });
    ok(unsafe { cuDevicePrimaryCtxReset_v2(1) });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(unsafe { cuMemFree_v2(address) }, 1, "the reset has freed it");
    ok(unsafe { cuDevicePrimaryCtxRelease_v2(1) });
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, 4) }, DESTROYED);
    assert_eq!(unsafe { cuDevicePrimaryCtxRelease_v2(1) }, INVALID_CONTEXT);
    assert_eq!(retain(), context);
    ok(unsafe { cuMemAlloc_v2(&mut address, 4) });
    ok(unsafe { cuDevicePrimaryCtxRelease_v2(1) });
}

/// A release waits for work; what retains the context meanwhile keeps it.
#[test]
fn a_context_is_retained_while_it_is_released() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let _one = primary_contexts();
    let context = retain();
    ok(unsafe { cuCtxSetCurrent(context) });
    let (stream, mut address) = (stream(), 0);
    GATE.close(stream);
    std::thread::scope(|scope| {
        scope.spawn(|| ok(unsafe { cuDevicePrimaryCtxRelease_v2(1) }));
        let (mut flags, mut active) = (0, 1);
        while active == 1 {
            ok(unsafe { cuDevicePrimaryCtxGetState(1, &mut flags, &mut active) });
        }
        assert_eq!(retain(), context);
        GATE.open();
    });
    ok(unsafe { cuMemAlloc_v2(&mut address, 4) });
    ok(unsafe { cuStreamSynchronize(stream) });
    ok(unsafe { cuDevicePrimaryCtxRelease_v2(1) });
}

/// A destroyed context stays current in other threads, whose calls say so.
#[test]
fn a_context_that_another_thread_destroys() {
    let context = start();
    let (ready, done) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut current, mut address) = (0, 0);
            assert_eq!(unsafe { cuMemAlloc_v2(&mut address, 4) }, INVALID_CONTEXT);
            ok(unsafe { cuCtxSetCurrent(context) });
            ready.wait();
            done.wait();
            assert_eq!(unsafe { cuMemAlloc_v2(&mut address, 4) }, DESTROYED);
            assert_eq!(unsafe { cuCtxSynchronize() }, DESTROYED);
            ok(unsafe { cuCtxGetCurrent(&mut current) });
            assert_eq!(current, context);
        });
        ready.wait();
        ok(unsafe { cuCtxDestroy_v2(context) });
        done.wait();
    });
}

/// A context's arrays and plain memory end with it; memory of pools belongs to no context.
#[test]
fn what_ends_with_a_context() {
    let outer = start();
    let context = start();
    let (mut array, mut pooled) = (0, 0);
    ok(unsafe { cuArrayCreate_v2(&mut array, &ArrayDescriptor { width: 5, height: 3, format: 3, channels: 1 }) });
    ok(unsafe { cuMemAllocAsync(&mut pooled, 128, 0) });
    let plain = words([1; 32]);
    ok(unsafe { cuCtxDestroy_v2(context) });
    ok(unsafe { cuCtxSetCurrent(outer) });
    assert_eq!(unsafe { cuArrayDestroy(array) }, 400);
    assert_eq!(unsafe { cuMemFree_v2(plain) }, 1);
    ok(unsafe { cuMemsetD32Async(pooled, 7, 32, 0) });
    assert_eq!(read(pooled), [7; 32]);
    ok(unsafe { cuMemFree_v2(pooled) });
}

/// Access to another device's memory ends with the context that asked for it.
#[test]
fn access_to_a_peer_ends_with_the_context() {
    let first = start();
    let (data, mut second, mut third) = (words([1; 32]), 0, 0);
    // No other test uses this device.
    ok(unsafe { cuCtxCreate_v2(&mut second, 0, 2) });
    ok(unsafe { cuCtxEnablePeerAccess(first, 0) });
    ok(unsafe { cuCtxDestroy_v2(second) });
    ok(unsafe { cuCtxCreate_v2(&mut third, 0, 2) });
    ok(launch(function(module(), "add"), 0, &[data, 1]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700);
}

/// What ends a module, memory or an array waits for the work of the context that it belongs to.
#[test]
fn an_end_waits_for_the_work_of_its_owner() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    let other = start();
    let owner = start();
    let (module, data) = (module(), words([1; 32]));
    let (stream, add) = (stream(), function(module, "add"));
    GATE.close(stream);
    ok(launch(add, stream, &[data, 1]));
    ok(unsafe { cuCtxSetCurrent(other) });
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            // Time for a call that does not wait to return.
            for _ in 0..1000 {
                assert_eq!(unsafe { cuStreamQuery(stream) }, 600);
            }
            GATE.open();
        });
        begun.wait();
        ok(unsafe { cuModuleUnload(module) });
    });
    ok(unsafe { cuMemFree_v2(data) });
    ok(unsafe { cuCtxSetCurrent(owner) });
    ok(unsafe { cuStreamSynchronize(stream) });
}

/// Objects of two devices have the same numbers.
#[test]
fn surfaces_of_two_devices() {
    let first = start();
    let surface = || {
        let (mut array, mut surface, mut resource) = (0, 0, [0; 18]);
        ok(unsafe { cuArrayCreate_v2(&mut array, &ArrayDescriptor { width: 4, height: 4, format: 3, channels: 1 }) });
        resource[1] = array as u64;
        ok(unsafe { cuSurfObjectCreate(&mut surface, &resource) });
        surface
    };
    let mut second = 0;
    let here: Vec<u64> = (0..3).map(|_| surface()).collect();
    ok(unsafe { cuCtxCreate_v2(&mut second, 0, 1) });
    let there: Vec<u64> = (0..3).map(|_| surface()).collect();
    assert!(here.iter().any(|surface| there.contains(surface)), "the numbers differ: nothing is tested");
    there.iter().for_each(|surface| ok(unsafe { cuSurfObjectDestroy(*surface) }));
    ok(unsafe { cuCtxSetCurrent(first) });
    here.iter().for_each(|surface| ok(unsafe { cuSurfObjectDestroy(*surface) }));
}
