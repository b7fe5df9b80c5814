//! Races between nodes of one graph: what is reported, and what orders nodes.

use super::*;

/// The title of the report of a race in a graph that is launched in this stream.
fn race(stream: usize) -> Option<String> {
    let name = format!("of a graph in stream {stream:#x} ");
    let title = |entry: &serde_json::Value| entry["title"].as_str().unwrap_or_default().to_owned();
    reported(|entry| entry["code"] == "race-graph" && title(entry).contains(&name)).map(|entry| title(&entry))
}

fn graph() -> usize {
    let mut graph = 0;
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    graph
}

/// Adds a node that adds 1 to 32 words.
fn adds(graph: usize, add: usize, data: u64, after: &[usize]) -> usize {
    let (value, mut node) = ([data, 1], 0);
    let pointers = value.each_ref().map(std::ptr::from_ref);
    let (dimensions, extra) = ([1, 1, 1, 32, 1, 1, 0], std::ptr::null());
    let pointers = pointers.as_ptr().cast();
    let kernel = KernelNode { function: add, dimensions, pointers, extra, kernel: 0, context: 0 };
    ok(unsafe { cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), &kernel) });
    node
}

/// Launches a graph twice in a new stream, and returns the stream when it has ended.
fn run(graph: usize) -> usize {
    let (mut executable, stream) = (0, stream());
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuStreamSynchronize(stream) });
    stream
}

/// Two kernels without a dependency that write the same bytes; other bytes, and a third node, are no race.
#[test]
fn parallel_nodes_race() {
    start();
    let (add, graph, data, other) = (function(module(), "add"), graph(), words([0; 32]), words([0; 32]));
    adds(graph, add, other, &[]);
    let first = adds(graph, add, data, &[]);
    adds(graph, add, other, &[first]);
    let stream = run(graph);
    let title = race(stream).expect("the nodes 0 and 2 race");
    assert!(title.starts_with("a write of `add` in node 0 and a write of `add` in node 2 of a graph"), "{title}");
    assert!(title.contains("access byte 0 of `cuMemAlloc") && title.ends_with("no dependency orders them"), "{title}");
    let name = format!("stream {stream:#x} ");
    let text = std::fs::read_to_string(report()).expect("a report");
    let of_graph: Vec<&str> = text.lines().filter(|line| line.contains("race-graph") && line.contains(&name)).collect();
    assert_eq!(of_graph.len(), 1, "each pair of nodes once: {of_graph:?}");
    let entry: serde_json::Value = serde_json::from_str(of_graph[0]).expect("JSON");
    let labels: Vec<_> = entry["places"].as_array().expect("places").iter().map(|place| &place["label"]).collect();
    assert_eq!(labels, ["`add` writes here", "`add` writes here"]);
}

/// A dependency orders two nodes, also through others.
#[test]
fn dependencies_order_nodes() {
    start();
    let (add, graph, data) = (function(module(), "add"), graph(), words([0; 32]));
    let (mut empty, mut fill) = (0, 0);
    let first = adds(graph, add, data, &[]);
    let second = adds(graph, add, data, &[first]);
    ok(unsafe { cuGraphAddEmptyNode(&mut empty, graph, &second, 1) });
    let parameters = FillNode { address: data, pitch: 128, value: 5, element: 4, width: 32, height: 1 };
    ok(unsafe { cuGraphAddMemsetNode(&mut fill, graph, &empty, 1, &parameters, 0) });
    adds(graph, add, data, &[first, fill]);
    assert_eq!(race(run(graph)), None);
    assert_eq!(read(data), [6; 32]);
}

/// A fill that a kernel does not wait for.
#[test]
fn a_fill_races_with_a_kernel() {
    start();
    let (add, graph, data, mut fill) = (function(module(), "add"), graph(), words([0; 32]), 0);
    let parameters = FillNode { address: data + 64, pitch: 64, value: 5, element: 4, width: 4, height: 1 };
    ok(unsafe { cuGraphAddMemsetNode(&mut fill, graph, std::ptr::null(), 0, &parameters, 0) });
    adds(graph, add, data, &[]);
    let title = race(run(graph)).expect("a report");
    assert!(title.starts_with("a write in node 0 and a write of `add` in node 1 of a graph"), "{title}");
    assert!(title.contains("access byte 64 of"), "{title}");
}

