//! Contexts.

use crate::code::{Answer, Code};
use crate::entry::{api, put, put_if, put_made};
use crate::model::{Device, Handle, pop, push, replace, top};
use crate::state::{State, changed, state, wait_until};

/// Version of the API that contexts report.
const API_VERSION: u32 = 3020;

api! {
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32) {
        put_made(context, || {
            let mut state = state()?;
            let primary = primary(&mut state, device)?;
            state.device(device)?.retained += 1;
            Ok(primary)
        })
    }

    cuDevicePrimaryCtxRelease_v2(device: i32) { release(device) }

    cuDevicePrimaryCtxRelease(device: i32) { release(device) }

    cuDevicePrimaryCtxReset_v2(device: i32) { reset(device) }

    cuDevicePrimaryCtxReset(device: i32) { reset(device) }

    cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        set_primary_flags(device, flags)
    }

    cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) {
        set_primary_flags(device, flags)
    }

    cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) {
        let mut state = state()?;
        let device = state.device(device)?;
        put(flags, device.primary_flags)?;
        put(active, i32::from(device.retained > 0))
    }

    cuCtxCreate_v2(context: *mut Handle, flags: u32, device: i32) { create(context, flags, device) }

    cuCtxCreate_v3(context: *mut Handle, _affinity: *const u8, _count: i32, flags: u32, device: i32) {
        create(context, flags, device)
    }

    cuCtxCreate_v4(context: *mut Handle, _parameters: *const u8, flags: u32, device: i32) {
        create(context, flags, device)
    }

    cuCtxDestroy_v2(context: Handle) {
        let guard = state()?;
        let is_primary = guard.devices.iter().any(|device| device.primary == Some(context));
        if is_primary || !guard.contexts.contains_key(&context) {
            return Err(Code::INVALID_CONTEXT);
        }
        idle(guard, context).destroy_context(context);
        if top() == context {
            pop();
        }
        Ok(())
    }

    cuCtxPushCurrent_v2(context: Handle) {
        if !state()?.contexts.contains_key(&context) {
            return Err(Code::INVALID_CONTEXT);
        }
        push(context)
    }

    cuCtxPopCurrent_v2(context: *mut Handle) {
        drop(state()?);
        let popped = pop().ok_or(Code::INVALID_CONTEXT)?;
        put_if(context, popped);
        Ok(())
    }

    cuCtxSetCurrent(context: Handle) {
        if context != 0 && !state()?.contexts.contains_key(&context) {
            return Err(Code::INVALID_CONTEXT);
        }
        replace(context)
    }

    cuCtxGetCurrent(context: *mut Handle) {
        drop(state()?);
        // It stays current when it is destroyed.
        put(context, top())
    }

    cuCtxGetDevice(device: *mut i32) { put_device(device, 0) }

    cuCtxGetDevice_v2(device: *mut i32, context: Handle) { put_device(device, context) }

    cuCtxGetFlags(flags: *mut u32) {
        let state = state()?;
        let context = state.current()?;
        put(flags, state.contexts.get(&context).map_or(0, |context| context.flags))
    }

    cuCtxSetFlags(flags: u32) {
        let mut state = state()?;
        let context = state.current()?;
        state.contexts.get_mut(&context).ok_or(Code::INVALID_CONTEXT)?.flags = flags;
        Ok(())
    }

    cuCtxGetId(context: Handle, id: *mut u64) {
        put(id, given_or_bound(&*state()?, context)? as u64)
    }

    cuCtxSynchronize() { synchronize(0) }

    cuCtxSynchronize_v2(context: Handle) { synchronize(context) }

    cuCtxSetLimit(limit: u32, value: usize) {
        let mut state = state()?;
        let context = state.current()?;
        let limits = &mut state.contexts.get_mut(&context).ok_or(Code::INVALID_CONTEXT)?.limits;
        default_limit(limit)?;
        limits.insert(limit, value);
        Ok(())
    }

    cuCtxGetLimit(value: *mut usize, limit: u32) {
        let state = state()?;
        let context = state.current()?;
        let set = state.contexts.get(&context).and_then(|context| context.limits.get(&limit).copied());
        put(value, set.map_or_else(|| default_limit(limit), Ok)?)
    }

    cuCtxGetCacheConfig(config: *mut u32) { state()?.current()?; put(config, 0) }

    cuCtxSetCacheConfig(_config: u32) { state()?.current().map(|_| ()) }

    cuCtxGetSharedMemConfig(config: *mut u32) { state()?.current()?; put(config, 1) }

    cuCtxSetSharedMemConfig(_config: u32) { state()?.current().map(|_| ()) }

    cuCtxResetPersistingL2Cache() { state()?.current().map(|_| ()) }

    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        state()?.current()?;
        put_if(least, 0);
        put_if(greatest, -5);
        Ok(())
    }

    cuCtxGetApiVersion(context: Handle, version: *mut u32) {
        given_or_bound(&*state()?, context)?;
        put(version, API_VERSION)
    }

    cuCtxAttach(context: *mut Handle, flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let context_of_thread = state()?.current()?;
        put(context, context_of_thread)
    }

    cuCtxDetach(context: Handle) {
        if state()?.contexts.contains_key(&context) { Ok(()) } else { Err(Code::INVALID_CONTEXT) }
    }
}

