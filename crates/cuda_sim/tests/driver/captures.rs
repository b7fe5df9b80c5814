//! Captures and events, memory of graphs, and the nodes of events.

use super::*;

/// Flag of a record or a wait in a capture that belongs to what is outside of the graph.
const EXTERNAL: u32 = 1;

/// An event stands for a place in a capture only until that ends.
#[test]
fn an_event_of_a_capture_that_has_ended() {
    start();
    let (first, second, fork) = (stream(), stream(), event());
    let mut graph = 0;
    ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
    ok(unsafe { cuEventRecord(fork, first) });
    ok(unsafe { cuStreamEndCapture(first, &mut graph) });
    assert_eq!(unsafe { cuEventQuery(fork) }, 907);
    assert_eq!(unsafe { cuEventSynchronize(fork) }, 907);
    assert_eq!(unsafe { cuStreamWaitEvent(second, fork, 0) }, 907);
    ok(unsafe { cuStreamSynchronize(second) });
    assert_eq!(unsafe { cuStreamWaitEvent(0, fork, 0) }, 907);
    ok(unsafe { cuStreamSynchronize(0) });
    ok(unsafe { cuEventRecord(fork, first) });
    ok(unsafe { cuEventQuery(fork) });
}

/// Memory that a capture allocates lives as long as the graph, a copy or an executable of it does.
#[test]
fn memory_of_a_graph() {
    start();
    let (stream, add) = (stream(), function(module(), "add"));
    let (mut graph, mut copy, mut executable, mut memory) = (0, 0, 0, 0);
    ok(unsafe { cuStreamBeginCapture_v2(stream, 0) });
    ok(unsafe { cuMemAllocAsync(&mut memory, 128, stream) });
    ok(unsafe { cuMemsetD32Async(memory, 4, 32, stream) });
    ok(launch(add, stream, &[memory, 1]));
    ok(unsafe { cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuGraphClone(&mut copy, graph) });
    ok(unsafe { cuGraphDestroy(graph) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, copy, 0) });
    ok(unsafe { cuGraphDestroy(copy) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuStreamSynchronize(stream) });
    assert_eq!(read(memory), [5; 32]);
    ok(unsafe { cuGraphExecDestroy(executable) });
    assert_eq!(unsafe { cuMemFree_v2(memory) }, 1, "it is freed with the last that uses it");
}

/// A graph that is destroyed while a launch of it waits.
#[test]
fn a_launch_keeps_the_memory_of_its_graph() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let stream = stream();
    let (mut graph, mut executable, mut memory) = (0, 0, 0);
    ok(unsafe { cuStreamBeginCapture_v2(stream, 0) });
    ok(unsafe { cuMemAllocAsync(&mut memory, 128, stream) });
    ok(unsafe { cuMemsetD32Async(memory, 4, 32, stream) });
    ok(unsafe { cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphDestroy(graph) });
    GATE.close(stream);
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuGraphExecDestroy(executable) });
    GATE.open();
    ok(unsafe { cuStreamSynchronize(stream) });
    assert_eq!(unsafe { cuMemFree_v2(memory) }, 1, "the launch has freed it");
}

/// A graph waits for what an event follows when the graph is launched, and its own record is what others wait for.
#[test]
fn nodes_wait_for_events_and_record_them() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (first, second, before, after) = (stream(), stream(), event(), event());
    let (mut graph, mut executable, mut wait, mut record) = (0, 0, 0, 0);
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    ok(unsafe { cuGraphAddEventWaitNode(&mut wait, graph, std::ptr::null(), 0, before) });
    ok(unsafe { cuGraphAddEventRecordNode(&mut record, graph, &wait, 1, after) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    waits_and_records(&GATE, executable, [first, second], [before, after]);
}

/// As above, captured.
#[test]
fn captured_nodes_wait_for_events_and_record_them() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    start();
    let (first, second, before, after) = (stream(), stream(), event(), event());
    let (mut graph, mut executable, mut count) = (0, 0, 0);
    assert_eq!(unsafe { cuEventRecordWithFlags(before, first, EXTERNAL) }, 1, "there is no capture");
    ok(unsafe { cuStreamBeginCapture_v2(second, 0) });
    ok(unsafe { cuStreamWaitEvent(second, before, EXTERNAL) });
    ok(unsafe { cuEventRecordWithFlags(after, second, EXTERNAL) });
    ok(unsafe { cuStreamEndCapture(second, &mut graph) });
    ok(unsafe { cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count) });
    assert_eq!(count, 2);
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    waits_and_records(&GATE, executable, [first, second], [before, after]);
}

/// Launches a graph in the second stream that waits for the first event and records the second.
fn waits_and_records(gate: &'static Gate, executable: usize, streams: [usize; 2], [before, after]: [usize; 2]) {
    gate.close(streams[0]);
    ok(unsafe { cuEventRecord(before, streams[0]) });
    ok(unsafe { cuGraphLaunch(executable, streams[1]) });
    assert_eq!(unsafe { cuEventQuery(after) }, 600, "the graph waits for the gate");
    gate.open();
    ok(unsafe { cuEventSynchronize(after) });
    ok(unsafe { cuEventQuery(before) });
}

/// Status of a stream's capture: none, active, invalid.
fn status(stream: usize) -> u32 {
    let mut status = 9;
    ok(unsafe { cuStreamIsCapturing(stream, &mut status) });
    status
}

