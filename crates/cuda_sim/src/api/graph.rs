//! Graphs.

use super::copy::{Copy3D, described};
use super::launch::{Parameters, Shape, prepare};
use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_if};
use crate::state::{Executable, Graph, Handle, Launch, Node, Operation, Set, State, state};
use std::ffi::c_char;

/// `CUDA_KERNEL_NODE_PARAMS`; the second version has two more fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kernel {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    pointers: *const *const u8,
    extra: *const usize,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kernel2 {
    kernel: Kernel,
    library_kernel: Handle,
    context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fill {
    address: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    function: usize,
    data: usize,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Instantiate {
    flags: u64,
    stream: Handle,
    node: Handle,
    result: u32,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Updated {
    result: u32,
    node: Handle,
    from: Handle,
}

/// Results of an update: the same shape, or other nodes.
const UPDATED: u32 = 0;
const TOPOLOGY: u32 = 2;

/// Type of a node: a memory allocation.
const EMPTY: u32 = 5;

api! {
    cuGraphCreate(graph: *mut Handle, _flags: u32) {
        let mut state = state()?;
        let new = state.handle();
        state.graphs.insert(new, Graph::default());
        put(graph, new)
    }

    cuGraphDestroy(graph: Handle) {
        let mut state = state()?;
        let known = state.graphs.remove(&graph).ok_or(Code::INVALID_VALUE)?;
        known.nodes.iter().for_each(|node| drop(state.nodes.remove(node)));
        for address in known.memory {
            // The program may have freed it.
            let _ = state.free_block(address);
        }
        Ok(())
    }

    cuGraphClone(copy: *mut Handle, graph: Handle) { put(copy, state()?.clone_graph(graph)?) }

    cuGraphAddKernelNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, kernel: *const Kernel) {
        add_kernel(node, graph, (after, count), get(kernel)?)
    }

    cuGraphAddKernelNode_v2(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, kernel: *const Kernel2,
    ) {
        add_kernel(node, graph, (after, count), plain(get(kernel)?))
    }

    cuGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Copy3D, _context: Handle,
    ) {
        let mut state = state()?;
        let copy = described(&state, &get(copy)?)?;
        put(node, state.add_node(graph, 1, Operation::Copy(copy), list(after, count)?)?)
    }

    cuGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const Fill, _context: Handle,
    ) {
        let set = set(&get(fill)?)?;
        put(node, state()?.add_node(graph, 2, Operation::Set(set), list(after, count)?)?)
    }

    cuGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, host: *const Host) {
        let Host { function, data } = get(host)?;
        if function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        put(node, state()?.add_node(graph, 3, Operation::Host { function, data }, list(after, count)?)?)
    }

    cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle) {
        let mut state = state()?;
        let steps = state.sorted(child)?.into_iter().map(|(_, _, operation)| operation).collect();
        put(node, state.add_node(graph, 4, Operation::Steps(steps), list(after, count)?)?)
    }

    cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        put(node, state()?.add_node(graph, EMPTY, Operation::Empty, list(after, count)?)?)
    }

    cuGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) {
        let mut state = state()?;
        if !state.events.contains_key(&event) {
            return Err(Code::INVALID_HANDLE);
        }
        put(node, state.add_node(graph, 7, Operation::Record { event }, list(after, count)?)?)
    }

    cuGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) {
        let mut state = state()?;
        if !state.events.contains_key(&event) {
            return Err(Code::INVALID_HANDLE);
        }
        // Work that an event follows has ended when a graph begins.
        put(node, state.add_node(graph, 6, Operation::Empty, list(after, count)?)?)
    }

    cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        depend(graph, from, to, count)
    }

    cuGraphAddDependencies_v2(
        graph: Handle, from: *const Handle, to: *const Handle, _edges: *const u8, count: usize,
    ) {
        depend(graph, from, to, count)
    }

    cuGraphDestroyNode(node: Handle) {
        let mut state = state()?;
        let graph = state.nodes.remove(&node).ok_or(Code::INVALID_VALUE)?.graph;
        if let Some(graph) = state.graphs.get_mut(&graph) {
            graph.nodes.retain(|other| *other != node);
        }
        state.nodes.values_mut().for_each(|other| other.after.retain(|after| *after != node));
        Ok(())
    }

    cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let known = state()?.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes.clone();
        put_list(&known, nodes, count)
    }

    cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let state = state()?;
        let known = &state.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes;
        let is_root = |node: &&Handle| state.nodes.get(node).is_some_and(|node| node.after.is_empty());
        put_list(&known.iter().filter(is_root).copied().collect::<Vec<_>>(), nodes, count)
    }

    cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) {
        put_edges(graph, from, to, count)
    }

    cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, _edges: *mut u8, count: *mut usize) {
        put_edges(graph, from, to, count)
    }

    cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) {
        let after = state()?.nodes.get(&node).ok_or(Code::INVALID_VALUE)?.after.clone();
        put_list(&after, nodes, count)
    }

    cuGraphNodeGetType(node: Handle, kind: *mut u32) {
        put(kind, state()?.nodes.get(&node).ok_or(Code::INVALID_VALUE)?.kind)
    }

    cuGraphKernelNodeSetParams(node: Handle, kernel: *const Kernel) { set_kernel(node, get(kernel)?) }

    cuGraphKernelNodeSetParams_v2(node: Handle, kernel: *const Kernel2) { set_kernel(node, plain(get(kernel)?)) }

    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: u64) { instantiate(executable, graph) }

    cuGraphInstantiateWithParams(executable: *mut Handle, graph: Handle, parameters: *mut Instantiate) {
        instantiate(executable, graph)?;
        let given = get(parameters)?;
        put(parameters, Instantiate { result: 0, node: 0, ..given })
    }

    cuGraphInstantiate_v2(
        executable: *mut Handle, graph: Handle, node: *mut Handle, _log: *mut c_char, _size: usize,
    ) {
        put_if(node, 0);
        instantiate(executable, graph)
    }

    cuGraphExecDestroy(executable: Handle) {
        state()?.executables.remove(&executable).map(|_| ()).ok_or(Code::INVALID_VALUE)
    }

    cuGraphLaunch(executable: Handle, stream: Handle) or cuGraphLaunch_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let steps = &state.executables.get(&executable).ok_or(Code::INVALID_VALUE)?.steps;
        let steps = steps.iter().map(|(_, _, operation)| operation.clone()).collect();
        state.enqueue(stream, Operation::Steps(steps))
    }

    cuGraphUpload(executable: Handle, stream: Handle) or cuGraphUpload_ptsz {
        let mut state = state()?;
        state.stream(stream)?;
        if state.executables.contains_key(&executable) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    cuGraphExecUpdate(executable: Handle, graph: Handle, node: *mut Handle, result: *mut u32) {
        let updated = update(executable, graph)?;
        put_if(node, 0);
        put_if(result, updated);
        if updated == UPDATED { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    cuGraphExecUpdate_v2(executable: Handle, graph: Handle, info: *mut Updated) {
        let result = update(executable, graph)?;
        put_if(info, Updated { result, node: 0, from: 0 });
        if result == UPDATED { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, kernel: *const Kernel) {
        exec_set_kernel(executable, node, get(kernel)?)
    }

    cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, kernel: *const Kernel2) {
        exec_set_kernel(executable, node, plain(get(kernel)?))
    }

    cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: *const Copy3D, _context: Handle) {
        let mut state = state()?;
        let copy = described(&state, &get(copy)?)?;
        exec_set(&mut state, executable, node, Operation::Copy(copy))
    }

    cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: *const Fill, _context: Handle) {
        let set = set(&get(fill)?)?;
        exec_set(&mut *state()?, executable, node, Operation::Set(set))
    }

    cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, host: *const Host) {
        let Host { function, data } = get(host)?;
        exec_set(&mut *state()?, executable, node, Operation::Host { function, data })
    }
}

