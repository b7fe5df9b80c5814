//! Graphs.

use super::copy::{Copy3D, described};
use super::node::{Fill, Host, Kernel, Kernel2, launch, plain, replace_launch, set};
use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_if, put_list, put_made};
use crate::model::{Clock, Executable, Graph, Handle, Operation, Order, Position, Token};
use crate::state::{State, state};
use std::ffi::c_char;
use std::sync::Arc;

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

/// Flags of an executable graph: all, the one for [`cuGraphInstantiateWithParams`] alone, and those that exclude each
/// other.
const FLAGS: u64 = 0b1111;
const UPLOAD: u64 = 2;
const AUTO_FREE: u64 = 1;
const FOR_DEVICE: u64 = 4;

/// Results of an update: the same shape, or other nodes.
const UPDATED: u32 = 0;
const TOPOLOGY: u32 = 2;

api! {
    cuGraphCreate(graph: *mut Handle, _flags: u32) {
        put_made(graph, || {
            let mut state = state()?;
            let new = state.handle();
            state.graphs.insert(new, Graph::default());
            Ok(new)
        })
    }

    cuGraphDestroy(graph: Handle) {
        state()?.remove_graph(graph)
    }

    cuGraphClone(copy: *mut Handle, graph: Handle) { put_made(copy, || state()?.clone_graph(graph)) }

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

    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64) {
        valid(flags)?;
        if flags & UPLOAD != 0 {
            return Err(Code::INVALID_VALUE);
        }
        instantiate(executable, graph)
    }

    cuGraphInstantiateWithParams(
        executable: *mut Handle, graph: Handle, parameters: *mut Instantiate,
    ) or cuGraphInstantiateWithParams_ptsz {
        let given = get(parameters)?;
        valid(given.flags)?;
        instantiate(executable, graph)?;
        put(parameters, Instantiate { result: 0, node: 0, ..given })
    }

    cuGraphInstantiate_v2(
        executable: *mut Handle, graph: Handle, node: *mut Handle, _log: *mut c_char, _size: usize,
    ) {
        put_if(node, 0);
        instantiate(executable, graph)
    }

    cuGraphExecDestroy(executable: Handle) {
        let mut state = state()?;
        let known = state.executables.remove(&executable).ok_or(Code::INVALID_VALUE)?;
        state.release(known.memory);
        Ok(())
    }

    cuGraphLaunch(executable: Handle, stream: Handle) or cuGraphLaunch_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let known = state.executables.get(&executable).ok_or(Code::INVALID_VALUE)?;
        let known_steps = known.steps.iter().map(|(_, _, operation)| operation);
        let mut steps = Vec::with_capacity(known.steps.len());
        place(known_steps, Some(&known.order), &Position::default(), &mut steps);
        if !known.memory.is_empty() || !known.objects.is_empty() {
            steps.push(Operation::Release(known.memory.clone(), known.objects.clone()));
        }
        launch_steps(&mut state, stream, steps)
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

unsafe fn exec_set_kernel(executable: Handle, node: Handle, kernel: Kernel) -> Answer {
    let mut state = state()?;
    // SAFETY: the caller's parameters.
    let launch = unsafe { launch(&mut state, &kernel) }?;
    replace_launch(exec_step(&mut state, executable, node)?, launch)
}

/// The operation of a node of an executable graph.
fn exec_step(state: &mut State, executable: Handle, node: Handle) -> Answer<&mut Operation> {
    let steps = &mut state.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?.steps;
    steps.iter_mut().find(|step| step.0 == node).map(|step| &mut step.2).ok_or(Code::INVALID_VALUE)
}

/// Replaces the operation of a node of an executable graph by one of the same type.
fn exec_set(state: &mut State, executable: Handle, node: Handle, operation: Operation) -> Answer {
    let step = exec_step(state, executable, node)?;
    if std::mem::discriminant(step) != std::mem::discriminant(&operation) {
        return Err(Code::INVALID_VALUE);
    }
    *step = operation;
    Ok(())
}

