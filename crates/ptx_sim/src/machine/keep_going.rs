//! Runs that go on after a fault of one lane's access to memory: the fault becomes a finding, the lane takes no part in
//! the access, and a load or an atomic gives it zeros.
//!
//! All other faults end the launch, and so do those of vectors of atomics, textures, matrices and asynchronous copies,
//! of launches whose blocks address each other's shared memory, and of atomics whose lanes address different spaces.

use super::atomics;
use super::part::{addresses, in_each_space};
use super::step::Step;
use crate::isa::File;
use crate::observe::Observer;
use crate::program::{Access, Atomic};
use crate::registers::{NO_SLOT, Registers, Slot};
use crate::stop::Stop;

/// Codes of faults of one lane's access.
const CODES: [&str; 6] = ["out-of-bounds", "null-pointer", "use-after-free", "misaligned", "wrong-space", "read-only"];

impl<O: Observer> Step<'_, '_, O> {
    /// Called when a load stops. Returns the lane that does not take part in it, as a mask.
    ///
    /// # Errors
    /// The stop itself, unless the run goes on after it.
    #[cold]
    #[inline(never)]
    pub fn load_without(&mut self, stop: Stop, registers: &mut Registers, access: &Access) -> Result<u32, Stop> {
        let lane = self.without(stop, "the load gives 0 to this thread")?;
        for &slot in access.registers.iter().filter(|slot| **slot != NO_SLOT) {
            for row in 0..u32::from(access.bytes).div_ceil(8) {
                clear(registers, access.wide, slot + row, lane);
            }
        }
        Ok(lane)
    }

    /// Called when a store stops. Returns the lane that does not take part in it, as a mask.
    ///
    /// # Errors
    /// The stop itself, unless the run goes on after it.
    #[cold]
    #[inline(never)]
    pub fn store_without(&mut self, stop: Stop) -> Result<u32, Stop> {
        self.without(stop, "the store of this thread has no effect")
    }

    fn without(&mut self, stop: Stop, effect: &str) -> Result<u32, Stop> {
        let context = self.context();
        let goes_on = context.setup.keep_going && !context.clusters && CODES.contains(&stop.code());
        let Some(lane) = stop.lane().filter(|_| goes_on) else { return Err(stop) };
        let (who, code) = (self.who(lane), stop.code());
        let (warp, frame) = (&*self.warp, self.at.frame);
        self.worker.finding(who, code, || {
            let mut diagnostic = context.with_callers(stop, warp, frame).diagnostic().clone();
            diagnostic.notes.push(format!("the run went on: {effect}"));
            diagnostic
        });
        Ok(1 << lane)
    }
}

/// Executes an atomic, without the lanes whose accesses are faulty if the run goes on after them.
///
/// # Errors
/// A stop if an address faults, or the state space does not allow atomics.
#[inline(always)]
pub fn atomic<O: Observer>(step: &mut Step<'_, '_, O>, registers: &mut Registers, atomic: &Atomic) -> Result<(), Stop> {
    match atomics::execute(step, registers, atomic) {
        Ok(()) => Ok(()),
        Err(stop) => atomic_without(step, registers, atomic, stop),
    }
}

#[cold]
#[inline(never)]
fn atomic_without<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    atomic: &Atomic,
    mut stop: Stop,
) -> Result<(), Stop> {
    // The lanes of the spaces before this one have done their part.
    if in_each_space(atomic.space, &addresses(registers, &atomic.address), step.mask).count() != 1 {
        return Err(stop);
    }
    loop {
        let lane = step.without(stop, "the atomic of this thread has no effect and gives 0")?;
        if let Some(slot) = atomic.destination.filter(|slot| *slot != NO_SLOT) {
            clear(registers, atomic.wide, slot, lane);
        }
        step.mask &= !lane;
        if step.mask == 0 {
            return Ok(());
        }
        match atomics::execute(step, registers, atomic) {
            Ok(()) => return Ok(()),
            Err(next) => stop = next,
        }
    }
}

/// Sets a register of one lane to zero, which counts as written.
fn clear(registers: &mut Registers, wide: bool, slot: Slot, lane: u32) {
    let at = lane.trailing_zeros() as usize;
    let file = if wide { File::Long } else { File::Word };
    match wide {
        true => registers.w64[slot as usize][at] = 0,
        false => registers.w32[slot as usize][at] = 0,
    }
    if let Some(shadow) = registers.shadow.as_deref_mut() {
        shadow.define(shadow.row(file, slot), lane);
    }
}
