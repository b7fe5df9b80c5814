//! Events.

use crate::code::{Answer, Code};
use crate::entry::{api, put, put_made};
use crate::model::{Clock, Event, Handle, Operation};
use crate::state::{State, state, wait_until};

/// Flag of a record or a wait in a capture: a node of the graph does it, for what is outside of the graph.
const EXTERNAL: u32 = 1;

api! {
    cuEventCreate(event: *mut Handle, flags: u32) {
        put_made(event, || {
            let mut state = state()?;
            let context = state.current()?;
            let new = state.handle();
            let clock = Clock::default();
            state.events.insert(new, Event { context, flags, token: None, clock, time: None, captured: None });
            Ok(new)
        })
    }

    cuEventDestroy_v2(event: Handle) { state()?.events.remove(&event).map(|_| ()).ok_or(Code::INVALID_HANDLE) }

    cuEventRecord(event: Handle, stream: Handle) or cuEventRecord_ptsz { record(event, stream, 0) }

    cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) or cuEventRecordWithFlags_ptsz {
        record(event, stream, flags)
    }

    cuEventQuery(event: Handle) {
        let mut state = state()?;
        refuse_captured(&mut state, event)?;
        let event = known(&state, event)?;
        state.check(event.context)?;
        if !event.token.is_none_or(|token| state.has_ended(token)) {
            return Err(Code::NOT_READY);
        }
        let clock = event.clock.clone();
        state.host_follows(&clock);
        Ok(())
    }

    cuEventSynchronize(event: Handle) {
        let mut guard = state()?;
        refuse_captured(&mut guard, event)?;
        let known = known(&guard, event)?;
        let (token, clock, context) = (known.token, known.clock.clone(), known.context);
        let mut state = wait_until(guard, |state| token.is_none_or(|token| state.has_ended(token)));
        state.host_follows(&clock);
        state.report.show_printed();
        state.check(context)?;
        // Why work before the event was refused.
        token.map_or(Ok(()), |token| state.outcome(token.stream))
    }

    cuEventElapsedTime(milliseconds: *mut f32, from: Handle, to: Handle) { elapsed(milliseconds, from, to) }

    cuEventElapsedTime_v2(milliseconds: *mut f32, from: Handle, to: Handle) { elapsed(milliseconds, from, to) }

    cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) or cuStreamWaitEvent_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let known = state.events.get(&event).ok_or(Code::INVALID_HANDLE)?;
        let (token, clock, captured) = (known.token, known.clock.clone(), known.captured.clone());
        let captures = state.streams.get(&stream).is_some_and(|stream| stream.capture.is_some());
        if flags & !EXTERNAL != 0 || flags == EXTERNAL && !captures {
            return Err(Code::INVALID_VALUE);
        }
        if flags == EXTERNAL {
            return state.enqueue(stream, Operation::Wait { event });
        }
        match (captured, token) {
            (Some(captured), _) => state.wait_for_captured(stream, captured),
            (None, _) if captures => Err(state.isolated(stream)),
            (None, Some(token)) => {
                state.stream_follows(stream, &clock);
                state.enqueue_after(stream, Operation::Empty, vec![token])
            }
            (None, None) => Ok(()),
        }
    }
}

/// Returns an event.
fn known(state: &State, event: Handle) -> Answer<&Event> {
    state.events.get(&event).ok_or(Code::INVALID_HANDLE)
}

/// Refuses an event that a capture recorded last: it can be neither waited for nor queried, and the attempt makes the
/// capture invalid.
fn refuse_captured(state: &mut State, event: Handle) -> Answer {
    match known(state, event)?.captured {
        Some((graph, _)) => Err(state.invalidate(graph, Code::CAPTURED_EVENT)),
        None => Ok(()),
    }
}

fn record(event: Handle, stream: Handle, flags: u32) -> Answer {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    let of_stream = state.streams.get(&stream).map(|stream| stream.context);
    if Some(known(&state, event)?.context) != of_stream {
        return Err(Code::INVALID_HANDLE);
    }
    let capture = state.streams.get(&stream).and_then(|stream| stream.capture.clone());
    if flags & !EXTERNAL != 0 || flags == EXTERNAL && capture.is_none() {
        return Err(Code::INVALID_VALUE);
    }
    if flags == EXTERNAL {
        // A node of the graph, which records the event when the graph is launched.
        return state.enqueue(stream, Operation::Record { event });
    }
    if let Some(capture) = capture {
        if capture.is_invalid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        if let Some(event) = state.events.get_mut(&event) {
            event.captured = Some((capture.graph, capture.after));
        }
        return Ok(());
    }
    state.enqueue(stream, Operation::Record { event })?;
    state.recorded(event, stream);
    Ok(())
}

unsafe fn elapsed(milliseconds: *mut f32, from: Handle, to: Handle) -> Answer {
    let mut state = state()?;
    refuse_captured(&mut state, from)?;
    refuse_captured(&mut state, to)?;
    let (from, to) = (known(&state, from)?, known(&state, to)?);
    if !from.is_timed() || !to.is_timed() {
        return Err(Code::INVALID_HANDLE);
    }
    // What follows a fault is not reached, and has no time.
    state.check(from.context)?;
    state.check(to.context)?;
    let (Some(begun), Some(ended)) = (from.token, to.token) else { return Err(Code::INVALID_HANDLE) };
    if !state.has_ended(begun) || !state.has_ended(ended) {
        return Err(Code::NOT_READY);
    }
    let (Some(begun), Some(ended)) = (from.time, to.time) else { return Err(Code::NOT_READY) };
    let seconds = match ended.checked_duration_since(begun) {
        Some(after) => after.as_secs_f64(),
        None => -begun.duration_since(ended).as_secs_f64(),
    };
    // SAFETY: the caller's pointer.
    unsafe { put(milliseconds, (seconds * 1e3) as f32) }
}
