//! Graphs, and the objects that they keep alive.

use super::runtime::{Runtime, both};
use std::ffi::c_void;
use std::sync::mpsc::{Sender, channel};

type Create = unsafe extern "C" fn(*mut usize, *mut c_void, extern "C" fn(*mut c_void), u32, u32) -> u32;
type Retain = unsafe extern "C" fn(usize, usize, u32, u32) -> u32;

extern "C" fn end(data: *mut c_void) {
    // SAFETY: the box that the test has made, which ends here.
    let sender = unsafe { Box::from_raw(data.cast::<Sender<u32>>()) };
    sender.send(7).expect("the test waits");
}

/// Makes an object with one reference, whose end `sender` tells.
fn create(runtime: &Runtime, sender: Sender<u32>) -> usize {
    let mut object = 0;
    let data = Box::into_raw(Box::new(sender));
    // SAFETY: the type of the header; the driver passes the box to `end` once.
    runtime.ok(unsafe { runtime.get::<Create>("cudaUserObjectCreate")(&mut object, data.cast(), end, 1, 1) });
    object
}

/// A user object ends when neither the program nor a graph refers to it.
#[test]
fn objects_that_graphs_keep() {
    for runtime in both() {
        let (sender, ended) = channel();
        let object = create(runtime, sender);
        let mut graph = 0_usize;
        runtime.ok(runtime.call("cudaGraphCreate", [&raw mut graph as usize, 0, 0]));
        runtime.ok(runtime.call("cudaUserObjectRetain", [object, 2, 0]));
        // SAFETY: the type of the header.
        let retain =
            |count, flags| unsafe { runtime.get::<Retain>("cudaGraphRetainUserObject")(graph, object, count, flags) };
        runtime.ok(retain(1, 0));
        runtime.ok(retain(2, 1));
        assert_eq!(runtime.call("cudaUserObjectRelease", [object, 2, 0]), 1, "two of three were moved to the graph");
        runtime.ok(runtime.call("cudaUserObjectRelease", [object, 1, 0]));
        runtime.ok(runtime.call("cudaGraphReleaseUserObject", [graph, object, 2]));
        assert!(ended.try_recv().is_err(), "the graph refers to it");
        runtime.ok(runtime.call("cudaGraphDestroy", [graph, 0, 0]));
        assert_eq!(ended.recv(), Ok(7));
    }
}
