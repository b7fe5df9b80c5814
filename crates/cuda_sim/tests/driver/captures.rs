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
    assert_eq!(unsafe { cuEventQuery(fork) }, 907);
    assert_eq!(unsafe { cuEventSynchronize(fork) }, 907);
    assert_eq!(unsafe { cuStreamWaitEvent(0, fork, 0) }, 906, "the default stream cannot be captured");
    ok(unsafe { cuStreamEndCapture(first, &mut graph) });
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
