//! Copies of boxes of tensors, which tensor maps in parameters, global or constant memory describe.

use super::cluster::{self, Wanted};
use super::in_flight::{End, Source, What};
use super::part::addresses;
use super::position::Who;
use super::step::Step;
use super::{access, issue, mbarrier_objects, tensor_maps};
use crate::isa::memory::combine;
use crate::lanes::lanes_of;
use crate::memory::address;
use crate::observe::{AccessKind, Observer};
use crate::program::{Async, Group, Reduce, Space};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Stop};
use crate::tensor::{BYTES, Fields, RANK, TensorMap, Tile};
use std::sync::Arc;

/// Alignment of the place of a box in shared memory.
const ALIGN: u64 = 128;

/// Issues the copies of `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
///
/// # Errors
/// A stop if there is no map, an operand or an address faults.
pub fn issue<O: Observer>(step: &mut Step<'_, '_, O>, op: &Async) -> Result<(), Stop> {
    let Async::Tensor { shared, map, coordinates, mbarrier, multicast, reduce } = op else { return Ok(()) };
    let number = *step.block.in_flight.committed(step.warp.index, Group::Bulk);
    let execution = step.block.in_flight.issue();
    let mut transfers = Vec::new();
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
        let frame = &step.warp.frames[step.at.frame as usize].registers;
        let mut start = [0; RANK];
        for (place, slot) in start.iter_mut().zip(coordinates) {
            *place = frame.w32[*slot as usize][lane] as i32;
        }
        let address = frame.w64[*map as usize][lane];
        let target = addresses(frame, shared)[lane];
        let signal = mbarrier.as_ref().map(|mbarrier| addresses(frame, mbarrier)[lane]);
        let ranks = multicast.map(|slot| frame.w32[slot as usize][lane]);
        let map = read(step, who, address, coordinates.len())?;
        tensor_maps::require_fence(step, lane, address);
        let bytes = map.shared_bytes();
        let kind = if signal.is_some() { AccessKind::Store } else { AccessKind::Load };
        let wanted = Wanted { kind, address: target, bytes, align: ALIGN };
        let key = cluster::shared_end(step.worker, step.block, who, wanted)?;
        let reduce = match reduce {
            None => None,
            Some(operation) => match bitwise(map.element.bytes(), combine(*operation, map.element.name()), |kind| {
                combine(*operation, kind)
            }) {
                Some(combine) => Some(Reduce { bytes: map.element.bytes() as u8, combine }),
                None => {
                    let title = format!("the elements, {}, do not have this reduction", map.element.name());
                    return Err(step.context().fault(who, Diagnostic::new("tensor-map", title)));
                }
            },
        };
        let global = End::Global(map.address);
        let tile = Arc::new(Tile { map, start, shared: key.offset });
        let mut add = |to, from, signal| {
            let (source, tile) = (Source::Memory(from, bytes as u32), Some(tile.clone()));
            let what = What::Copy { to, bytes: bytes as u32, source, reduce, signal, tile };
            transfers.push(issue::transfer(who, Group::Bulk, what, number[lane], execution));
        };
        let Some(signal) = signal else {
            add(global, End::Shared(key), None);
            continue;
        };
        let signal = mbarrier_objects::locate(step.worker, step.block, who, Space::Shared, signal)?;
        match ranks {
            None => add(End::Shared(key), global, Some(signal)),
            Some(ranks) => {
                for (to, signal) in issue::receivers(step, who, ranks, (key, signal))? {
                    add(End::Shared(to), global, Some(signal));
                }
            }
        }
    }
    issue::start(step, transfers)
}

/// Returns the reduction of a type, or of the bits of its size.
fn bitwise<F>(bytes: u64, typed: Option<F>, named: impl Fn(&str) -> Option<F>) -> Option<F> {
    typed.or_else(|| named(if bytes == 8 { "b64" } else { "b32" }).filter(|_| bytes >= 4))
}

/// Reads the tensor map at a generic address.
fn read<O: Observer>(step: &mut Step<'_, '_, O>, who: Who, from: u64, rank: usize) -> Result<TensorMap, Stop> {
    let context = step.context();
    let fault = |title: String| context.fault(who, Diagnostic::new("tensor-map", title));
    if !from.is_multiple_of(64) {
        return Err(fault(format!("the address {from:#x} of a tensor map is not a multiple of 64")));
    }
    let mut bytes = [0; BYTES];
    let (space, start) = address::split(from);
    match space {
        Space::Param if start + BYTES as u64 <= context.param_bytes => {
            for (at, byte) in bytes.iter_mut().enumerate() {
                let at = start as usize + at;
                *byte = (context.params[at / 4] >> (at % 4 * 8)) as u8;
            }
        }
        Space::Global | Space::Const => {
            let constant = space == Space::Const;
            let outside = access::first_outside(step.worker, &[from; LANES], 1 << who.lane, BYTES as u64, constant);
            match step.worker.snapshot.find(from) {
                Some(view) if outside.is_none() => view.storage.read((from - view.base) as usize, &mut bytes),
                _ => return Err(fault(format!("no tensor map at {from:#x}: {}", context.memory.describe(from)))),
            }
        }
        other => {
            let name = address::name(other);
            return Err(fault(format!(
                "a tensor map at {from:#x}, in {name} memory, not in parameters, global or constant memory"
            )));
        }
    }
    let Some(fields) = Fields::of_bytes(&bytes) else { return Err(fault(tensor_maps::no_map(from))) };
    let map = match fields.map() {
        Ok(map) => map,
        Err(error) => {
            let help = "replace the other fields of the map, too, so that they fit each other";
            return Err(fault(format!("the tensor map at {from:#x} is not valid: {error}")).with_help(help));
        }
    };
    if map.rank != rank {
        return Err(fault(format!("a copy with {rank} coordinates by a tensor map of {} dimensions", map.rank)));
    }
    Ok(map)
}
