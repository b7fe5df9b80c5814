//! Streams, events, and functions of the host.

use super::*;

const NOT_READY: u32 = 600;

/// What follows a function of the host waits for it, and other streams do not.
#[test]
fn work_waits_for_a_function_of_the_host() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (first, second, add) = (stream(), stream(), function(module(), "add"));
    let (data, other) = (words([1; 32]), words([1; 32]));
    GATE.close(first);
    ok(launch(add, first, &[data, 10]));
    let mut host = [100_u32; 32];
    ok(unsafe { cuMemcpyHtoDAsync_v2(other, host.as_ptr() as u64, 128, first) });
    // Memory that is not page-locked may be reused when the call has returned.
    host = [0; 32];
    let event = event();
    ok(unsafe { cuEventRecord(event, first) });
    ok(unsafe { cuStreamWaitEvent(second, event, 0) });
    ok(launch(add, second, &[other, 1]));
    assert_eq!(unsafe { cuStreamQuery(first) }, NOT_READY);
    assert_eq!(unsafe { cuStreamQuery(second) }, NOT_READY);
    assert_eq!(unsafe { cuEventQuery(event) }, NOT_READY);
    assert_eq!((read(data), read(other)), ([1; 32], [1; 32]));
    GATE.open();
    ok(unsafe { cuStreamSynchronize(second) });
    ok(unsafe { cuEventSynchronize(event) });
    assert_eq!((read(data), read(other)), ([11; 32], [101; 32]));
    assert_eq!(host, [0; 32]);
}

/// The default stream waits for streams that it is ordered with, and those for it.
#[test]
fn the_default_stream_is_ordered_with_others() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (mut blocking, add) = (0, function(module(), "add"));
    ok(unsafe { cuStreamCreate(&mut blocking, 0) });
    let data = words([0; 32]);
    GATE.close(blocking);
    ok(launch(add, blocking, &[data, 1]));
    ok(launch(add, 0, &[data, 10]));
    ok(launch(add, blocking, &[data, 100]));
    assert_eq!(unsafe { cuStreamQuery(0) }, NOT_READY);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut context = 0;
            ok(unsafe { cuCtxGetCurrent(&mut context) });
            assert_eq!(context, 0, "the current context belongs to a thread");
        });
        waits.join().expect("no context");
        GATE.open();
    });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(read(data), [111; 32]);
}

#[test]
fn times_between_events() {
    start();
    let (stream, from, to) = (stream(), event(), event());
    let mut milliseconds = -1.0;
    assert_eq!(unsafe { cuEventElapsedTime(&mut milliseconds, from, to) }, 400, "they were not recorded");
    ok(unsafe { cuEventRecord(from, stream) });
    ok(launch(function(module(), "add"), stream, &[words([0; 32]), 1]));
    ok(unsafe { cuEventRecord(to, stream) });
    ok(unsafe { cuEventElapsedTime(&mut milliseconds, from, to) });
    assert!(milliseconds > 0.0);
    let mut untimed = 0;
    ok(unsafe { cuEventCreate(&mut untimed, 2) });
    ok(unsafe { cuEventRecord(untimed, stream) });
    assert_eq!(unsafe { cuEventElapsedTime(&mut milliseconds, from, untimed) }, 400);
}