/// The first version of a kernel's parameters; a library's kernel is a function.
fn plain(kernel: Kernel2) -> Kernel {
    let function = if kernel.kernel.function == 0 { kernel.library_kernel } else { kernel.kernel.function };
    Kernel { function, ..kernel.kernel }
}

unsafe fn launch(state: &mut State, kernel: &Kernel) -> Answer<Launch> {
    let shape = Shape::plain(kernel.grid, kernel.block, kernel.shared);
    let parameters = Parameters { pointers: kernel.pointers, extra: kernel.extra };
    // SAFETY: the caller's parameters.
    unsafe { prepare(state, kernel.function, shape, parameters) }
}

unsafe fn add_kernel(
    place: *mut Handle,
    graph: Handle,
    (after, count): (*const Handle, usize),
    kernel: Kernel,
) -> Answer {
    let mut state = state()?;
    // SAFETY: the caller's parameters and list.
    unsafe {
        let launch = launch(&mut state, &kernel)?;
        put(place, state.add_node(graph, 0, Operation::Launch(launch), list(after, count)?)?)
    }
}

unsafe fn set_kernel(node: Handle, kernel: Kernel) -> Answer {
    let mut state = state()?;
    // SAFETY: the caller's parameters.
    let launch = unsafe { launch(&mut state, &kernel) }?;
    let node: &mut Node = state.nodes.get_mut(&node).ok_or(Code::INVALID_VALUE)?;
    node.operation = Operation::Launch(launch);
    Ok(())
}

