//! Streams, and functions of the host in them.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_if};
use crate::model::{Capture, Graph, Handle, Operation, Set, Stream};
use crate::state::{State, state, wait_for};

/// Modes of a capture: global, thread-local, relaxed.
const MODES: u32 = 3;

api! {
    cuStreamCreate(stream: *mut Handle, flags: u32) { create(stream, flags, 0) }

    cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
        create(stream, flags, priority.clamp(-5, 0))
    }

    cuStreamDestroy_v2(stream: Handle) {
        let mut state = state()?;
        let known = state.streams.get_mut(&stream).filter(|known| !known.destroyed).ok_or(Code::INVALID_HANDLE)?;
        known.destroyed = true;
        if known.done == known.issued {
            state.streams.remove(&stream);
        }
        Ok(())
    }

    cuStreamSynchronize(stream: Handle) or cuStreamSynchronize_ptsz {
        let mut guard = state()?;
        let stream = guard.stream(stream)?;
        refuse_in_capture(&guard, stream)?;
        wait_for(guard, stream).outcome(stream)
    }

    cuStreamQuery(stream: Handle) or cuStreamQuery_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        refuse_in_capture(&state, stream)?;
        state.check_stream(stream)?;
        if !state.has_ended(state.last(stream)) {
            return Err(Code::NOT_READY);
        }
        let clock = state.clock_of(stream);
        state.host_follows(&clock);
        Ok(())
    }

    cuStreamGetPriority(stream: Handle, priority: *mut i32) or cuStreamGetPriority_ptsz {
        put(priority, of_stream(stream, |stream| stream.priority)?)
    }

    cuStreamGetFlags(stream: Handle, flags: *mut u32) or cuStreamGetFlags_ptsz {
        put(flags, of_stream(stream, |stream| stream.flags)?)
    }

    cuStreamGetId(stream: Handle, id: *mut u64) or cuStreamGetId_ptsz {
        let stream = state()?.stream(stream)?;
        put(id, stream as u64)
    }

    cuStreamGetCtx(stream: Handle, context: *mut Handle) or cuStreamGetCtx_ptsz {
        put(context, of_stream(stream, |stream| stream.context)?)
    }

    cuStreamGetDevice(stream: Handle, device: *mut i32) or cuStreamGetDevice_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let context = state.streams.get(&stream).map_or(0, |stream| stream.context);
        put(device, state.contexts.get(&context).map_or(0, |context| context.device as i32))
    }

    cuStreamAddCallback(stream: Handle, function: usize, data: usize, flags: u32) or cuStreamAddCallback_ptsz {
        if flags != 0 || function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = state()?;
        let enqueued = state.stream(stream)?;
        refuse_in_capture(&state, enqueued)?;
        state.enqueue(enqueued, Operation::Callback { function, stream, data })
    }

    cuLaunchHostFunc(stream: Handle, function: usize, data: usize) or cuLaunchHostFunc_ptsz {
        if function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = state()?;
        let stream = state.stream(stream)?;
        state.enqueue(stream, Operation::Host { function, data })
    }

    cuStreamAttachMemAsync(stream: Handle, address: u64, _bytes: usize, flags: u32) or cuStreamAttachMemAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        if state.block_at(address).is_none() || !matches!(flags, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        // The host sees managed memory at any time here, whatever it is attached to.
        state.enqueue(stream, Operation::Empty)
    }

    cuStreamCopyAttributes(to: Handle, from: Handle) or cuStreamCopyAttributes_ptsz {
        let mut state = state()?;
        state.stream(to)?;
        state.stream(from).map(|_| ())
    }

    cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, _flags: u32) or cuStreamWriteValue32_v2_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        state.enqueue(stream, Operation::Set(Set { address, pitch: 0, value, bytes: 4, width: 1, height: 1 }))
    }

    cuStreamBeginCapture_v2(stream: Handle, mode: u32) or cuStreamBeginCapture_v2_ptsz { begin(stream, mode) }

    cuStreamEndCapture(stream: Handle, graph: *mut Handle) or cuStreamEndCapture_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let capture = state.streams.get(&stream).and_then(|stream| stream.capture.clone()).ok_or(Code::ILLEGAL_STATE)?;
        if !capture.origin {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        // Every stream that was drawn in must have been joined: its last nodes come before one of the origin.
        let others: Vec<Vec<Handle>> = state
            .streams
            .values()
            .filter_map(|other| other.capture.as_ref().filter(|other| other.graph == capture.graph && !other.origin))
            .map(|other| other.after.clone())
            .collect();
        let joined = others.iter().flatten().all(|node| is_before(&state, *node, &capture.after));
        // What an event stands for ends with the capture; it cannot be waited for until it is recorded again.
        for captured in state.events.values_mut().filter_map(|event| event.captured.as_mut()) {
            if captured.0 == capture.graph {
                captured.1.clear();
            }
        }
        for other in state.streams.values_mut() {
            other.capture = other.capture.take().filter(|other| other.graph != capture.graph);
        }
        if !joined {
            put_if(graph, 0);
            state.remove_graph(capture.graph)?;
            return Err(Code::STREAM_CAPTURE_UNJOINED);
        }
        put(graph, capture.graph)
    }

    cuStreamIsCapturing(stream: Handle, status: *mut u32) or cuStreamIsCapturing_ptsz {
        put(status, of_stream(stream, |stream| u32::from(stream.capture.is_some()))?)
    }

    cuStreamGetCaptureInfo_v2(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, after: *mut *const Handle,
        count: *mut usize,
    ) or cuStreamGetCaptureInfo_v2_ptsz {
        capture_info(stream, status, id, graph, (after, std::ptr::null_mut(), count))
    }

    cuStreamGetCaptureInfo_v3(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, after: *mut *const Handle,
        edges: *mut *const u8, count: *mut usize,
    ) or cuStreamGetCaptureInfo_v3_ptsz {
        capture_info(stream, status, id, graph, (after, edges, count))
    }

    cuStreamUpdateCaptureDependencies(
        stream: Handle, nodes: *const Handle, count: usize, flags: u32,
    ) or cuStreamUpdateCaptureDependencies_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let new = (0..count).map(|at| get(nodes.wrapping_add(at))).collect::<Answer<Vec<Handle>>>()?;
        let capture = state.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut());
        let capture = capture.ok_or(Code::ILLEGAL_STATE)?;
        if flags & 1 != 0 { capture.after = new } else { capture.after.extend(new) }
        Ok(())
    }

    cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        // The mode decides which calls of other threads a capture forbids; here they are all allowed.
        thread_local! {
            static MODE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let new = get(mode)?;
        if new >= MODES {
            return Err(Code::INVALID_VALUE);
        }
        put(mode, MODE.replace(new))
    }
}

