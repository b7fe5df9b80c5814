//! Streams, and functions of the host in them.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_if, put_made};
use crate::model::{Capture, Handle, Operation, Set, Stream};
use crate::state::{State, state, wait_for};

/// Modes of a capture: global, thread-local, relaxed.
const MODES: u32 = 3;
const RELAXED: u32 = 2;

api! {
    cuStreamCreate(stream: *mut Handle, flags: u32) { create(stream, flags, 0) }

    cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
        create(stream, flags, priority.clamp(-5, 0))
    }

    cuStreamDestroy_v2(stream: Handle) {
        state()?.destroy_stream(stream)
    }

    cuStreamSynchronize(stream: Handle) or cuStreamSynchronize_ptsz {
        let mut guard = state()?;
        let stream = guard.stream(stream)?;
        guard.refuse_in_capture(stream)?;
        wait_for(guard, stream).outcome(stream)
    }

    cuStreamQuery(stream: Handle) or cuStreamQuery_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        state.refuse_in_capture(stream)?;
        state.check_stream(stream)?;
        if !state.has_ended(state.last(stream)) {
            return Err(Code::NOT_READY);
        }
        let clock = state.clock_of(stream);
        state.host_follows(&clock);
        state.outcome(stream)
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
        state.refuse_in_capture(enqueued)?;
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
        // Without a capture, or in another stream or thread, there is no graph either.
        put(graph, 0)?;
        put(graph, state.end_capture(stream)?)
    }

    cuStreamIsCapturing(stream: Handle, status: *mut u32) or cuStreamIsCapturing_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        put(status, status_of(&state, stream)?)
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
        let capture = state.streams.get(&stream).and_then(|stream| stream.capture.as_ref());
        let Capture { graph, is_invalid, .. } = *capture.ok_or(Code::ILLEGAL_STATE)?;
        if is_invalid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        if flags > 1 || new.iter().any(|node| state.nodes.get(node).is_none_or(|node| node.graph != graph)) {
            return Err(Code::INVALID_VALUE);
        }
        if let Some(capture) = state.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut()) {
            if flags == 1 { capture.after = new } else { capture.after.extend(new) }
        }
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
    let make = || {
        let mut state = state()?;
        let context = state.current()?;
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = state.handle();
        state.streams.insert(stream, Stream::new(context, flags, priority));
        Ok(stream)
    };
    // SAFETY: the caller's pointer.
    unsafe { put_made(place, make) }
}

fn begin(stream: Handle, mode: u32) -> Answer {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    if mode >= MODES {
        return Err(Code::INVALID_VALUE);
    }
    state.begin_capture(stream, mode == RELAXED)
}

/// The status of a stream's capture: none, active, or invalid.
///
/// # Errors
/// `STREAM_CAPTURE_IMPLICIT` for the default stream while a stream that it waits for is captured.
fn status_of(state: &State, stream: Handle) -> Answer<u32> {
    if !state.implicit(stream).is_empty() {
        return Err(Code::STREAM_CAPTURE_IMPLICIT);
    }
    let capture = state.streams.get(&stream).and_then(|stream| stream.capture.as_ref());
    Ok(capture.map_or(0, |capture| if capture.is_invalid { 2 } else { 1 }))
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
    let known = status_of(&state, stream)?;
    let capture = state.streams.get(&stream).and_then(|stream| stream.capture.as_ref());
    // SAFETY: the caller's pointers. The list of nodes is valid until the stream's next call, as documented.
    unsafe {
        put(status, known)?;
        // As documented, of an active capture only.
        if let Some(capture) = capture.filter(|capture| !capture.is_invalid) {
            put_if(id, capture.graph as u64);
            put_if(graph, capture.graph);
            put_if(after, capture.after.as_ptr());
            put_if(edges, std::ptr::null());
            put_if(count, capture.after.len());
        }
    }
    Ok(())
}