unsafe fn exec_set_kernel(executable: Handle, node: Handle, kernel: Kernel) -> Answer {
    let mut state = state()?;
    // SAFETY: the caller's parameters.
    let launch = unsafe { launch(&mut state, &kernel) }?;
    exec_set(&mut state, executable, node, Operation::Launch(launch))
}

/// Replaces the operation of a node of an executable graph by one of the same type.
fn exec_set(state: &mut State, executable: Handle, node: Handle, operation: Operation) -> Answer {
    let steps = &mut state.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?.steps;
    let step = steps.iter_mut().find(|(known, _, _)| *known == node).ok_or(Code::INVALID_VALUE)?;
    if std::mem::discriminant(&step.2) != std::mem::discriminant(&operation) {
        return Err(Code::INVALID_VALUE);
    }
    step.2 = operation;
    Ok(())
}

unsafe fn instantiate(place: *mut Handle, graph: Handle) -> Answer {
    let mut state = state()?;
    let steps = state.sorted(graph)?;
    let executable = state.handle();
    state.executables.insert(executable, Executable { steps });
    // SAFETY: the caller's pointer.
    unsafe { put(place, executable) }
}

/// Takes over the operations of another graph of the same shape.
fn update(executable: Handle, graph: Handle) -> Answer<u32> {
    let mut state = state()?;
    let new = state.sorted(graph)?;
    let known = state.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?;
    let is_same = known.steps.len() == new.len() && known.steps.iter().zip(&new).all(|(old, new)| old.1 == new.1);
    if !is_same {
        return Ok(TOPOLOGY);
    }
    // The nodes keep the handles of the graph that was instantiated.
    known.steps.iter_mut().zip(new).for_each(|(old, new)| old.2 = new.2);
    Ok(UPDATED)
}

fn set(fill: &Fill) -> Answer<Set> {
    let Fill { address, pitch, value, element, width, height } = *fill;
    if !matches!(element, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    let (pitch, bytes) = (pitch as u64, u64::from(element));
    Ok(Set { address, pitch, value, bytes, width: width as u64, height: height.max(1) as u64 })
}

unsafe fn depend(graph: Handle, from: *const Handle, to: *const Handle, count: usize) -> Answer {
    let mut state = state()?;
    // SAFETY: the caller's lists have `count` elements.
    let (from, to) = unsafe { (list(from, count)?, list(to, count)?) };
    let is_here = |node: &Handle| state.nodes.get(node).is_some_and(|node| node.graph == graph);
    if !from.iter().chain(&to).all(is_here) {
        return Err(Code::INVALID_VALUE);
    }
    for (from, to) in from.into_iter().zip(to) {
        state.nodes.entry(to).and_modify(|node| node.after.push(from));
    }
    Ok(())
}

unsafe fn put_edges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) -> Answer {
    let state = state()?;
    let nodes = &state.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes;
    let edges: Vec<(Handle, Handle)> = nodes
        .iter()
        .filter_map(|node| Some((node, state.nodes.get(node)?)))
        .flat_map(|(node, known)| known.after.iter().map(|after| (*after, *node)))
        .collect();
    let (starts, ends): (Vec<Handle>, Vec<Handle>) = edges.into_iter().unzip();
    // SAFETY: the caller's pointers; both lists have room for `count` elements.
    unsafe {
        let room = get(count)?;
        put_list(&starts, from, count)?;
        put(count, room)?;
        put_list(&ends, to, count)
    }
}

unsafe fn list(nodes: *const Handle, count: usize) -> Answer<Vec<Handle>> {
    // SAFETY: the caller's list has `count` elements.
    (0..count).map(|at| unsafe { get(nodes.wrapping_add(at)) }).collect()
}

/// Writes as many elements as there is room for, and how many there are.
unsafe fn put_list(known: &[Handle], place: *mut Handle, count: *mut usize) -> Answer {
    // SAFETY: the caller's pointers; the list has room for `count` elements.
    unsafe {
        let room = if place.is_null() { 0 } else { get(count)? };
        for (at, node) in known.iter().take(room).enumerate() {
            put(place.wrapping_add(at), *node)?;
        }
        put(count, if place.is_null() { known.len() } else { known.len().min(room) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<Kernel>(), size_of::<Kernel2>(), size_of::<Fill>(), size_of::<Host>()), (56, 72, 40, 16));
    }
}