/// A call that a capture does not allow makes it invalid: it can only be ended, and has no graph.
#[test]
fn what_makes_a_capture_invalid() {
    type Call = (&'static str, u32, fn([usize; 3]) -> u32);
    let calls: [Call; 8] = [
        ("a wait for the stream", 900, |[stream, ..]| unsafe { cuStreamSynchronize(stream) }),
        ("a question about the stream", 900, |[stream, ..]| unsafe { cuStreamQuery(stream) }),
        ("a wait for the context", 900, |_| unsafe { cuCtxSynchronize() }),
        ("a callback", 900, |[stream, ..]| unsafe { cuStreamAddCallback(stream, 1, 0, 0) }),
        ("a question about the event", 907, |[_, fork, _]| unsafe { cuEventQuery(fork) }),
        ("a wait for the event", 907, |[_, fork, _]| unsafe { cuEventSynchronize(fork) }),
        ("the default stream", 906, |[_, fork, _]| unsafe { cuStreamWaitEvent(0, fork, 0) }),
        ("an event outside", 905, |[stream, _, outside]| unsafe { cuStreamWaitEvent(stream, outside, 0) }),
    ];
    start();
    let (stream, drawn, add, data) = (stream(), stream(), function(module(), "add"), words([1; 32]));
    for (what, code, call) in calls {
        let (fork, outside, mut graph) = (event(), event(), 9);
        ok(unsafe { cuEventRecord(outside, stream) });
        ok(unsafe { cuStreamBeginCapture_v2(stream, 0) });
        ok(launch(add, stream, &[data, 1]));
        ok(unsafe { cuEventRecord(fork, stream) });
        ok(unsafe { cuStreamWaitEvent(drawn, fork, 0) });
        assert_eq!((status(stream), status(drawn)), (1, 1), "{what}");
        assert_eq!(call([stream, fork, outside]), code, "{what}");
        assert_eq!((status(stream), status(drawn)), (2, 2), "{what}");
        assert_eq!(launch(add, stream, &[data, 1]), 901, "{what}");
        assert_eq!(launch(add, drawn, &[data, 1]), 901, "{what}");
        assert_eq!(unsafe { cuStreamWaitEvent(drawn, fork, 0) }, 901, "{what}");
        assert_eq!(unsafe { cuStreamSynchronize(stream) }, 901, "{what}");
        assert_eq!(unsafe { cuStreamEndCapture(stream, &mut graph) }, 901, "{what}");
        assert_eq!((graph, status(stream), status(drawn)), (0, 0, 0), "{what}");
        ok(unsafe { cuStreamSynchronize(drawn) });
    }
    assert_eq!(read(data), [1; 32]);
}

/// Streams of two captures cannot be joined.
#[test]
fn captures_are_not_merged() {
    start();
    let (first, second, fork, mut graph) = (stream(), stream(), event(), 9);
    ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
    ok(unsafe { cuStreamBeginCapture_v2(second, 0) });
    assert_eq!(unsafe { cuStreamBeginCapture_v2(second, 0) }, 401);
    ok(unsafe { cuEventRecord(fork, first) });
    assert_eq!(unsafe { cuStreamWaitEvent(second, fork, 0) }, 902);
    assert_eq!(unsafe { cuStreamEndCapture(first, &mut graph) }, 901);
    assert_eq!(unsafe { cuStreamEndCapture(second, &mut graph) }, 901);
    assert_eq!(unsafe { cuStreamEndCapture(second, &mut graph) }, 401);
}

/// The default stream cannot be used while a stream that it waits for is captured.
#[test]
fn the_default_stream_in_a_capture() {
    start();
    let (mut blocking, mut graph, mut status) = (0, 9, 9);
    let (add, data) = (function(module(), "add"), words([1; 32]));
    ok(unsafe { cuStreamCreate(&mut blocking, 0) });
    assert_eq!(unsafe { cuStreamBeginCapture_v2(0, 0) }, 900);
    ok(unsafe { cuStreamBeginCapture_v2(blocking, 0) });
    assert_eq!(unsafe { cuStreamIsCapturing(0, &mut status) }, 906);
    ok(unsafe { cuStreamIsCapturing(blocking, &mut status) });
    assert_eq!(status, 1, "the question leaves it as it is");
    assert_eq!(launch(add, 0, &[data, 1]), 906);
    assert_eq!(unsafe { cuStreamEndCapture(blocking, &mut graph) }, 901);
    ok(launch(add, 0, &[data, 1]));
    assert_eq!(read(data), [2; 32]);
}

/// Only the thread that began a capture ends it, unless it is relaxed.
#[test]
fn a_capture_ends_in_its_thread() {
    let context = start();
    let (first, second) = (stream(), stream());
    ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
    ok(unsafe { cuStreamBeginCapture_v2(second, 2) });
    let mut graph = 9;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut graph = 9;
            ok(unsafe { cuCtxSetCurrent(context) });
            assert_eq!(unsafe { cuStreamEndCapture(first, &mut graph) }, 908);
            assert_eq!(graph, 0);
            ok(unsafe { cuStreamEndCapture(second, &mut graph) });
        });
        other.join().expect("the right codes");
    });
    ok(unsafe { cuStreamEndCapture(first, &mut graph) });
}
