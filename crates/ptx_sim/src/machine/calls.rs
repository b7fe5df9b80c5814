//! Calls of device functions: frames, parameters in the threads' local memory, returns.

use super::frame::Frame;
use super::position::At;
use super::step::Step;
use super::warp::{NO_JOIN, Split, State, Warp};
use super::worker::Worker;
use super::{afford, externs, presets};
use crate::lanes;
use crate::memory::address;
use crate::observe::{Copies, Observer, Shadow};
use crate::program::{Callee, FrameCopy, Kind, Op, Param};
use crate::registers::LANES;
use crate::stop::Stop;

/// Limit on the call depth, for functions that use no stack.
const MAX_DEPTH: u32 = 4096;

/// Executes a call for the lanes of `split`. Functions that the machine implements run at once; others get a frame
/// each, and the lanes reconverge after the call.
///
/// # Errors
/// A stop if the callee is not a function, or the stack is exhausted.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, split: Split) -> Result<Option<Split>, Stop> {
    let program = step.context().program;
    let At { site, .. } = step.at;
    let Op::Call { callee, params, returns } = &program.functions[site.function as usize].code[site.pc as usize].op
    else {
        return Ok(None);
    };
    let after = Split { pc: split.pc + 1, ..split };
    let groups = targets(step, &split, callee)?;
    let join = step.warp.open_join(split.frame, after.pc, split.join, split.mask);
    for (target, mask) in groups {
        let function = &program.functions[target as usize];
        if function.kind == Kind::Extern {
            externs::execute(&mut step.only(mask), &function.name, params, returns)?;
            step.warp.arrive(join, mask);
            continue;
        }
        let caller = &step.warp.frames[split.frame as usize];
        let (from, depth, added) = (caller.base, caller.depth + 1, caller.added);
        let base = caller.top.next_multiple_of(function.frame_align);
        if depth > MAX_DEPTH || presets::stack_exceeded(step.context(), target, base - added) {
            let limit = step.context().setup.profile.stack_bytes;
            let title = format!("call depth {depth} exceeds the stack of {limit} bytes per thread");
            return Err(step.fault(lanes::first(mask), "stack-overflow", title));
        }
        if !afford::affords_frame(step.worker, step.warp, target, base.saturating_add(function.frame_bytes)) {
            let title = format!("no host memory for call depth {depth}: see `Config::host_bytes`");
            return Err(step.fault(lanes::first(mask), "out-of-memory", title));
        }
        let caller = Some((split.frame, split.pc));
        let frame = Frame { base, lanes: mask, caller, added, depth, ..Frame::default() };
        presets::open_frame(step.worker, step.warp, step.block.id, target, frame, join);
        copy_all(&mut step.warp.local, params, &function.params, mask, |caller, callee| (from + caller, base + callee));
        if O::Shadow::ON {
            let place = |caller, callee| (from + caller, base + callee);
            let copies = Copies { copies: params, params: &function.params, mask };
            step.worker.observer.shadow().copies(&mut step.warp.states, copies, place);
        }
    }
    Ok(None)
}

/// Returns lanes from the function that `split` is in; from a kernel, they exit.
pub fn leave<O: Observer>(worker: &mut Worker<'_, O>, warp: &mut Warp, split: &Split, mask: u32) {
    let program = worker.context.program;
    let frame = &warp.frames[split.frame as usize];
    let Some((caller, call)) = frame.caller else { return exit(worker, warp, split, mask) };
    let (base, function) = (frame.base, &program.functions[frame.function as usize]);
    let to = &warp.frames[caller as usize];
    let (to_base, code) = (to.base, &program.functions[to.function as usize].code);
    if let Some(Op::Call { returns, .. }) = code.get(call as usize).map(|inst| &inst.op) {
        copy_all(&mut warp.local, returns, &function.returns, mask, |caller, callee| (base + callee, to_base + caller));
        if O::Shadow::ON {
            let place = |caller, callee| (base + callee, to_base + caller);
            let copies = Copies { copies: returns, params: &function.returns, mask };
            worker.observer.shadow().copies(&mut warp.states, copies, place);
        }
    }
    let outside = warp.join_outside(split.frame, split.join);
    warp.leave(split.join, outside, mask);
    warp.unwind(split.frame, Some(caller), mask, |frame| worker.pool.keep_registers(frame));
    if outside == NO_JOIN {
        warp.splits.push(Split { frame: caller, pc: call + 1, mask, join: NO_JOIN, state: State::Ready });
    } else {
        warp.arrive(outside, mask);
    }
}

/// Ends lanes: joins and frames no longer wait for them.
pub fn exit<O: Observer>(worker: &mut Worker<'_, O>, warp: &mut Warp, split: &Split, mask: u32) {
    warp.exit(split, mask, |frame| worker.pool.keep_registers(frame));
}

/// Groups the lanes by the function that they call.
fn targets<O: Observer>(step: &Step<'_, '_, O>, split: &Split, callee: &Callee) -> Result<Vec<(u32, u32)>, Stop> {
    let slot = match callee {
        Callee::Direct(function) => return Ok(vec![(*function, split.mask)]),
        Callee::Indirect(slot) => *slot,
    };
    let row = step.warp.frames[split.frame as usize].registers.w64[slot as usize];
    let mut groups = Vec::new();
    let mut rest = split.mask;
    while rest != 0 {
        let lane = lanes::first(rest);
        let known = address::function_at(row[lane]);
        let Some(function) = known.filter(|index| (*index as usize) < step.context().program.functions.len()) else {
            let title = format!("call of {:#x}, which is not a function", row[lane]);
            return Err(step.fault(lane, "bad-call", title));
        };
        let same = lanes::select(rest, |other| row[other] == row[lane]);
        groups.push((function, same));
        rest &= !same;
    }
    Ok(groups)
}

/// Copies parameters or return values. `place(offset in the caller, offset in the callee)` returns source and
/// destination.
fn copy_all(
    local: &mut [[u32; LANES]],
    copies: &[FrameCopy],
    params: &[Param],
    mask: u32,
    place: impl Fn(u64, u64) -> (u64, u64),
) {
    for copy in copies {
        if let Some(param) = params.get(copy.index as usize) {
            let (from, to) = place(copy.caller, param.offset);
            copy_bytes(local, from, to, copy.size.min(param.size), mask);
        }
    }
}

fn copy_bytes(local: &mut [[u32; LANES]], from: u64, to: u64, size: u64, mask: u32) {
    if (from | to | size).is_multiple_of(4) {
        for word in 0..size / 4 {
            let source = local[(from / 4 + word) as usize];
            let destination = &mut local[(to / 4 + word) as usize];
            lanes::each(mask, |lane| destination[lane] = source[lane]);
        }
        return;
    }
    for byte in 0..size {
        lanes::each(mask, |lane| {
            let value = lanes::load_local(local, lane, from + byte, 1);
            lanes::store_local(local, lane, to + byte, 1, value);
        });
    }
}
