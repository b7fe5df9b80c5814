//! `atom.b128`. The host has no atomics of 16 bytes, so a lock makes those of different workers exclude each other.

use std::sync::{Mutex, PoisonError};

use super::access::check;
use super::cluster::in_each_block;
use super::part::{Part, Shape, addresses, in_each_space};
use super::step::Step;
use crate::isa::memory::combine_wide;
use crate::lanes::{self, Spread, each, load_words, store_words};
use crate::memory::address;
use crate::observe::{AccessKind, Lanes, Observer, Shadow};
use crate::program::{Atomic, Space};
use crate::registers::{LANES, NO_SLOT, Registers, Slot};
use crate::stop::Stop;

/// Held while device memory is read and written.
static EXCLUSIVE: Mutex<()> = Mutex::new(());

/// Executes an atomic of 16 bytes, given its lower and upper half, with the lanes in ascending order.
///
/// # Errors
/// A stop if an address faults, or the state space does not allow atomics.
#[inline(never)]
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    halves: &[Atomic; 2],
) -> Result<(), Stop> {
    let [low, high] = halves;
    let addresses = addresses(registers, &low.address);
    let shape = Shape { kind: AccessKind::Atomic, order: low.order, scope: low.scope, bytes: 16, matrix_rows: false };
    let operand = |registers: &Registers, slots: [Slot; 2], lane: usize| {
        slots.iter().rev().fold(0, |value, &slot| value << 64 | u128::from(registers.w64[slot as usize][lane]))
    };
    let new = |registers: &Registers, lane: usize, old: u128| {
        let (b, c) = (operand(registers, [low.b, high.b], lane), operand(registers, [low.c, high.c], lane));
        combine_wide(low.operation, old, b, c)
    };
    let mut changed = false;
    let mut old = [0; LANES];
    for (space, mask, addresses) in in_each_space(low.space, &addresses, step.mask) {
        let part = Part { space, addresses: &addresses, mask };
        if space == Space::Shared && step.context().clusters {
            in_each_block(step, part, shape, None, |step, here| {
                shadows(step, registers, halves, &here);
                each(here.mask, |lane| {
                    let (value, at) = (&mut old[lane], here.addresses[lane]);
                    changed |= update_shared(&mut step.block.shared, at, value, |old| new(registers, lane, old));
                });
            })?;
            continue;
        }
        let spread = check(step, part, shape, None)?;
        shadows(step, registers, halves, &Lanes { space, addresses: &addresses, mask, spread });
        match space {
            Space::Shared => each(mask, |lane| {
                let (value, at) = (&mut old[lane], addresses[lane]);
                changed |= update_shared(&mut step.block.shared, at, value, |old| new(registers, lane, old));
            }),
            Space::Global => {
                let _exclusive = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
                each(mask, |lane| {
                    let Some(view) = step.worker.snapshot.find(addresses[lane]) else { return };
                    let offset = addresses[lane] - view.base;
                    old[lane] = joined(view.storage.load(offset, 8), view.storage.load(offset + 8, 8));
                    let new = new(registers, lane, old[lane]);
                    view.storage.store(offset, 8, new as u64);
                    view.storage.store(offset + 8, 8, (new >> 64) as u64);
                    changed |= new != old[lane];
                });
            }
            _ => {
                let title = format!("atomic on {} memory", address::name(space));
                return Err(step.fault(lanes::first(mask), "wrong-space", title));
            }
        }
    }
    step.warp.polled |= !changed;
    step.warp.wrote |= changed;
    for (half, shift) in [(low, 0), (high, 64)] {
        if let Some(slot) = half.destination.filter(|&slot| slot != NO_SLOT) {
            each(step.mask, |lane| registers.w64[slot as usize][lane] = (old[lane] >> shift) as u64);
        }
    }
    Ok(())
}

fn joined(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// Replaces 16 bytes of shared memory; returns whether they changed.
fn update_shared(shared: &mut [u32], at: u64, old: &mut u128, new: impl Fn(u128) -> u128) -> bool {
    *old = joined(load_words(shared, at, 8), load_words(shared, at + 8, 8));
    let new = new(*old);
    store_words(shared, at, 8, new as u64);
    store_words(shared, at + 8, 8, (new >> 64) as u64);
    new != *old
}

/// Propagates undefined values through each half.
fn shadows<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    halves: &[Atomic; 2],
    lanes: &Lanes<'_>,
) {
    if !O::Shadow::ON {
        return;
    }
    for (half, distance) in halves.iter().zip([0, 8]) {
        let mut addresses = *lanes.addresses;
        each(lanes.mask, |lane| addresses[lane] += distance);
        let spread = Spread::of(&addresses, lanes.mask);
        let lanes = Lanes { space: lanes.space, addresses: &addresses, mask: lanes.mask, spread };
        let (shadow, mut scene) = step.shadow();
        shadow.atomic(&mut scene, registers, half, lanes);
    }
}
