//! Instructions on mbarriers.

use super::block::{Block, peers};
use super::in_flight::Waiting;
use super::key::Key;
use super::mbarrier::{Mbarrier, Misuse, parity_of};
use super::mbarrier_objects::{change, locate, misused, shared_name};
use super::part::{Part, Shape, addresses};
use super::position::Who;
use super::step::Step;
use super::worker::Worker;
use super::{access, completion};
use crate::lanes::{self, lanes_of};
use crate::observe::{AccessKind, Observer};
use crate::program::{Address, Mbarrier as Kind, Order, Scope, Space};
use crate::registers::{LANES, NO_SLOT, Slot};
use crate::stop::{Diagnostic, Place, Stop};

/// The operands of `test_wait` and `try_wait`.
#[derive(Clone, Copy)]
struct Tested {
    destination: Slot,
    phase: Slot,
    /// Whether the phase is given by its parity, and not by a state.
    parity: bool,
}

/// Executes `mbarrier.*` for each lane.
///
/// # Errors
/// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    kind: &Kind,
    (space, address): (Space, Address),
    scope: Option<Scope>,
) -> Result<(), Stop> {
    let places = addresses(step.registers(), &address);
    let mut keys = [Key { block: step.block.ticket, offset: 0 }; LANES];
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
        keys[lane] = locate(step.worker, step.block, who, space, places[lane])?;
    }
    // The observers see an access to the block's own memory: an ordinary one at the start and end of the object's
    // lifetime, otherwise an atomic one.
    let own = lanes::select(step.mask, |lane| keys[lane].block == step.block.ticket);
    let access = match kind {
        Kind::Init(_) | Kind::Invalidate => (AccessKind::Store, Order::Weak),
        Kind::Test { .. } => (AccessKind::Load, Order::Relaxed),
        _ => (AccessKind::Atomic, Order::Relaxed),
    };
    if own != 0 {
        let shape = Shape { kind: access.0, order: access.1, scope: Scope::Cta, bytes: 8, matrix_rows: false };
        let offsets = keys.map(|key| key.offset);
        access::check(step, Part { space: Space::Shared, addresses: &offsets, mask: own }, shape, None)?;
    }
    if let Kind::Test { destination, phase, parity } = *kind {
        return test(step, &keys, Tested { destination, phase, parity }, scope);
    }
    step.warp.wrote = true;
    for lane in lanes_of(step.mask) {
        let (key, who) = (keys[lane], step.who(lane));
        let row = |step: &mut Step<'_, '_, O>, slot: Slot| step.registers().w32[slot as usize][lane];
        match *kind {
            Kind::Init(count) => {
                let count = row(step, count);
                init(step.worker, step.block, key, who, count)?;
            }
            Kind::Invalidate => invalidate(step.worker, step.block, key, who)?,
            Kind::ExpectBytes(bytes) => {
                let bytes = i64::from(row(step, bytes));
                change(step.worker, step.block, key, who, |found| found.expect(bytes))?;
            }
            Kind::CompleteBytes(bytes) => {
                let bytes = i64::from(row(step, bytes));
                change(step.worker, step.block, key, who, |found| found.expect(-bytes))?;
            }
            Kind::Arrive { state, count, bytes, drop, no_complete } => {
                let count = count.map_or(1, |slot| row(step, slot));
                let bytes = bytes.map_or(0, |slot| i64::from(row(step, slot)));
                if let Some(scope) = scope {
                    let phase = change(step.worker, step.block, key, who, |found| Ok(found.phase()))?;
                    step.release(1 << lane, key.variable(phase), scope);
                }
                let before = change(step.worker, step.block, key, who, |found| {
                    let before = found.bits();
                    // The bytes are added first, so that bytes which arrived early do not complete the phase before
                    // the arrival.
                    found.expect(bytes)?;
                    if no_complete && count >= found.pending() {
                        let what = format!("receives the last arrival of its phase with `noComplete`: {found}");
                        return Err(Misuse { code: "mbarrier-complete", what });
                    }
                    found.arrive(count, drop)?;
                    Ok(before)
                })?;
                if state != NO_SLOT {
                    step.registers().w64[state as usize][lane] = before;
                }
            }
            Kind::Test { .. } => {}
        }
    }
    Ok(())
}

