//! Races between streams: what is reported, and what orders work.

use super::*;

/// The report of a race in which a stream takes part.
fn race(stream: usize) -> Option<serde_json::Value> {
    let name = format!("stream {stream:#x}");
    let is_it = |entry: &serde_json::Value| {
        entry["code"] == "race-streams" && entry["title"].as_str().is_some_and(|title| title.contains(&name))
    };
    reported(is_it)
}

fn title(race: &serde_json::Value) -> &str {
    race["title"].as_str().expect("a title")
}

#[test]
fn kernels_of_two_streams_race() {
    start();
    let (first, second, add) = (stream(), stream(), function(module(), "add"));
    let mut data = 0;
    ok(unsafe { cuMemAlloc_v2(&mut data, 256) });
    ok(launch(add, first, &[data, 1]));
    ok(launch(add, second, &[data + 64, 1]));
    let race = race(second).expect("a report");
    assert!(
        title(&race).starts_with(&format!("a write of `add` in stream {first:#x} and a write of `add` in")),
        "{race}"
    );
    assert!(title(&race).contains("access byte 64 of `cuMemAlloc"), "{race}");
    let places: Vec<_> = race["places"].as_array().expect("places").iter().map(|place| &place["label"]).collect();
    assert_eq!(places, ["`add` writes here", "`add` writes here"], "{race}");
    assert_eq!(race["notes"][0], "the calls: cuLaunchKernel, then cuLaunchKernel");
}

/// Each way in which a program can order two streams, and the same without it.
#[test]
fn what_orders_two_streams() {
    type Order = (&'static str, fn(usize, usize));
    let orders: [Order; 6] = [
        ("nothing", |_, _| {}),
        ("an event", |first, second| {
            let event = event();
            ok(unsafe { cuEventRecord(event, first) });
            ok(unsafe { cuStreamWaitEvent(second, event, 0) });
        }),
        ("the host waits for the stream", |first, _| ok(unsafe { cuStreamSynchronize(first) })),
        ("the host sees that the stream is ready", |first, _| ok(unsafe { cuStreamQuery(first) })),
        ("the host waits for an event", |first, _| {
            let event = event();
            ok(unsafe { cuEventRecord(event, first) });
            ok(unsafe { cuEventSynchronize(event) });
        }),
        ("the host waits for the context", |_, _| ok(unsafe { cuCtxSynchronize() })),
    ];
    start();
    let add = function(module(), "add");
    for (what, order) in orders {
        let (first, second, data) = (stream(), stream(), words([0; 32]));
        ok(launch(add, first, &[data, 1]));
        order(first, second);
        ok(launch(add, second, &[data, 1]));
        assert_eq!(race(second).is_some(), what == "nothing", "{what}");
    }
}

/// An event that is recorded before the work orders nothing; one that is passed on does.
#[test]
fn an_event_orders_what_comes_before_it() {
    start();
    let add = function(module(), "add");
    let (first, second, third, data) = (stream(), stream(), stream(), words([0; 32]));
    let (early, late, passed) = (event(), event(), event());
    ok(unsafe { cuEventRecord(early, first) });
    ok(launch(add, first, &[data, 1]));
    ok(unsafe { cuEventRecord(late, first) });
    ok(unsafe { cuStreamWaitEvent(second, late, 0) });
    ok(unsafe { cuEventRecord(passed, second) });
    ok(unsafe { cuStreamWaitEvent(third, passed, 0) });
    ok(launch(add, third, &[data, 1]));
    assert!(race(third).is_none());
    let fourth = stream();
    ok(unsafe { cuStreamWaitEvent(fourth, early, 0) });
    ok(launch(add, fourth, &[data, 1]));
    assert!(race(fourth).is_some());
}

/// The default stream waits for streams that block, and not for others.
#[test]
fn the_default_stream_orders_streams_that_block() {
    start();
    let (add, free) = (function(module(), "add"), stream());
    let (mut one, mut other) = (0, 0);
    ok(unsafe { cuStreamCreate(&mut one, 0) });
    ok(unsafe { cuStreamCreate(&mut other, 0) });
    let data = words([0; 32]);
    ok(launch(add, one, &[data, 1]));
    ok(launch(add, 0, &[data, 1]));
    ok(launch(add, other, &[data, 1]));
    assert!(race(one).is_none() && race(other).is_none());
    // A fill does not wait for the device, so that only the default stream orders it.
    ok(unsafe { cuMemsetD32_v2(data, 0, 32) });
    ok(launch(add, free, &[data, 1]));
    let race = race(free).expect("a report");
    assert!(title(&race).starts_with("a write of cuMemsetD32_v2 in the default stream and a write of `add`"), "{race}");
}

/// Copies race too, in device memory and in page-locked memory.
#[test]
fn copies_race() {
    start();
    let (add, mut pinned) = (function(module(), "add"), 0);
    ok(unsafe { cuMemHostAlloc(&mut pinned, 128, 0) });
    let (first, second, third) = (stream(), stream(), stream());
    let (data, other) = (words([0; 32]), words([0; 32]));
    ok(launch(add, first, &[data, 1]));
    ok(unsafe { cuMemcpyDtoHAsync_v2(pinned, data, 128, second) });
    assert!(title(&race(second).expect("device memory")).contains("a read of cuMemcpyDtoHAsync_v2"));
    ok(unsafe { cuMemcpyHtoDAsync_v2(other, pinned, 128, third) });
    let race = race(third).expect("memory of the host");
    assert!(title(&race).contains("`cuMemHostAlloc") && title(&race).contains("a read of cuMemcpyHtoDAsync_v2"));
}

/// A copy to memory that is not page-locked has ended when the call returns, also after a function of the host.
#[test]
fn a_copy_to_ordinary_memory_is_waited_for() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (first, second, add) = (stream(), stream(), function(module(), "add"));
    let (data, mut host) = (words([7; 32]), [0_u32; 32]);
    GATE.close(first);
    std::thread::scope(|scope| {
        scope.spawn(|| GATE.open());
        ok(unsafe { cuMemcpyDtoHAsync_v2(host.as_mut_ptr() as u64, data, 128, first) });
    });
    assert_eq!(host, [7; 32]);
    ok(launch(add, second, &[data, 1]));
    assert!(race(second).is_none());
}

