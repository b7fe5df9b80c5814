//! Distributed shared memory of a cluster.
//!
//! An address of `shared::cluster` is a byte offset in the executing block's own shared memory, or, as computed by
//! `mapa`, the rank of a block plus one above the 24 bits of the offset. All blocks of a cluster are resident on one
//! worker, which finds them in its own list.

use super::access::check;
use super::block::Block;
use super::context::Context;
use super::faults::BadAccess;
use super::key::Key;
use super::part::{Part, Shape};
use super::position::Who;
use super::step::Step;
use super::worker::Worker;
use crate::lanes::{self, Spread, each, lanes_of};
use crate::level::Host;
use crate::memory::transfer::{Drain, Fill, Lanes};
use crate::observe::Peek;
use crate::observe::{self, AccessKind, Observer, Shadow, Touch};
use crate::program::{Access, Atomic, Space};
use crate::registers::{LANES, Registers};
use crate::stop::{Diagnostic, Stop};

/// Bits of the byte offset in an address of `shared::cluster`.
const BYTE_BITS: u32 = 24;
const BYTES: u64 = 1 << BYTE_BITS;

/// Returns the address of `offset` in the block of a rank.
pub fn address_of(rank: u64, offset: u64) -> u64 {
    ((rank + 1) << BYTE_BITS) | (offset % BYTES)
}

/// Resolves an address of `shared::cluster` to block and byte; `None` if the cluster has no such block.
pub fn place_of<B>(context: &Context<'_>, block: &Block<B>, address: u64) -> Option<Key> {
    let blocks = context.cluster_blocks;
    match address >> BYTE_BITS {
        0 => Some(Key { block: block.ticket, offset: address }),
        rank if rank <= blocks => Some(Key { block: block.first_ticket(blocks) + rank - 1, offset: address % BYTES }),
        _ => None,
    }
}

/// A range of memory that an instruction accesses.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub kind: AccessKind,
    pub address: u64,
    pub bytes: u64,
    /// The address must be a multiple of this number.
    pub align: u64,
}

impl Wanted {
    /// Checks the alignment; returns the access for reports of other faults.
    ///
    /// # Errors
    /// The stop `misaligned`.
    pub fn aligned(self, context: &Context<'_>, who: Who, space: Space) -> Result<BadAccess, Stop> {
        let Self { kind, address, bytes, align } = self;
        let bad = BadAccess { who, kind, space, address, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        if address.is_multiple_of(align) {
            return Ok(bad);
        }
        let title = format!("{} is misaligned: the address must be a multiple of {align}", bad.words());
        Err(context.fault(who, Diagnostic::new("misaligned", title)))
    }
}

/// Checks an access to the cluster's shared memory, and returns its place.
///
/// # Errors
/// A stop if the address faults, or its block has ended.
pub fn shared_end<O: Observer>(
    worker: &Worker<'_, O>,
    block: &Block<O::Block>,
    who: Who,
    wanted: Wanted,
) -> Result<Key, Stop> {
    let bad = wanted.aligned(worker.context, who, Space::Shared)?;
    let key = place_of(worker.context, block, wanted.address);
    let fits = |key: &Key| key.offset.checked_add(wanted.bytes).is_some_and(|end| end <= worker.context.shared_bytes);
    let whole = |key: &Key| worker.context.in_gap(&[key.offset; LANES], 1, wanted.bytes).is_none();
    let Some(key) = key.filter(fits).filter(whole) else { return Err(worker.context.bad_shared(bad)) };
    let resident = key.block == block.ticket || worker.resident.iter().flatten().any(|b| b.ticket == key.block);
    if resident { Ok(key) } else { Err(worker.context.ended(who, key.block)) }
}

/// Executes `ld.shared` in a launch that may address other blocks.
///
/// # Errors
/// A stop if an address faults, or its block has ended.
#[cold]
pub fn load<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    access: &Access,
    part: Part<'_>,
) -> Result<(), Stop> {
    let bytes = u32::from(access.bytes) * access.registers.len() as u32;
    let (order, scope) = (access.order, access.scope);
    let shape = Shape { kind: AccessKind::Load, order, scope, bytes, matrix_rows: false };
    let level = step.context().setup.level;
    in_each_block(step, part, shape, None, |step, shared| {
        if O::Shadow::ON {
            let (shadow, mut scene) = step.shadow();
            shadow.load(&mut scene, registers, access, shared);
        }
        let observe::Lanes { addresses, mask, ref spread, .. } = shared;
        let lanes = Lanes { access, addresses, mask, spread };
        level.perform(&mut Fill { lanes, registers, source: step.block.shared.as_slice() });
    })
}