/// `test_wait` and `try_wait`: in an incomplete phase, the copies that signal the mbarrier complete first, so that
/// a test fails only if the phase waits for a thread.
fn test<O: Observer>(
    step: &mut Step<'_, '_, O>,
    keys: &[Key; LANES],
    tested: Tested,
    scope: Option<Scope>,
) -> Result<(), Stop> {
    let Tested { destination, phase, parity } = tested;
    let mut passed = 0;
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
        let frame = step.registers();
        let wanted = match parity {
            true => frame.w32[phase as usize][lane] & 1 != 0,
            false => parity_of(frame.w64[phase as usize][lane]),
        };
        let key = keys[lane];
        // Returns the number of complete phases if the requested phase is complete.
        let test = |found: &mut Mbarrier| Ok(found.passed(wanted).then_some(found.phase()));
        let mut done = change(step.worker, step.block, key, who, test)?;
        if done.is_none() {
            completion::complete_signalling(step.worker, step.block, key)?;
            done = change(step.worker, step.block, key, who, test)?;
        }
        passed |= u32::from(done.is_some()) << lane;
        if let (Some(scope), Some(last)) = (scope, done.and_then(|phases| phases.checked_sub(1))) {
            step.acquire(1 << lane, key.variable(last), scope);
        }
    }
    let mask = step.mask;
    if destination != NO_SLOT {
        let row = &mut step.registers().pred[destination as usize];
        *row = *row & !mask | passed;
    }
    let failed = mask & !passed;
    if failed == 0 {
        step.block.in_flight.waits.remove(&step.warp.index);
    } else {
        let mbarrier = keys[lanes::first(failed)];
        step.block.in_flight.waits.insert(step.warp.index, Waiting { lanes: failed, site: step.at.site, mbarrier });
        step.warp.polled = true;
        step.worker.pause = true;
    }
    Ok(())
}

fn init<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    key: Key,
    who: Who,
    count: u32,
) -> Result<(), Stop> {
    if let Some(earlier) = block.in_flight.mbarriers.get(&key.offset).map(|found| found.site) {
        let place = Place::of(worker.context.program, earlier.function, earlier.pc);
        let name = shared_name(worker, key);
        worker.finding(who, "mbarrier-again", || {
            let title = format!("an mbarrier is initialised again without `mbarrier.inval`, {name}");
            let mut diagnostic = Diagnostic::new("mbarrier-again", title);
            diagnostic.related.push(("initialised before here:".to_owned(), place));
            diagnostic.help = Some("invalidate the old mbarrier with `mbarrier.inval` first".to_owned());
            diagnostic
        });
    }
    let made = Mbarrier::new(count, who.site).map_err(|misuse| misused(worker, key, who, misuse, None))?;
    lanes::store_words(&mut block.shared, key.offset, 8, made.bits());
    block.states.writes_shared(key.offset, 8);
    block.in_flight.mbarriers.insert(key.offset, made);
    Ok(())
}

fn invalidate<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    key: Key,
    who: Who,
) -> Result<(), Stop> {
    if block.in_flight.signals(key) || peers(&worker.resident, block.cluster).any(|peer| peer.in_flight.signals(key)) {
        let what = "is invalidated while copies that signal it are in flight".to_owned();
        return Err(misused(worker, key, who, Misuse { code: "mbarrier-in-use", what }, None));
    }
    change(worker, block, key, who, |_| Ok(()))?;
    block.in_flight.mbarriers.remove(&key.offset);
    Ok(())
}