/// Memory of a pool belongs to the streams that follow its allocation, until its free.
#[test]
fn memory_of_a_pool_has_an_order() {
    start();
    let (owner, user, last, add) = (stream(), stream(), stream(), function(module(), "add"));
    let mut data = 0;
    ok(unsafe { cuMemAllocAsync(&mut data, 128, owner) });
    ok(unsafe { cuMemsetD32Async(data, 0, 32, owner) });
    ok(unsafe { cuStreamSynchronize(owner) });
    ok(launch(add, user, &[data, 1]));
    assert!(race(user).is_none());
    ok(unsafe { cuMemFreeAsync(data, last) });
    assert!(title(&race(last).expect("a report")).contains("a write of cuMemFreeAsync"));
    ok(unsafe { cuMemAllocAsync(&mut data, 128, owner) });
    let early = stream();
    ok(unsafe { cuMemsetD32Async(data, 0, 32, early) });
    assert!(title(&race(early).expect("a report")).starts_with("a write of cuMemAllocAsync"));
}

/// Atomic updates need no order among each other, and one with reads.
#[test]
fn atomics_do_not_race() {
    start();
    let (first, second, third, total) = (stream(), stream(), stream(), function(module(), "total"));
    let sum = words([0; 32]);
    ok(launch(total, first, &[sum]));
    ok(launch(total, second, &[sum]));
    assert!(race(second).is_none());
    ok(launch(function(module(), "add"), third, &[sum, 1]));
    assert!(title(&race(third).expect("a report")).starts_with("an atomic access of `total`"));
}

/// What comes before a function of the host has ended for the program once that has returned.
#[test]
fn a_function_of_the_host_orders() {
    static RAN: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    extern "C" fn open(gate: usize) {
        // SAFETY: the gate is static.
        unsafe { &*(gate as *const Gate) }.open();
    }
    start();
    let (first, second, add) = (stream(), stream(), function(module(), "add"));
    let data = words([0; 32]);
    ok(launch(add, first, &[data, 1]));
    ok(unsafe { cuLaunchHostFunc(first, open as *const () as usize, std::ptr::from_ref(&RAN) as usize) });
    drop(RAN.1.wait_while(RAN.lock(), |open| !*open).unwrap_or_else(PoisonError::into_inner));
    ok(launch(add, second, &[data, 1]));
    assert!(race(second).is_none());
}
