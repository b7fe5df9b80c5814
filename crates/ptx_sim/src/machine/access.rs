//! `ld` and `st`: resolves addresses to a state space, checks each lane, reports the access to the observers, and
//! performs it.

use super::block::Block;
use super::faults::{At, BadAccess};
use super::warp::Warp;
use super::worker::Worker;
use crate::isa::lift::every;
use crate::lanes::{self, Spread};
use crate::level::{Host, Task};
use crate::memory::address;
use crate::memory::transfer::{Allocated, Drain, Fill, Lanes};
use crate::observe::Peek;
use crate::observe::{self, AccessKind, Observer, Shadow, Touch};
use crate::program::{Access, Address, Order, Scope, Space};
use crate::registers::{LANES, Registers};
use crate::stop::Stop;

/// Computes the addresses of all lanes, including inactive ones.
#[inline(always)]
pub fn addresses(registers: &Registers, address: &Address) -> [u64; LANES] {
    let offset = address.offset as u64;
    if address.narrow {
        let base = &registers.w32[address.base as usize];
        every(|lane| u64::from(base[lane].wrapping_add(offset as u32)))
    } else {
        let base = &registers.w64[address.base as usize];
        every(|lane| base[lane].wrapping_add(offset))
    }
}

/// Selects the lanes of `mask` that access the same specific space as the first of them, and converts all addresses to
/// offsets there.
#[inline(always)]
fn part(space: Space, addresses: &[u64; LANES], mask: u32) -> (Space, u32, [u64; LANES]) {
    match space {
        Space::Generic => {
            let space = address::space_of(addresses[lanes::first(mask)]);
            let here = lanes::select(mask, |lane| address::space_of(addresses[lane]) == space);
            let window = if space == Space::Const { 0 } else { address::window(space) };
            (space, here, addresses.map(|address| address.wrapping_sub(window)))
        }
        Space::Const => (space, mask, addresses.map(|address| address.wrapping_add(address::window(Space::Const)))),
        _ => (space, mask, *addresses),
    }
}

/// Properties of a memory instruction for checks and observers.
#[derive(Clone, Copy)]
pub struct Shape {
    pub kind: AccessKind,
    pub order: Order,
    pub scope: Scope,
    /// Bytes per lane.
    pub bytes: u32,
    /// See [`Touch::matrix_rows`].
    pub matrix_rows: bool,
}

/// A load or a store by the lanes of `mask`, or by those of them that access the same space as the first. The task
/// returns these lanes.
///
/// Compiled for each level of the host separately from the loop over instructions, whose values would otherwise be
/// spilled for it.
pub struct Carried<'w, 'c, O: Observer, R> {
    pub worker: &'w mut Worker<'c, O>,
    pub block: &'w mut Block<O::Block>,
    pub warp: &'w mut Warp,
    pub registers: R,
    pub access: &'w Access,
    pub mask: u32,
    pub at: At,
}

impl<O: Observer> Task for Carried<'_, '_, O, &mut Registers> {
    type Output = Result<u32, Stop>;
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) -> Self::Output {
        let Self { worker, block, warp, registers, access, mask, at } = self;
        worker.load(host, block, warp, registers, access, *mask, *at)
    }
}