/// Lists the steps of a graph with those of its child graphs; what accesses memory has its position.
fn place<'a>(
    steps: impl Iterator<Item = &'a Operation>,
    order: Option<&Arc<Order>>,
    outer: &Position,
    placed: &mut Vec<Operation>,
) {
    for (at, step) in steps.enumerate() {
        let mut position = outer.clone();
        position.0.extend(order.map(|order| (order.clone(), at)));
        match step {
            Operation::Steps(inner) => place(inner.iter(), None, &position, placed),
            Operation::Child(inner, order) => place(inner.iter(), Some(order), &position, placed),
            Operation::Node(inner, operation) => {
                position.0.extend(inner.0.iter().cloned());
                placed.push(Operation::Node(Arc::new(position), operation.clone()));
            }
            Operation::Launch(_)
            | Operation::Copy(_)
            | Operation::Write(..)
            | Operation::Set(_)
            | Operation::Ended { .. } => {
                placed.push(Operation::Node(Arc::new(position), Box::new(step.clone())));
            }
            other => placed.push(other.clone()),
        }
    }
}

/// Enqueues the steps of a graph, after the events that they wait for.
fn launch_steps(state: &mut State, stream: Handle, steps: Vec<Operation>) -> Answer {
    let (mut waited, mut recorded) = (Vec::new(), Vec::new());
    events(&steps, &mut waited, &mut recorded);
    let known = |event: &Handle| state.events.get(event).and_then(|event| Some((event.token?, event.clock.clone())));
    let (after, clocks): (Vec<Token>, Vec<Clock>) = waited.iter().filter_map(known).unzip();
    clocks.iter().for_each(|clock| state.stream_follows(stream, clock));
    state.enqueue_after(stream, Operation::Steps(steps), after)?;
    let is_captured = state.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
    if !is_captured {
        recorded.into_iter().for_each(|event| state.recorded(event, stream));
    }
    Ok(())
}

/// Lists the events that steps wait for, and those that they record.
fn events(steps: &[Operation], waited: &mut Vec<Handle>, recorded: &mut Vec<Handle>) {
    for step in steps {
        match step {
            // A record before it in the same graph comes first anyway.
            Operation::Wait { event } if !recorded.contains(event) => waited.push(*event),
            Operation::Record { event } => recorded.push(*event),
            Operation::Steps(inner) | Operation::Child(inner, _) => events(inner, waited, recorded),
            _ => {}
        }
    }
}

/// Checks the flags of an executable graph. None changes how it runs here: memory of a graph is freed by its nodes.
fn valid(flags: u64) -> Answer {
    let is_both = flags & (AUTO_FREE | FOR_DEVICE) == AUTO_FREE | FOR_DEVICE;
    if flags & !FLAGS != 0 || is_both { Err(Code::INVALID_VALUE) } else { Ok(()) }
}

unsafe fn instantiate(place: *mut Handle, graph: Handle) -> Answer {
    let make = || {
        let mut state = state()?;
        let new = state.executable(graph)?;
        let executable = state.handle();
        state.executables.insert(executable, new);
        Ok(executable)
    };
    // SAFETY: the caller's pointer.
    unsafe { put_made(place, make) }
}

/// Takes over the operations of another graph of the same shape.
fn update(executable: Handle, graph: Handle) -> Answer<u32> {
    let mut state = state()?;
    let Executable { steps, order, memory, objects } = state.executable(graph)?;
    let known = state.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?;
    let is_same = known.order.after == order.after && known.steps.iter().zip(&steps).all(|(old, new)| old.1 == new.1);
    if !is_same {
        return Ok(TOPOLOGY);
    }
    // The nodes keep the handles of the graph that was instantiated.
    known.steps.iter_mut().zip(steps).for_each(|(old, new)| old.2 = new.2);
    known.objects = objects;
    let old = std::mem::replace(&mut known.memory, memory);
    state.release(old);
    Ok(UPDATED)
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
