//! Nodes of graphs.

use super::copy::{Copy3D, described};
use super::fill;
use super::launch::{Parameters, Shape, prepare};
use crate::code::{Answer, Code};
use crate::entry::{api, get, list, put, put_list};
use crate::model::{Handle, Launch, Node, Operation, Set};
use crate::state::{State, state};

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
    pub function: usize,
    pub data: usize,
}

/// Type of a node that does nothing.
const EMPTY: u32 = 5;

api! {
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
        let (steps, order) = state.sorted(child)?;
        let steps = steps.into_iter().map(|(_, _, operation)| operation).collect();
        let child = state.graphs.get(&child).ok_or(Code::INVALID_VALUE)?;
        let (memory, objects) = (child.memory.clone(), child.objects.clone());
        let added = state.add_node(graph, 4, Operation::Child(steps, order), list(after, count)?)?;
        state.graphs.entry(graph).and_modify(|graph| {
            graph.memory.extend(memory);
            for (handle, object) in objects {
                graph.objects.entry(handle).or_insert(object);
            }
        });
        put(node, added)
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
        put(node, state.add_node(graph, 6, Operation::Wait { event }, list(after, count)?)?)
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

    cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) {
        let after = state()?.nodes.get(&node).ok_or(Code::INVALID_VALUE)?.after.clone();
        put_list(&after, nodes, count)
    }

    cuGraphNodeGetType(node: Handle, kind: *mut u32) {
        put(kind, state()?.nodes.get(&node).ok_or(Code::INVALID_VALUE)?.kind)
    }

    cuGraphKernelNodeSetParams(node: Handle, kernel: *const Kernel) { set_kernel(node, get(kernel)?) }

    cuGraphKernelNodeSetParams_v2(node: Handle, kernel: *const Kernel2) { set_kernel(node, plain(get(kernel)?)) }
}

/// The first version of a kernel's parameters; a library's kernel is a function.
pub(super) fn plain(kernel: Kernel2) -> Kernel {
    let function = if kernel.kernel.function == 0 { kernel.library_kernel } else { kernel.kernel.function };
    Kernel { function, ..kernel.kernel }
}

pub(super) unsafe fn launch(state: &mut State, kernel: &Kernel) -> Answer<Launch> {
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
    replace_launch(&mut node.operation, launch)
}

/// Replaces a launch. The parameters of a node lack the cluster and whether the launch is cooperative: those stay.
pub(super) fn replace_launch(operation: &mut Operation, new: Launch) -> Answer {
    let Operation::Launch(old) = operation else { return Err(Code::INVALID_VALUE) };
    *old = Launch { cluster: new.cluster.or(old.cluster), cooperative: old.cooperative, ..new };
    Ok(())
}

pub(super) fn set(fill: &Fill) -> Answer<Set> {
    let Fill { address, pitch, value, element, width, height } = *fill;
    if !matches!(element, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    fill::set(address, pitch, (value, u64::from(element)), width, height.max(1))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<Kernel>(), size_of::<Kernel2>(), size_of::<Fill>(), size_of::<Host>()), (56, 72, 40, 16));
    }
}
