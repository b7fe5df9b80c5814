//! `ld` and `st`: resolves addresses to a state space, checks each lane, reports the access to the observers, and
//! performs it.

use super::access::check;
use super::cluster;
use super::part::{Part, Shape, addresses, part};
use super::step::Step;
use crate::lanes;
use crate::level::{Host, Task};
use crate::memory::transfer::{Allocated, Drain, Fill, Lanes};
use crate::observe::{self, AccessKind, Observer, Shadow};
use crate::program::{Access, Address, Order, Space};
use crate::registers::Registers;
use crate::stop::Stop;

/// A load or a store by the lanes of the step, or by those of them that access the same space as the first. The task
/// returns these lanes.
///
/// Compiled for each level of the host separately from the loop over instructions, whose values would otherwise be
/// spilled for it.
pub struct Carried<'s, 'w, O: Observer, R> {
    pub step: Step<'s, 'w, O>,
    pub registers: R,
    pub access: &'s Access,
}

impl<O: Observer> Task for Carried<'_, '_, O, &mut Registers> {
    type Output = Result<u32, Stop>;
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) -> Self::Output {
        load(host, &mut self.step, self.registers, self.access)
    }
}

impl<O: Observer> Task for Carried<'_, '_, O, &Registers> {
    type Output = Result<u32, Stop>;
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) -> Self::Output {
        store(host, &mut self.step, self.registers, self.access)
    }
}

/// Performs `ld`.
#[inline(always)]
fn load<O: Observer, H: Host>(
    host: H,
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    access: &Access,
) -> Result<u32, Stop> {
    let named = addresses(registers, &access.address);
    step.warp.polled |= access.order != Order::Weak;
    let shape = shape(AccessKind::Load, access);
    let moved;
    let (space, mask, addresses) = match access.space {
        Space::Generic | Space::Const => {
            let (space, mask, inside) = part(access.space, &named, step.mask);
            moved = inside;
            (space, mask, &moved)
        }
        space => (space, step.mask, &named),
    };
    let part = Part { space, addresses, mask };
    if space == Space::Shared && step.context().clusters {
        cluster::load(step, registers, access, part)?;
        return Ok(mask);
    }
    let spread = match check(step, part, shape, None) {
        Ok(spread) => spread,
        Err(stop) if access.used_bytes != u64::MAX => return load_used(host, step, registers, access, stop),
        Err(stop) => return Err(stop),
    };
    if O::Shadow::ON {
        let lanes = observe::Lanes { space, addresses, mask, spread };
        let (shadow, mut scene) = step.shadow();
        shadow.load(&mut scene, registers, access, lanes);
    }
    let lanes = Lanes { access, addresses, mask, spread: &spread };
    match space {
        Space::Shared => host.perform(&mut Fill { lanes, registers, source: step.block.shared.as_slice() }),
        Space::Local | Space::Frame => host.perform(&mut Fill { lanes, registers, source: step.warp.local.as_slice() }),
        Space::Param => host.perform(&mut Fill { lanes, registers, source: step.context().params.as_slice() }),
        Space::Global | Space::Const | Space::Generic => {
            let snapshot = &mut step.worker.snapshot;
            match snapshot.find(spread.low).filter(|view| view.holds(spread.high, u64::from(shape.bytes))) {
                Some(view) => host.perform(&mut Fill { lanes, registers, source: Allocated::new(view) }),
                None => host.perform(&mut Fill { lanes, registers, source: &*snapshot }),
            }
        }
    }
    Ok(mask)
}

/// Performs the used elements of a vector that is out of bounds, one by one: compilers widen a load to its alignment,
/// past the end of an allocation, where it does not use what is there.
#[cold]
#[inline(never)]
fn load_used<O: Observer, H: Host>(
    host: H,
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    access: &Access,
    stop: Stop,
) -> Result<u32, Stop> {
    let count = access.registers.len();
    let bytes = usize::from(access.bytes);
    let is_used = |at: &usize| access.used_bytes >> (at * bytes) & ((1 << bytes) - 1) != 0;
    let mut used: Vec<usize> = (0..count).filter(is_used).collect();
    if stop.code() != "out-of-bounds" || used.is_empty() || used.len() == count {
        return Err(stop);
    }
    // An element that replaces the base of the address comes last.
    let base = |at: &usize| access.wide != access.address.narrow && access.registers[*at] == access.address.base;
    used.sort_by_key(base);
    let mut mask = 0;
    for at in used {
        let offset = access.address.offset.wrapping_add((at * bytes) as i64);
        let address = Address { offset, ..access.address };
        let element = Access { registers: vec![access.registers[at]], address, used_bytes: u64::MAX, ..access.clone() };
        mask = load(host, step, registers, &element)?;
    }
    Ok(mask)
}

/// Performs `st`.
#[inline(always)]
fn store<O: Observer, H: Host>(
    host: H,
    step: &mut Step<'_, '_, O>,
    registers: &Registers,
    access: &Access,
) -> Result<u32, Stop> {
    let named = addresses(registers, &access.address);
    let shape = shape(AccessKind::Store, access);
    let moved;
    let (space, mask, addresses) = match access.space {
        Space::Generic | Space::Const => {
            let (space, mask, inside) = part(access.space, &named, step.mask);
            moved = inside;
            (space, mask, &moved)
        }
        space => (space, step.mask, &named),
    };
    let part = Part { space, addresses, mask };
    if space == Space::Shared && step.context().clusters {
        cluster::store(step, registers, access, part)?;
        return Ok(mask);
    }
    let spread = check(step, part, shape, Some((registers, access)))?;
    if O::Shadow::ON {
        let lanes = observe::Lanes { space, addresses, mask, spread };
        let (shadow, mut scene) = step.shadow();
        shadow.store(&mut scene, registers, access, lanes);
    }
    let lanes = Lanes { access, addresses, mask, spread: &spread };
    match space {
        // Stores to a thread's own stack are no evidence of progress.
        Space::Local | Space::Frame => {}
        Space::Shared => step.warp.stored = true,
        _ => step.warp.wrote = true,
    }
    match space {
        Space::Shared => host.perform(&mut Drain { lanes, registers, sink: step.block.shared.as_mut_slice() }),
        Space::Local | Space::Frame => {
            host.perform(&mut Drain { lanes, registers, sink: step.warp.local.as_mut_slice() })
        }
        Space::Param => {
            let lane = lanes::first(mask);
            let title = format!("store to the kernel's parameters at {:#x}: they are read only", addresses[lane]);
            return Err(step.fault(lane, "read-only", title));
        }
        Space::Global | Space::Const | Space::Generic => {
            let snapshot = &mut step.worker.snapshot;
            match snapshot.find(spread.low).filter(|view| view.holds(spread.high, u64::from(shape.bytes))) {
                Some(view) => host.perform(&mut Drain { lanes, registers, sink: Allocated::new(view) }),
                None => host.perform(&mut Drain { lanes, registers, sink: &*snapshot }),
            }
        }
    }
    Ok(mask)
}

fn shape(kind: AccessKind, access: &Access) -> Shape {
    let bytes = u32::from(access.bytes) * access.registers.len() as u32;
    Shape { kind, order: access.order, scope: access.scope, bytes, matrix_rows: false }
}
