//! Graphs: captured and built.

use super::*;
use std::ffi::c_void;
use std::sync::mpsc::{Sender, channel};

/// A capture that goes through two streams; nothing runs before the graph is launched.
#[test]
fn a_capture_forks_and_joins() {
    start();
    let (first, second, add) = (stream(), stream(), function(module(), "add"));
    let (fork, join) = (event(), event());
    let (a, b) = (words([0; 32]), words([0; 32]));
    ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
    ok(launch(add, first, &[a, 1]));
    ok(unsafe { cuEventRecord(fork, first) });
    ok(unsafe { cuStreamWaitEvent(second, fork, 0) });
    ok(launch(add, second, &[b, 2]));
    ok(unsafe { cuEventRecord(join, second) });
    ok(unsafe { cuStreamWaitEvent(first, join, 0) });
    ok(launch(add, first, &[b, 10]));
    let (mut graph, mut executable, mut count) = (0, 0, 0);
    ok(unsafe { cuStreamEndCapture(first, &mut graph) });
    assert_eq!((read(a), read(b)), ([0; 32], [0; 32]));
    ok(unsafe { cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count) });
    assert_eq!(count, 3);
    assert_eq!(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 1 | 4) }, 1, "flags exclude each other");
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 1) });
    for times in 1..=2 {
        ok(unsafe { cuGraphLaunch(executable, first) });
        ok(unsafe { cuStreamSynchronize(first) });
        assert_eq!((read(a), read(b)), ([times; 32], [12 * times; 32]));
    }
    ok(unsafe { cuGraphExecDestroy(executable) });
    ok(unsafe { cuGraphDestroy(graph) });
    assert_eq!(unsafe { cuGraphLaunch(executable, first) }, 1);
}

#[test]
fn a_stream_that_was_not_joined() {
    start();
    let (first, second, fork) = (stream(), stream(), event());
    let add = function(module(), "add");
    ok(unsafe { cuStreamBeginCapture_v2(first, 0) });
    ok(unsafe { cuEventRecord(fork, first) });
    ok(unsafe { cuStreamWaitEvent(second, fork, 0) });
    ok(launch(add, second, &[words_later(), 1]));
    let mut graph = 9;
    assert_eq!(unsafe { cuStreamEndCapture(first, &mut graph) }, 904);
    assert_eq!(graph, 0);
    ok(unsafe { cuStreamSynchronize(second) });
    assert_eq!(unsafe { cuStreamBeginCapture_v2(0, 0) }, 900, "the default stream cannot be captured");
}

/// Device memory without a copy, which a capture in the same context does not see.
fn words_later() -> u64 {
    let mut address = 0;
    ok(unsafe { cuMemAlloc_v2(&mut address, 128) });
    address
}

/// Nodes run after those that they depend on, in whatever order they were added; their parameters can be replaced.
#[test]
fn a_graph_is_built_and_changed() {
    start();
    let (stream, add, data) = (stream(), function(module(), "add"), words([1; 32]));
    let node = |value: &[u64; 2], graph: usize, after: &[usize]| {
        let pointers = value.each_ref().map(std::ptr::from_ref);
        let kernel = kernel(add, pointers.as_ptr().cast());
        let mut node = 0;
        ok(unsafe { cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), &kernel) });
        node
    };
    let (mut graph, mut other, mut executable) = (0, 0, 0);
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    let first = node(&[data, 1], graph, &[]);
    node(&[data, 10], graph, &[first]);
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    assert_eq!(read(data), [12; 32]);
    let parameters = [data, 100].map(u64::from);
    let pointers = parameters.each_ref().map(std::ptr::from_ref);
    let changed = kernel(add, pointers.as_ptr().cast());
    ok(unsafe { cuGraphExecKernelNodeSetParams_v2(executable, first, &changed) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    assert_eq!(read(data), [122; 32]);
    // The same shape with other values, and another shape.
    ok(unsafe { cuGraphCreate(&mut other, 0) });
    let first = node(&[data, 1000], other, &[]);
    node(&[data, 2000], other, &[first]);
    let mut info = [9; 3];
    ok(unsafe { cuGraphExecUpdate_v2(executable, other, &mut info) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    assert_eq!(read(data), [3122; 32]);
    node(&[data, 1], other, &[]);
    assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, other, &mut info) }, 910);
}

fn kernel(function: usize, pointers: *const *const u8) -> KernelNode {
    let dimensions = [1, 1, 1, 32, 1, 1, 0];
    KernelNode { function, dimensions, pointers, extra: std::ptr::null(), kernel: 0, context: 0 }
}

/// A kernel that stores `%current_graph_exec`, with 1 added, to two words.
const RUNNING: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry running(.param .u64 data) {
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u64 %rd2, %current_graph_exec;
    add.u64 %rd3, %rd2, 1;
    st.global.u64 [%rd1], %rd3;
    ret;
}";

/// The register names a graph that a kernel may launch and that is running, so that it is 0 in a launch by the host, in
/// a graph and outside of one.
#[test]
fn no_graph_of_the_device_is_running() {
    start();
    let (mut module, text) = (0, CString::new(RUNNING).expect("text"));
    ok(unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    let (stream, running) = (stream(), function(module, "running"));
    let (data, in_graph) = (words([9; 32]), words([9; 32]));
    ok(launch(running, stream, &[data]));
    let pointers = [std::ptr::from_ref(&in_graph)];
    let (mut graph, mut node, mut executable) = (0, 0, 0);
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    let kernel = kernel(running, pointers.as_ptr().cast());
    ok(unsafe { cuGraphAddKernelNode_v2(&mut node, graph, std::ptr::null(), 0, &kernel) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    ok(unsafe { cuStreamSynchronize(stream) });
    assert_eq!((&read(data)[..3], &read(in_graph)[..3]), (&[1, 0, 9][..], &[1, 0, 9][..]));
}

/// A user object ends when neither the program nor a graph, an executable or a launch refers to it.
#[test]
fn objects_that_graphs_keep() {
    extern "C" fn end(data: *mut c_void) {
        // SAFETY: the box that the test has made, which ends here.
        let sender = unsafe { Box::from_raw(data.cast::<Sender<u32>>()) };
        sender.send(7).expect("the test waits");
    }
    start();
    let (sender, ended) = channel();
    let (data, mut object, mut graph, mut executable) = (Box::into_raw(Box::new(sender)), 0, 0, 0);
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    assert_eq!(unsafe { cuUserObjectCreate(&mut object, data.cast(), end, 1, 0) }, 1, "the flag is required");
    ok(unsafe { cuUserObjectCreate(&mut object, data.cast(), end, 1, 1) });
    ok(unsafe { cuUserObjectRetain(object, 2) });
    assert_eq!(unsafe { cuGraphRetainUserObject(graph, object, 0, 0) }, 1);
    ok(unsafe { cuGraphRetainUserObject(graph, object, 1, 0) });
    ok(unsafe { cuGraphRetainUserObject(graph, object, 2, 1) });
    assert_eq!(unsafe { cuUserObjectRelease(object, 2) }, 1, "two of three were moved to the graph");
    ok(unsafe { cuUserObjectRelease(object, 1) });
    ok(unsafe { cuGraphReleaseUserObject(graph, object, 2) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphReleaseUserObject(graph, object, 1) });
    assert_eq!(unsafe { cuGraphReleaseUserObject(graph, object, 1) }, 1);
    ok(unsafe { cuGraphDestroy(graph) });
    assert!(ended.try_recv().is_err(), "the executable graph refers to it");
    ok(unsafe { cuGraphExecDestroy(executable) });
    assert_eq!(ended.recv(), Ok(7));
}