/// Returns a device's primary context, which is created when it is not there.
fn primary(state: &mut State, number: i32) -> Answer<Handle> {
    let device = state.device(number)?;
    let (index, flags, known) = (device.number, device.primary_flags, device.primary);
    let primary = known.unwrap_or_else(|| state.handle());
    state.device(number)?.primary = Some(primary);
    if !state.contexts.contains_key(&primary) {
        state.open_context(primary, index, flags);
    }
    Ok(primary)
}

fn set_primary_flags(device: i32, flags: u32) -> Answer {
    state()?.device(device)?.primary_flags = flags;
    Ok(())
}

fn release(number: i32) -> Answer {
    let mut guard = state()?;
    let device = guard.device(number)?;
    device.retained = device.retained.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
    let Some(primary) = device.primary.filter(|_| device.retained == 0) else { return Ok(()) };
    let mut state = idle(guard, primary);
    // Another thread may have retained it meanwhile.
    if state.device(number)?.retained == 0 {
        state.destroy_context(primary);
    }
    Ok(())
}

/// Waits for a context; 0 is the current one.
fn synchronize(context: Handle) -> Answer {
    let mut guard = state()?;
    let context = if context == 0 { guard.current()? } else { given_or_bound(&guard, context)? };
    guard.refuse_in_captures(context)?;
    let mut state = finish(guard, context);
    state.check(context)?;
    let streams: Vec<Handle> = state.last_of(context).iter().map(|token| token.stream).collect();
    // Every stream's refusal is taken, so that it is returned once.
    streams.into_iter().map(|stream| state.outcome(stream)).fold(Ok(()), Answer::and)
}

fn reset(number: i32) -> Answer {
    let mut guard = state()?;
    let primary = guard.device(number)?.primary;
    let Some(primary) = primary.filter(|primary| guard.contexts.contains_key(primary)) else { return Ok(()) };
    let mut state = idle(guard, primary);
    state.destroy_context(primary);
    // The handle stays valid for those who retained it.
    let Device { number, primary_flags, retained, .. } = *state.device(number)?;
    if retained > 0 {
        state.open_context(primary, number, primary_flags);
    }
    Ok(())
}

/// Returns a context that a call names; 0 is the current one.
fn given_or_bound(state: &State, context: Handle) -> Answer<Handle> {
    match context {
        0 => state.bound(),
        context if state.contexts.contains_key(&context) => Ok(context),
        _ => Err(Code::INVALID_CONTEXT),
    }
}

unsafe fn create(place: *mut Handle, flags: u32, device: i32) -> Answer {
    let make = || {
        let mut state = state()?;
        let device = state.device(device)?.number;
        let context = state.create_context(device, flags);
        // It becomes the current one, if the thread's stack has room for it.
        push(context).inspect_err(|_| state.destroy_context(context))?;
        Ok(context)
    };
    // SAFETY: the caller's pointer.
    unsafe { put_made(place, make) }
}

unsafe fn put_device(place: *mut i32, context: Handle) -> Answer {
    let state = state()?;
    let context = given_or_bound(&state, context)?;
    let device = state.contexts.get(&context).map(|context| context.device).ok_or(Code::INVALID_CONTEXT)?;
    // SAFETY: the caller's pointer.
    unsafe { put(place, device as i32) }
}

/// Waits until a context has no work, also none that other threads enqueue meanwhile.
fn idle(guard: std::sync::MutexGuard<'static, State>, context: Handle) -> std::sync::MutexGuard<'static, State> {
    let is_idle = |state: &State| state.last_of(context).into_iter().all(|token| state.has_ended(token));
    wait_until(guard, is_idle)
}

/// Waits for all work of a context so far; 0 stands for all contexts.
pub(super) fn finish(
    guard: std::sync::MutexGuard<'static, State>,
    context: Handle,
) -> std::sync::MutexGuard<'static, State> {
    let work = guard.last_of(context);
    let mut clocks = guard.clocks_of_gone(context);
    clocks.extend(work.iter().map(|token| guard.clock_of(token.stream)));
    let mut state = wait_until(guard, |state| work.iter().all(|token| state.has_ended(*token)));
    clocks.iter().for_each(|clock| state.host_follows(clock));
    state.report.show_printed();
    changed();
    state
}

/// The values of a new context: stack, printf buffer, heap, depth and pending launches of the device runtime, L2 fetch
/// granularity, persisting L2, and those of later versions.
fn default_limit(limit: u32) -> Answer<usize> {
    match limit {
        0 => Ok(1024),
        1 => Ok(1 << 20),
        2 => Ok(8 << 20),
        3 => Ok(2),
        4 => Ok(2048),
        5 => Ok(128),
        6..=8 => Ok(0),
        _ => Err(Code::UNSUPPORTED_LIMIT),
    }
}