/// Nodes of a child graph follow what the child's node follows, and race with what it does not.
#[test]
fn nodes_of_child_graphs() {
    start();
    let (add, data) = (function(module(), "add"), words([0; 32]));
    for ordered in [true, false] {
        let (outer, inner, mut child) = (graph(), graph(), 0);
        let first = adds(inner, add, data, &[]);
        adds(inner, add, data, &[first]);
        let before = adds(outer, add, data, &[]);
        let after = if ordered { &[before][..] } else { &[] };
        ok(unsafe { cuGraphAddChildGraphNode(&mut child, outer, after.as_ptr(), after.len(), inner) });
        let title = race(run(outer));
        assert_eq!(title.is_none(), ordered, "{title:?}");
        let expected = "a write of `add` in node 0 and a write of `add` in node 1.0 of a graph";
        assert!(title.is_none_or(|title| title.starts_with(expected)));
    }
}

/// Streams of a capture are ordered by its events alone.
#[test]
fn captured_streams() {
    start();
    let (add, data) = (function(module(), "add"), words([0; 32]));
    for ordered in [true, false] {
        let (first, second, fork, join, mut graph) = (stream(), stream(), event(), event(), 0);
        ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
        if ordered {
            ok(launch(add, first, &[data, 1]));
        }
        ok(unsafe { cuEventRecord(fork, first) });
        ok(unsafe { cuStreamWaitEvent(second, fork, 0) });
        if !ordered {
            ok(launch(add, first, &[data, 1]));
        }
        ok(launch(add, second, &[data, 1]));
        ok(unsafe { cuEventRecord(join, second) });
        ok(unsafe { cuStreamWaitEvent(first, join, 0) });
        ok(launch(add, first, &[data, 1]));
        ok(unsafe { cuStreamEndCapture(first, &mut graph) });
        assert_eq!(race(run(graph)).is_none(), ordered);
    }
}

/// An executable graph takes the operations of another one of the same shape, which dependencies are part of.
#[test]
fn an_update_keeps_the_dependencies() {
    start();
    let (add, data, [one, other]) = (function(module(), "add"), words([0; 32]), [graph(), graph()]);
    let (mut executable, mut info) = (0, [9; 3]);
    let first = adds(one, add, data, &[]);
    adds(one, add, data, &[first]);
    adds(other, add, data, &[]);
    adds(other, add, data, &[]);
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, one, 0) });
    assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, other, &mut info) }, 910);
    ok(unsafe { cuGraphExecUpdate_v2(executable, one, &mut info) });
}

/// Memory that one branch of a graph frees is used by another one.
#[test]
fn a_free_races_with_a_kernel() {
    start();
    let add = function(module(), "add");
    for ordered in [true, false] {
        let (first, second, fork, join, mut graph, mut data) = (stream(), stream(), event(), event(), 0, 0);
        ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
        ok(unsafe { cuMemAllocAsync(&mut data, 128, first) });
        ok(unsafe { cuMemsetD32Async(data, 0, 32, first) });
        ok(unsafe { cuEventRecord(fork, first) });
        ok(unsafe { cuStreamWaitEvent(second, fork, 0) });
        ok(launch(add, second, &[data, 1]));
        ok(unsafe { cuEventRecord(join, second) });
        if ordered {
            ok(unsafe { cuStreamWaitEvent(first, join, 0) });
        }
        ok(unsafe { cuMemFreeAsync(data, first) });
        ok(unsafe { cuStreamWaitEvent(first, join, 0) });
        ok(unsafe { cuStreamEndCapture(first, &mut graph) });
        assert_eq!(race(run(graph)).is_none(), ordered);
    }
}
