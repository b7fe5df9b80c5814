//! Graphs, and the objects that they keep alive.

use crate::entry::{Handle, on};
use crate::{driver, exported};
use std::ffi::{c_char, c_void};

exported! {
    cudaGraphCreate(graph: *mut Handle, flags: u32) { driver::cuGraphCreate(graph, flags) }

    cudaGraphDestroy(graph: Handle) { driver::cuGraphDestroy(graph) }

    cudaGraphClone(copy: *mut Handle, graph: Handle) { driver::cuGraphClone(copy, graph) }

    cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        driver::cuGraphGetNodes(graph, nodes, count)
    }

    cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        driver::cuGraphGetRootNodes(graph, nodes, count)
    }

    cudaGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64) {
        driver::cuGraphInstantiateWithFlags(executable, graph, flags)
    }

    cudaGraphExecDestroy(executable: Handle) { driver::cuGraphExecDestroy(executable) }

    cudaGraphExecUpdate(executable: Handle, graph: Handle, info: *mut c_void) {
        driver::cuGraphExecUpdate_v2(executable, graph, info)
    }

    cudaGraphLaunch(executable: Handle, stream: Handle) or cudaGraphLaunch_ptsz {
        driver::cuGraphLaunch(executable, on(stream))
    }

    cudaGraphUpload(executable: Handle, stream: Handle) or cudaGraphUpload_ptsz {
        driver::cuGraphUpload(executable, on(stream))
    }

    cudaGraphInstantiate(executable: *mut Handle, graph: Handle, flags: u64) {
        driver::cuGraphInstantiateWithFlags(executable, graph, flags)
    }

    cudaGraphInstantiate_v10000(
        executable: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_char, _room: usize,
    ) {
        driver::cuGraphInstantiateWithFlags(executable, graph, 0)
    }

    cudaUserObjectCreate(object: *mut Handle, data: *mut c_void, destroy: *const c_void, count: u32, flags: u32) {
        driver::cuUserObjectCreate(object, data, destroy, count, flags)
    }

    cudaUserObjectRetain(object: Handle, count: u32) { driver::cuUserObjectRetain(object, count) }

    cudaUserObjectRelease(object: Handle, count: u32) { driver::cuUserObjectRelease(object, count) }

    cudaGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        driver::cuGraphRetainUserObject(graph, object, count, flags)
    }

    cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) {
        driver::cuGraphReleaseUserObject(graph, object, count)
    }
}