impl<O: Observer> Task for Carried<'_, '_, O, &Registers> {
    type Output = Result<u32, Stop>;
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) -> Self::Output {
        let Self { worker, block, warp, registers, access, mask, at } = self;
        worker.store(host, block, warp, registers, access, *mask, *at)
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Performs `ld`.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn load<H: Host>(
        &mut self,
        host: H,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        access: &Access,
        mask: u32,
        at: At,
    ) -> Result<u32, Stop> {
        let named = addresses(registers, &access.address);
        warp.polled |= access.order != Order::Weak;
        let shape = shape(AccessKind::Load, access);
        let moved;
        let (space, mask, addresses) = match access.space {
            Space::Generic | Space::Const => {
                let (space, mask, inside) = part(access.space, &named, mask);
                moved = inside;
                (space, mask, &moved)
            }
            space => (space, mask, &named),
        };
        if space == Space::Shared && self.context.clusters {
            self.cluster_load(block, warp, registers, access, addresses, mask, at)?;
            return Ok(mask);
        }
        let spread = self.check(block, warp, space, addresses, mask, shape, at, None)?;
        if O::Shadow::ON {
            let lanes = observe::Lanes { space, addresses, mask, spread };
            let (shadow, mut scene) = self.shadow(block, warp, at.site);
            shadow.load(&mut scene, registers, access, lanes);
        }
        let lanes = Lanes { access, addresses, mask, spread: &spread };
        match space {
            Space::Shared => host.perform(&mut Fill { lanes, registers, source: block.shared.as_slice() }),
            Space::Local | Space::Frame => host.perform(&mut Fill { lanes, registers, source: warp.local.as_slice() }),
            Space::Param => host.perform(&mut Fill { lanes, registers, source: self.context.params.as_slice() }),
            Space::Global | Space::Const | Space::Generic => {
                match self.snapshot.find(spread.low).filter(|view| view.holds(spread.high, u64::from(shape.bytes))) {
                    Some(view) => host.perform(&mut Fill { lanes, registers, source: Allocated::new(view) }),
                    None => host.perform(&mut Fill { lanes, registers, source: &self.snapshot }),
                }
            }
        }
        Ok(mask)
    }

    /// Performs `st`.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn store<H: Host>(
        &mut self,
        host: H,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &Registers,
        access: &Access,
        mask: u32,
        at: At,
    ) -> Result<u32, Stop> {
        let named = addresses(registers, &access.address);
        let shape = shape(AccessKind::Store, access);
        let moved;
        let (space, mask, addresses) = match access.space {
            Space::Generic | Space::Const => {
                let (space, mask, inside) = part(access.space, &named, mask);
                moved = inside;
                (space, mask, &moved)
            }
            space => (space, mask, &named),
        };
        if space == Space::Shared && self.context.clusters {
            self.cluster_store(block, warp, registers, access, addresses, mask, at)?;
            return Ok(mask);
        }
        let spread = self.check(block, warp, space, addresses, mask, shape, at, Some((registers, access)))?;
        if O::Shadow::ON {
            let lanes = observe::Lanes { space, addresses, mask, spread };
            let (shadow, mut scene) = self.shadow(block, warp, at.site);
            shadow.store(&mut scene, registers, access, lanes);
        }
        let lanes = Lanes { access, addresses, mask, spread: &spread };
        // Stores to a thread's own stack are no evidence of progress.
        warp.wrote |= !matches!(space, Space::Local | Space::Frame);
        match space {
            Space::Shared => host.perform(&mut Drain { lanes, registers, sink: block.shared.as_mut_slice() }),
            Space::Local | Space::Frame => {
                host.perform(&mut Drain { lanes, registers, sink: warp.local.as_mut_slice() })
            }
            Space::Param => {
                let (address, lane) = (addresses[lanes::first(mask)], lanes::first(mask));
                let title = format!("store to the kernel's parameters at {address:#x}: they are read only");
                return Err(self.fault(block, warp.index, lane, at.site, "read-only", title));
            }
            Space::Global | Space::Const | Space::Generic => {
                match self.snapshot.find(spread.low).filter(|view| view.holds(spread.high, u64::from(shape.bytes))) {
                    Some(view) => host.perform(&mut Drain { lanes, registers, sink: Allocated::new(view) }),
                    None => host.perform(&mut Drain { lanes, registers, sink: &self.snapshot }),
                }
            }
        }
        Ok(mask)
    }

    /// Calls `then` with addresses of one specific space: once, or for generic addresses once per space that occurs.
    /// Constant memory is part of device memory and keeps its generic addresses.
    ///
    /// # Errors
    /// A stop if an address is misaligned, out of bounds, or in the wrong state space.
    pub fn in_each_space(
        &mut self,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        mut then: impl FnMut(&mut Self, Space, &[u64; LANES], u32) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut rest = mask;
        while rest != 0 {
            let (space, here, inside) = part(space, addresses, rest);
            rest &= !here;
            then(self, space, &inside, here)?;
        }
        Ok(())
    }

    /// Checks alignment and bounds of every lane, and then reports the access to the observers.
    ///
    /// # Errors
    /// A stop if an address is misaligned, out of bounds, or in the wrong state space.
    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "one place for all accesses; a struct would be built per instruction"
    )]
    pub fn check(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &Warp,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        shape: Shape,
        at: At,
        stored: Option<(&Registers, &Access)>,
    ) -> Result<Spread, Stop> {
        let bytes = u64::from(shape.bytes);
        let spread = Spread::of(addresses, mask);
        let Spread { low, high, bits, .. } = spread;
        let bad =
            |lane: usize| BadAccess { kind: shape.kind, space, address: addresses[lane], bytes: shape.bytes, lane };
        let within = bytes.max(1) - 1;
        if bits & within != 0 {
            let wrong = lanes::select(mask, |lane| addresses[lane] & within != 0);
            if wrong != 0 {
                return Err(self.misaligned(block, warp.index, at.site, bad(lanes::first(wrong))));
            }
        }
        let over = |end: u64| lanes::first(lanes::select(mask, |lane| !fits(addresses[lane], bytes, 0, end)));
        match space {
            Space::Shared if !fits(high, bytes, 0, self.context.shared_bytes) => {
                let lane = over(self.context.shared_bytes);
                return Err(self.bad_shared(block, warp.index, at.site, bad(lane)));
            }
            Space::Param if !fits(high, bytes, 0, self.context.param_bytes) => {
                let end = self.context.param_bytes;
                let lane = over(end);
                return Err(self.bad_range(block, warp.index, at.site, bad(lane), "the parameter block", end));
            }
            Space::Local | Space::Frame => {
                let end = warp.frames[at.frame as usize].top;
                if low < address::STACK_START || !fits(high, bytes, 0, end) {
                    let outside = |lane: usize| !fits(addresses[lane], bytes, address::STACK_START, end);
                    let lane = lanes::first(lanes::select(mask, outside));
                    return Err(self.bad_range(block, warp.index, at.site, bad(lane), "the thread's stack", end));
                }
            }
            Space::Global | Space::Const | Space::Generic => {
                if !self.inside_one(at.site.pc, low, high, bytes, space == Space::Const)
                    && let Some(lane) = self.first_outside(addresses, mask, bytes, space == Space::Const)
                {
                    return Err(self.bad_global(block, warp.index, at.site, bad(lane)));
                }
                if space == Space::Const && shape.kind != AccessKind::Load {
                    return Err(self.bad_global(block, warp.index, at.site, bad(lanes::first(mask))));
                }
            }
            Space::Shared if block.in_flight.marks_words() => {
                self.check_in_flight(block, warp.index, addresses, mask, (shape.kind, shape.bytes), at);
            }
            Space::Shared | Space::Param => {}
        }
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
            peek: Peek { shared: &block.shared, snapshot: &self.snapshot, stored },
        };
        self.observer.touch(&mut block.observed, &touch);
        Ok(spread)
    }

    #[inline(always)]
    fn inside_one(&mut self, pc: u32, low: u64, high: u64, bytes: u64, constant: bool) -> bool {
        self.snapshot.find_for(pc, low).is_some_and(|view| view.constant == constant && view.holds(high, bytes))
    }

    /// Returns the first lane whose bytes are not in a live allocation, after a refresh of the snapshot.
    #[cold]
    pub fn first_outside(&mut self, addresses: &[u64; LANES], mask: u32, bytes: u64, constant: bool) -> Option<usize> {
        let mut refreshed = false;
        loop {
            let snapshot = &mut self.snapshot;
            let outside = lanes::select(mask, |lane| {
                !snapshot
                    .find(addresses[lane])
                    .is_some_and(|view| view.constant == constant && view.holds(addresses[lane], bytes))
            });
            if outside == 0 {
                return None;
            }
            if refreshed || !self.snapshot.refresh(self.context.memory) {
                return Some(lanes::first(outside));
            }
            refreshed = true;
        }
    }
}

fn shape(kind: AccessKind, access: &Access) -> Shape {
    let bytes = u32::from(access.bytes) * access.registers.len() as u32;
    Shape { kind, order: access.order, scope: access.scope, bytes, matrix_rows: false }
}

#[inline(always)]
fn fits(address: u64, bytes: u64, start: u64, end: u64) -> bool {
    address >= start && address.checked_add(bytes).is_some_and(|last| last <= end)
}
