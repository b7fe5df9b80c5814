//! Nodes of graphs.

use super::copy::{Solid, described, one_row};
use super::function::function;
use super::symbol::place;
use crate::code::Answer;
use crate::driver::{self, KernelNode};
use crate::entry::{Handle, get};
use crate::{context, exported};
use std::ffi::c_void;

exported! {
    cudaGraphAddKernelNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, kernel: *const KernelNode,
    ) {
        driver::cuGraphAddKernelNode(node, graph, after, count, &resolved(kernel)?)
    }

    cudaGraphKernelNodeSetParams(node: Handle, kernel: *const KernelNode) {
        driver::cuGraphKernelNodeSetParams(node, &resolved(kernel)?)
    }

    cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, kernel: *const KernelNode) {
        driver::cuGraphExecKernelNodeSetParams(executable, node, &resolved(kernel)?)
    }

    cudaGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Solid,
    ) {
        driver::cuGraphAddMemcpyNode(node, graph, after, count, &described(get(copy)?)?, own()?)
    }

    cudaGraphAddMemcpyNode1D(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: u64, from: u64, bytes: usize,
        kind: u32,
    ) {
        driver::cuGraphAddMemcpyNode(node, graph, after, count, &one_row(to, from, bytes, kind)?, own()?)
    }

    cudaGraphAddMemcpyNodeToSymbol(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, symbol: usize, from: u64, bytes: usize,
        offset: usize, kind: u32,
    ) {
        let copy = one_row(place(symbol, offset, bytes)?, from, bytes, kind)?;
        driver::cuGraphAddMemcpyNode(node, graph, after, count, &copy, own()?)
    }

    cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: u64, symbol: usize, bytes: usize,
        offset: usize, kind: u32,
    ) {
        let copy = one_row(to, place(symbol, offset, bytes)?, bytes, kind)?;
        driver::cuGraphAddMemcpyNode(node, graph, after, count, &copy, own()?)
    }

    cudaGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: *const Solid) {
        driver::cuGraphExecMemcpyNodeSetParams(executable, node, &described(get(copy)?)?, own()?)
    }

    cudaGraphExecMemcpyNodeSetParams1D(
        executable: Handle, node: Handle, to: u64, from: u64, bytes: usize, kind: u32,
    ) {
        driver::cuGraphExecMemcpyNodeSetParams(executable, node, &one_row(to, from, bytes, kind)?, own()?)
    }

    // The parameters of the next are the driver's.
    cudaGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const c_void,
    ) {
        driver::cuGraphAddMemsetNode(node, graph, after, count, fill, own()?)
    }

    cudaGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: *const c_void) {
        driver::cuGraphExecMemsetNodeSetParams(executable, node, fill, own()?)
    }

    cudaGraphAddHostNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, host: *const c_void,
    ) {
        driver::cuGraphAddHostNode(node, graph, after, count, host)
    }

    cudaGraphExecHostNodeSetParams(executable: Handle, node: Handle, host: *const c_void) {
        driver::cuGraphExecHostNodeSetParams(executable, node, host)
    }

    cudaGraphAddChildGraphNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle,
    ) {
        driver::cuGraphAddChildGraphNode(node, graph, after, count, child)
    }

    cudaGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        driver::cuGraphAddEmptyNode(node, graph, after, count)
    }

    cudaGraphAddEventRecordNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle,
    ) {
        driver::cuGraphAddEventRecordNode(node, graph, after, count, event)
    }

    cudaGraphAddEventWaitNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle,
    ) {
        driver::cuGraphAddEventWaitNode(node, graph, after, count, event)
    }

    cudaGraphDestroyNode(node: Handle) { driver::cuGraphDestroyNode(node) }

    cudaGraphNodeGetType(node: Handle, kind: *mut u32) { driver::cuGraphNodeGetType(node, kind) }
}

/// The node's parameters with the driver's function in place of the host's address.
unsafe fn resolved(kernel: *const KernelNode) -> Answer<KernelNode> {
    // SAFETY: the caller's pointer.
    let kernel = unsafe { get(kernel) }?;
    Ok(KernelNode { function: function(kernel.function)?, ..kernel })
}

/// The context in which a node works: that of the thread's device.
fn own() -> Answer<Handle> {
    context::primary(context::device()?)
}