/// Executes `st.shared` in a launch that may address other blocks.
///
/// # Errors
/// A stop if an address faults, or its block has ended.
#[cold]
pub fn store<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &Registers,
    access: &Access,
    part: Part<'_>,
) -> Result<(), Stop> {
    step.warp.wrote = true;
    let bytes = u32::from(access.bytes) * access.registers.len() as u32;
    let (order, scope) = (access.order, access.scope);
    let shape = Shape { kind: AccessKind::Store, order, scope, bytes, matrix_rows: false };
    let level = step.context().setup.level;
    let stored = Some((registers, access));
    in_each_block(step, part, shape, stored, |step, shared| {
        if O::Shadow::ON {
            let (shadow, mut scene) = step.shadow();
            shadow.store(&mut scene, registers, access, shared);
        }
        let observe::Lanes { addresses, mask, ref spread, .. } = shared;
        let lanes = Lanes { access, addresses, mask, spread };
        level.perform(&mut Drain { lanes, registers, sink: step.block.shared.as_mut_slice() });
    })
}

/// Executes `atom.shared` in a launch that may address other blocks. Returns whether memory was changed.
///
/// # Errors
/// A stop if an address faults, or its block has ended.
#[cold]
pub fn atomic<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    atomic: &Atomic,
    operands: impl Fn(&Registers, usize) -> (u64, u64),
    part: Part<'_>,
    old: &mut [u64; LANES],
) -> Result<bool, Stop> {
    let (order, scope) = (atomic.order, atomic.scope);
    let shape = Shape { kind: AccessKind::Atomic, order, scope, bytes: u32::from(atomic.bytes), matrix_rows: false };
    let mut changed = false;
    in_each_block(step, part, shape, None, |step, shared| {
        if O::Shadow::ON {
            let (shadow, mut scene) = step.shadow();
            shadow.atomic(&mut scene, registers, atomic, shared);
        }
        each(shared.mask, |lane| {
            let (b, c) = operands(registers, lane);
            old[lane] = lanes::load_words(&step.block.shared, shared.addresses[lane], atomic.bytes);
            let new = (atomic.combine)(old[lane], b, c);
            lanes::store_words(&mut step.block.shared, shared.addresses[lane], atomic.bytes, new);
            changed |= new != old[lane];
        });
    })?;
    Ok(changed)
}

/// Checks an access, reports it to the observers, and calls `then` for each accessed block. During the call the
/// running block holds that block's shared memory instead of its own.
///
/// # Errors
/// A stop if an address faults, or its block has ended.
pub(super) fn in_each_block<'w, O: Observer>(
    step: &mut Step<'_, 'w, O>,
    part: Part<'_>,
    shape: Shape,
    stored: Option<(&Registers, &Access)>,
    mut then: impl FnMut(&mut Step<'_, 'w, O>, observe::Lanes<'_>),
) -> Result<(), Stop> {
    let mut offsets = *part.addresses;
    let mut blocks = [step.block.ticket; LANES];
    for lane in lanes_of(part.mask) {
        let (bytes, align) = (u64::from(shape.bytes), u64::from(shape.bytes.max(1)));
        let wanted = Wanted { kind: shape.kind, address: part.addresses[lane], bytes, align };
        let key = shared_end(step.worker, step.block, step.who(lane), wanted)?;
        (blocks[lane], offsets[lane]) = (key.block, key.offset);
    }
    let mut rest = part.mask;
    while rest != 0 {
        let ticket = blocks[lanes::first(rest)];
        let here = lanes::select(rest, |lane| blocks[lane] == ticket);
        rest &= !here;
        let spread = Spread::of(&offsets, here);
        let shared = observe::Lanes { space: Space::Shared, addresses: &offsets, mask: here, spread };
        if ticket == step.block.ticket {
            check(step, Part { space: Space::Shared, addresses: &offsets, mask: here }, shape, stored)?;
            then(step, shared);
            continue;
        }
        let place =
            step.worker.resident.iter().position(|peer| peer.as_ref().is_some_and(|peer| peer.ticket == ticket));
        let Some((place, mut target)) = place.and_then(|place| Some((place, step.worker.resident[place].take()?)))
        else {
            continue;
        };
        let touch = Touch {
            site: step.at.site,
            warp: step.warp.index,
            mask: here,
            kind: shape.kind,
            space: Space::Shared,
            order: shape.order,
            scope: shape.scope,
            owner: ticket,
            bytes: shape.bytes,
            matrix_rows: shape.matrix_rows,
            addresses: &offsets,
            spread: &spread,
            peek: Peek { shared: &target.shared, snapshot: &step.worker.snapshot, stored },
        };
        step.worker.observer.touch(&mut step.block.observed, &touch);
        exchange_shared(step.block, &mut target);
        then(step, shared);
        exchange_shared(step.block, &mut target);
        step.worker.resident[place] = Some(target);
    }
    Ok(())
}

fn exchange_shared<B>(block: &mut Block<B>, target: &mut Block<B>) {
    std::mem::swap(&mut block.shared, &mut target.shared);
    std::mem::swap(&mut block.states, &mut target.states);
}
