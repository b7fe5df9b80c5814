//! `atom` and `red`: lanes are processed one after the other, each with the host's own atomics, so that other workers
//! never see partly written values.

use super::access::check;
use super::cluster;
use super::part::{Part, Shape, addresses, in_each_space};
use super::step::Step;
use crate::lanes::{self, each};
use crate::memory::address;
use crate::observe::{AccessKind, Lanes, Observer, Shadow};
use crate::program::{Atomic, Space};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop::Stop;

/// Executes an atomic, with the lanes in ascending order.
///
/// # Errors
/// A stop if an address faults, or the state space does not allow atomics.
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    atomic: &Atomic,
) -> Result<(), Stop> {
    let addresses = addresses(registers, &atomic.address);
    let (order, scope) = (atomic.order, atomic.scope);
    let shape = Shape { kind: AccessKind::Atomic, order, scope, bytes: u32::from(atomic.bytes), matrix_rows: false };
    let kept = atomic.destination.filter(|&slot| slot != NO_SLOT);
    let operand = |registers: &Registers, slot: u32, lane: usize| match atomic.wide {
        true => registers.w64[slot as usize][lane],
        false => u64::from(registers.w32[slot as usize][lane]),
    };
    // An atomic without effect is typical of a thread that tries to take a lock held by another thread.
    let mut changed = false;
    let mut old = [0; LANES];
    for (space, mask, addresses) in in_each_space(atomic.space, &addresses, step.mask) {
        let part = Part { space, addresses: &addresses, mask };
        if space == Space::Shared && step.context().clusters {
            let operands = |registers: &Registers, lane: usize| {
                (operand(registers, atomic.b, lane), operand(registers, atomic.c, lane))
            };
            changed |= cluster::atomic(step, registers, atomic, operands, part, &mut old)?;
            continue;
        }
        let spread = check(step, part, shape, None)?;
        if O::Shadow::ON {
            let lanes = Lanes { space, addresses: &addresses, mask, spread };
            let (shadow, mut scene) = step.shadow();
            shadow.atomic(&mut scene, registers, atomic, lanes);
        }
        let shared = step.block.shared.as_mut_slice();
        match space {
            Space::Shared if atomic.bytes == 4 && !atomic.wide => {
                let [b, c] = [atomic.b, atomic.c].map(|slot| &registers.w32[slot as usize]);
                each(mask, |lane| {
                    let word = &mut shared[(addresses[lane] >> 2) as usize];
                    old[lane] = u64::from(*word);
                    let new = (atomic.combine)(old[lane], u64::from(b[lane]), u64::from(c[lane]));
                    *word = new as u32;
                    changed |= new != old[lane];
                });
            }
            Space::Shared => each(mask, |lane| {
                let (b, c) = (operand(registers, atomic.b, lane), operand(registers, atomic.c, lane));
                old[lane] = lanes::load_words(shared, addresses[lane], atomic.bytes);
                let new = (atomic.combine)(old[lane], b, c);
                lanes::store_words(shared, addresses[lane], atomic.bytes, new);
                changed |= new != old[lane];
            }),
            Space::Global => each(mask, |lane| {
                let (b, c) = (operand(registers, atomic.b, lane), operand(registers, atomic.c, lane));
                if let Some(view) = step.worker.snapshot.find(addresses[lane]) {
                    let offset = addresses[lane] - view.base;
                    let mut new = 0;
                    old[lane] = view.storage.update(offset, atomic.bytes, |old| {
                        new = (atomic.combine)(old, b, c);
                        new
                    });
                    changed |= new != old[lane];
                }
            }),
            _ => {
                let title = format!("atomic on {} memory", address::name(space));
                return Err(step.fault(lanes::first(mask), "wrong-space", title));
            }
        }
    }
    step.warp.polled |= !changed;
    step.warp.wrote |= changed;
    if let Some(slot) = kept {
        match atomic.wide {
            true => each(step.mask, |lane| registers.w64[slot as usize][lane] = old[lane]),
            false => each(step.mask, |lane| registers.w32[slot as usize][lane] = old[lane] as u32),
        }
    }
    Ok(())
}

/// Executes `atom.v2` and similar: results are written after all elements are done, because a destination may be a
/// source too.
///
/// # Errors
/// A stop if an address faults, or the state space does not allow atomics.
#[inline(never)]
pub fn execute_vector<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    parts: &[Atomic],
) -> Result<(), Stop> {
    let mut results = Vec::with_capacity(parts.len());
    for part in parts {
        let kept = part.destination.filter(|&slot| slot != NO_SLOT);
        let before = kept.map(|slot| registers.w32[slot as usize]);
        execute(step, registers, part)?;
        if let (Some(slot), Some(before)) = (kept, before) {
            results.push((slot, std::mem::replace(&mut registers.w32[slot as usize], before)));
        }
    }
    for (slot, row) in results {
        each(step.mask, |lane| registers.w32[slot as usize][lane] = row[lane]);
    }
    Ok(())
}
