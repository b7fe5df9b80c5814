//! Races between works and the host. Each test has a process of its own: while another thread's work runs, the host's
//! accesses are not noticed.

use super::process::is_alone;
use super::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The title of the report of a race of the host with work of a stream. A call shows what was noted before.
fn race(stream: usize) -> Option<String> {
    let mut context = 0;
    ok(unsafe { cuCtxGetCurrent(&mut context) });
    let name = format!("stream {stream:#x} and ");
    let title = |entry: &serde_json::Value| entry["title"].as_str().unwrap_or_default().to_owned();
    let is_it = |entry: &serde_json::Value| entry["code"] == "race-host" && title(entry).contains(&name);
    reported(is_it).map(|entry| title(&entry))
}

fn managed(bytes: usize) -> u64 {
    let mut address = 0;
    ok(unsafe { cuMemAllocManaged(&mut address, bytes, 1) });
    address
}

fn pinned(bytes: usize) -> u64 {
    let mut address = 0;
    ok(unsafe { cuMemHostAlloc(&mut address, bytes, 0) });
    address
}

fn word(address: u64) -> *mut u32 {
    address as usize as *mut u32
}

#[test]
fn the_host_reads_too_early() {
    if !is_alone("host::the_host_reads_too_early") {
        return;
    }
    start();
    let (early, late, add) = (stream(), stream(), function(module(), "add"));
    let data = managed(128);
    ok(launch(add, early, &[data, 5]));
    assert_eq!(unsafe { word(data + 8).read_volatile() }, 5, "the program goes on");
    let title = race(early).expect("a report");
    assert!(title.starts_with("a write of `add` in stream"), "{title}");
    assert!(title.contains("and a read of the host access byte 8 of `cuMemAllocManaged"), "{title}");
    ok(unsafe { cuStreamSynchronize(early) });
    // Every way to wait makes it the host's again.
    ok(launch(add, late, &[data, 5]));
    ok(unsafe { cuStreamQuery(late) });
    assert_eq!(unsafe { word(data).read_volatile() }, 10);
    assert_eq!(race(late), None);
    ok(unsafe { cuMemFree_v2(data) });
}

/// The source of a copy may be read by the host, and not be written.
#[test]
fn the_host_overwrites_what_is_copied() {
    if !is_alone("host::the_host_overwrites_what_is_copied") {
        return;
    }
    start();
    let (stream, data, source) = (stream(), words([0; 32]), pinned(128));
    unsafe { word(source).write_volatile(7) };
    ok(unsafe { cuMemcpyHtoDAsync_v2(data, source, 128, stream) });
    assert_eq!(unsafe { word(source).read_volatile() }, 7);
    assert_eq!(race(stream), None);
    unsafe { word(source + 4).write_volatile(8) };
    let title = race(stream).expect("a report");
    assert!(title.starts_with("a read of cuMemcpyHtoDAsync_v2 in stream"), "{title}");
    assert!(title.contains("and a write of the host access byte 4 of `cuMemHostAlloc"), "{title}");
    ok(unsafe { cuStreamSynchronize(stream) });
    ok(unsafe { cuMemFreeHost(source) });
}

/// The parts of a page that no work accesses are the host's.
#[test]
fn other_bytes_are_free() {
    if !is_alone("host::other_bytes_are_free") {
        return;
    }
    start();
    let (stream, add, data) = (stream(), function(module(), "add"), managed(3 * 4096));
    ok(launch(add, stream, &[data, 5]));
    ok(unsafe { cuMemsetD32Async(data + 4000, 1, 1100, stream) });
    unsafe { word(data + 128).write_volatile(1) };
    unsafe { word(data + 2 * 4096 + 512).write_volatile(1) };
    assert_eq!(race(stream), None);
    assert_eq!(unsafe { word(data + 4096).read_volatile() }, 1);
    assert!(race(stream).is_some_and(|title| title.contains("byte 4096 of")));
    // A bad pointer of the program is an error all the same, and the memory can be freed while it is protected.
    assert_eq!(unsafe { cuMemcpyHtoD_v2(data, 16, 4) }, 1);
    ok(launch(add, stream, &[data, 5]));
    ok(unsafe { cuMemFree_v2(data) });
}

/// Flags that kernels update atomically are what the host may watch.
#[test]
fn the_host_may_read_what_is_atomic() {
    if !is_alone("host::the_host_may_read_what_is_atomic") {
        return;
    }
    start();
    let (stream, total, data) = (stream(), function(module(), "total"), managed(4));
    ok(launch(total, stream, &[data]));
    assert_eq!(unsafe { word(data).read_volatile() }, 32);
    assert_eq!(race(stream), None);
    ok(unsafe { cuMemFree_v2(data) });
}

/// A stream that is gone has its work all the same, and a wait for the context waits for it.
#[test]
fn a_destroyed_stream_is_waited_for() {
    if !is_alone("host::a_destroyed_stream_is_waited_for") {
        return;
    }
    start();
    let (mut first, second, add) = (0, stream(), function(module(), "add"));
    ok(unsafe { cuStreamCreate(&mut first, 0) });
    let data = managed(128);
    ok(launch(add, first, &[data, 5]));
    ok(unsafe { cuStreamDestroy_v2(first) });
    // The default stream follows it, too.
    ok(launch(add, 0, &[data, 5]));
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(unsafe { word(data).read_volatile() }, 10);
    ok(launch(add, second, &[data, 5]));
    ok(unsafe { cuStreamDestroy_v2(second) });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(unsafe { word(data).read_volatile() }, 15);
    let is_race = |entry: &serde_json::Value| entry["code"].as_str().is_some_and(|code| code.starts_with("race-"));
    let mut context = 0;
    ok(unsafe { cuCtxGetCurrent(&mut context) });
    assert!(reported(is_race).is_none());
    // Without a wait it is a race.
    let third = stream();
    ok(launch(add, third, &[data, 5]));
    ok(unsafe { cuStreamDestroy_v2(third) });
    assert_eq!(unsafe { word(data).read_volatile() }, 20);
    assert!(race(third).is_some());
    ok(unsafe { cuMemFree_v2(data) });
}

/// A host node sees what the nodes before it have written.
#[test]
fn a_host_node_reads_what_its_graph_wrote() {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    extern "C" fn read(data: usize) {
        // SAFETY: the managed memory of the test.
        SEEN.store(unsafe { word(data as u64).read_volatile() }, Relaxed);
    }
    if !is_alone("host::a_host_node_reads_what_its_graph_wrote") {
        return;
    }
    start();
    let (stream, add, data) = (stream(), function(module(), "add"), managed(128));
    ok(unsafe { cuStreamBeginCapture_v2(stream, 0) });
    ok(launch(add, stream, &[data, 5]));
    ok(unsafe { cuLaunchHostFunc(stream, read as *const () as usize, data as usize) });
    let (mut graph, mut executable) = (0, 0);
    ok(unsafe { cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuStreamSynchronize(stream) });
    assert_eq!(SEEN.load(Relaxed), 5);
    assert_eq!(race(stream), None);
    ok(unsafe { cuMemFree_v2(data) });
}
