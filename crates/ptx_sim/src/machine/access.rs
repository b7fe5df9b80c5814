//! Check of the alignment and bounds of every lane of an access, before it is reported to the observers and performed.

use super::apart;
use super::faults::BadAccess;
use super::part::{Part, Shape};
use super::premature;
use super::step::Step;
use super::worker::Worker;
use crate::lanes::{self, Spread};
use crate::memory::address;
use crate::observe::{AccessKind, Observer, Peek, Touch};
use crate::program::{Access, Space};
use crate::registers::{LANES, Registers};
use crate::stop::Stop;

/// Checks alignment and bounds of every lane, and then reports the access to the observers; `stored` are the registers
/// and the instruction of a store.
///
/// # Errors
/// A stop if an address is misaligned, out of bounds, or in the wrong state space.
#[inline(always)]
pub fn check<O: Observer>(
    step: &mut Step<'_, '_, O>,
    part: Part<'_>,
    shape: Shape,
    stored: Option<(&Registers, &Access)>,
) -> Result<Spread, Stop> {
    let Part { space, addresses, mask } = part;
    let bytes = u64::from(shape.bytes);
    let spread = Spread::of(addresses, mask);
    let Spread { low, high, bits, .. } = spread;
    let context = step.context();
    let within = bytes.max(1) - 1;
    if bits & within != 0 {
        let wrong = lanes::select(mask, |lane| addresses[lane] & within != 0);
        if wrong != 0 {
            return Err(context.misaligned(bad(step, part, shape, lanes::first(wrong))));
        }
    }
    if space == Space::Shared
        && low < context.gaps_end
        && let Some(lane) = context.in_gap(addresses, mask, bytes)
    {
        return Err(context.bad_shared(bad(step, part, shape, lane)));
    }
    let over = |end: u64| lanes::first(lanes::select(mask, |lane| !fits(addresses[lane], bytes, 0, end)));
    match space {
        Space::Shared if !fits(high, bytes, 0, context.shared_bytes) => {
            return Err(context.bad_shared(bad(step, part, shape, over(context.shared_bytes))));
        }
        Space::Param if !fits(high, bytes, 0, context.param_bytes) => {
            let end = context.param_bytes;
            return Err(context.bad_range(bad(step, part, shape, over(end)), "the parameter block", end));
        }
        Space::Local | Space::Frame => {
            let end = step.warp.frames[step.at.frame as usize].top;
            if low < address::STACK_START || !fits(high, bytes, 0, end) {
                let outside = |lane: usize| !fits(addresses[lane], bytes, address::STACK_START, end);
                let lane = lanes::first(lanes::select(mask, outside));
                return Err(context.bad_range(bad(step, part, shape, lane), "the thread's stack", end));
            }
            if context.apart
                && let Some(lane) = apart::first_between(step, addresses, mask, &spread, bytes)
            {
                return Err(apart::stop(step, bad(step, part, shape, lane)));
            }
        }
        Space::Global | Space::Const | Space::Generic => {
            let constant = space == Space::Const;
            let found = step.worker.snapshot.find_for(step.at.site.pc, low);
            let inside = found.is_some_and(|view| view.constant == constant && view.holds(high, bytes));
            if !inside && let Some(lane) = first_outside(step.worker, addresses, mask, bytes, constant) {
                return Err(context.bad_global(bad(step, part, shape, lane)));
            }
            if constant && shape.kind != AccessKind::Load {
                return Err(context.bad_global(bad(step, part, shape, lanes::first(mask))));
            }
        }
        Space::Shared if step.block.in_flight.marks_words() => premature::check(step, part, shape),
        Space::Shared | Space::Param => {}
    }
    let Step { worker, block, warp, at, .. } = step;
    let touch = Touch {
        site: at.site,
        warp: warp.index,
        mask,
        kind: shape.kind,
        space,
        order: shape.order,
        scope: shape.scope,
        owner: block.ticket,
        bytes: shape.bytes,
        matrix_rows: shape.matrix_rows,
        addresses,
        spread: &spread,
        peek: Peek { shared: &block.shared, snapshot: &worker.snapshot, stored },
    };
    worker.observer.touch(&mut block.observed, &touch);
    Ok(spread)
}

/// Returns the access of one lane, for a report. Inlined, because otherwise part and shape would lie in memory.
#[inline(always)]
fn bad<O: Observer>(step: &Step<'_, '_, O>, part: Part<'_>, shape: Shape, lane: usize) -> BadAccess {
    let Shape { kind, bytes, .. } = shape;
    BadAccess { who: step.who(lane), kind, space: part.space, address: part.addresses[lane], bytes }
}

/// Returns the first lane whose bytes are not in a live allocation, after a refresh of the snapshot.
#[cold]
pub fn first_outside<O: Observer>(
    worker: &mut Worker<'_, O>,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    constant: bool,
) -> Option<usize> {
    let snapshot = &mut worker.snapshot;
    let mut refreshed = false;
    loop {
        let outside = lanes::select(mask, |lane| {
            !snapshot
                .find(addresses[lane])
                .is_some_and(|view| view.constant == constant && view.holds(addresses[lane], bytes))
        });
        if outside == 0 {
            return None;
        }
        if refreshed || !snapshot.refresh(worker.context.memory) {
            return Some(lanes::first(outside));
        }
        refreshed = true;
    }
}

#[inline(always)]
fn fits(address: u64, bytes: u64, start: u64, end: u64) -> bool {
    address >= start && address.checked_add(bytes).is_some_and(|last| last <= end)
}