/// Returns a property of a stream.
fn of_stream<T>(stream: Handle, property: impl FnOnce(&Stream) -> T) -> Answer<T> {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    state.streams.get(&stream).map(property).ok_or(Code::INVALID_HANDLE)
}

unsafe fn create(place: *mut Handle, flags: u32, priority: i32) -> Answer {
    let mut state = state()?;
    let context = state.current()?;
    if flags > 1 {
        return Err(Code::INVALID_VALUE);
    }
    let stream = state.handle();
    state.streams.insert(stream, Stream::new(context, flags, priority));
    // SAFETY: the caller's pointer.
    unsafe { put(place, stream) }
}

fn begin(stream: Handle, mode: u32) -> Answer {
    let mut state = state()?;
    // The default stream cannot be captured.
    if stream < 2 && !crate::entry::per_thread() {
        return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
    }
    let stream = state.stream(stream)?;
    if mode >= MODES {
        return Err(Code::INVALID_VALUE);
    }
    let graph = state.handle();
    let known = state.streams.get_mut(&stream).ok_or(Code::INVALID_HANDLE)?;
    if known.capture.is_some() {
        return Err(Code::ILLEGAL_STATE);
    }
    known.capture = Some(Capture { graph, origin: true, after: Vec::new() });
    state.graphs.insert(graph, Graph::default());
    Ok(())
}

/// Whether a node is one of these, or comes before one of them.
fn is_before(state: &State, node: Handle, last: &[Handle]) -> bool {
    let mut open = last.to_vec();
    let mut seen = std::collections::HashSet::new();
    while let Some(next) = open.pop() {
        if next == node {
            return true;
        }
        if seen.insert(next) {
            open.extend(state.nodes.get(&next).map(|node| node.after.as_slice()).unwrap_or_default());
        }
    }
    false
}

/// Refuses what a capture does not allow.
pub(super) fn refuse_in_capture(state: &State, stream: Handle) -> Answer {
    let captured = state.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
    if captured { Err(Code::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
}

type Dependencies = (*mut *const Handle, *mut *const u8, *mut usize);

unsafe fn capture_info(
    stream: Handle,
    status: *mut u32,
    id: *mut u64,
    graph: *mut Handle,
    (after, edges, count): Dependencies,
) -> Answer {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    let capture = state.streams.get(&stream).and_then(|stream| stream.capture.as_ref());
    // SAFETY: the caller's pointers. The list of nodes is valid until the stream's next call, as documented.
    unsafe {
        put(status, u32::from(capture.is_some()))?;
        if let Some(capture) = capture {
            put_if(id, capture.graph as u64);
            put_if(graph, capture.graph);
            put_if(after, capture.after.as_ptr());
            put_if(edges, std::ptr::null());
            put_if(count, capture.after.len());
        }
    }
    Ok(())
}
