//! Tensor maps that a kernel changes: `tensormap.replace` and `tensormap.cp_fenceproxy`. PTX ISA, "Data Movement".
//!
//! A copy reads its map when it is issued, so the fence of the tensor maps' proxy changes nothing here. That it is
//! executed between the change of a map and its use in the same block is checked (`tensor-map-not-fenced`). Not checked
//! are changes by ordinary stores and by other blocks.

use super::access::check;
use super::part::{Part, Shape, addresses, in_each_space};
use super::step::Step;
use crate::lanes::{self, lanes_of, load_words, store_words};
use crate::memory::address;
use crate::observe::{AccessKind, Observer, Shadow};
use crate::program::{Address, Async, Order, Scope, Space};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Place, Stop};
use crate::tensor::{BYTES, Fields};

/// Alignment of a tensor map.
const ALIGN: u64 = 64;
/// Bytes of a part that is reported to the observers as one access.
const PART: u32 = 32;

/// Replaces a field of the map of each lane, in ascending order.
///
/// # Errors
/// A stop if an address faults, there is no map, or the field cannot have the value.
pub fn replace<O: Observer>(step: &mut Step<'_, '_, O>, op: &Async) -> Result<(), Stop> {
    let Async::ReplaceField { map: (space, place), field, ordinal, value, wide } = op else { return Ok(()) };
    let registers = step.registers();
    let named = addresses(registers, place);
    let values: [u64; LANES] = std::array::from_fn(|lane| match wide {
        true => registers.w64[*value as usize][lane],
        false => registers.w32[*value as usize][lane].into(),
    });
    for (space, mask, addresses) in in_each_space(*space, &named, step.mask) {
        for lane in lanes_of(mask) {
            let at = addresses[lane];
            let bytes = read(step, lane, space, at)?;
            let Some(mut fields) = Fields::of_bytes_or_zeros(&bytes) else {
                let help = "start from a map that the host made and passed to the kernel, or from 128 zero bytes";
                let fault = Diagnostic::new("tensor-map", no_map(named[lane]));
                return Err(step.context().fault(step.who(lane), fault).with_help(help));
            };
            if let Err(title) = fields.replace(*field, usize::from(*ordinal), values[lane]) {
                return Err(step.fault(lane, "tensor-map", title));
            }
            write(step, lane, space, at, &fields.bytes())?;
        }
    }
    step.warp.wrote = true;
    Ok(())
}

/// Copies a map from shared to global memory; lanes with the same addresses make one copy.
///
/// # Errors
/// A stop if an address faults, or lanes of the warp are missing.
pub fn copy<O: Observer>(step: &mut Step<'_, '_, O>, to: &Address, from: &Address) -> Result<(), Stop> {
    let missing = step.warp.live & !step.mask;
    if missing != 0 {
        let (here, missing) = (lanes::describe(step.mask), lanes::describe(missing));
        let title = format!("{here} execute this `.aligned` instruction, and {missing} of the warp do not");
        return Err(step.fault(lanes::first(step.mask), "not-aligned", title));
    }
    let (to, from) = (addresses(step.registers(), to), addresses(step.registers(), from));
    let mask = step.mask;
    for lane in lanes_of(mask) {
        let same = |other: usize| (to[other], from[other]) == (to[lane], from[lane]);
        if lanes::first(lanes::select(mask, same)) == lane {
            let bytes = read(step, lane, Space::Shared, from[lane])?;
            write(step, lane, Space::Global, to[lane], &bytes)?;
        }
    }
    step.warp.wrote = true;
    Ok(())
}

/// Acquires the maps of the lanes: later copies of the block see how they were changed.
pub fn acquire<O: Observer>(step: &mut Step<'_, '_, O>, map: &Address) {
    let maps = addresses(step.registers(), map);
    let mask = step.mask;
    step.block.changed_maps.retain(|(changed, _)| lanes::select(mask, |lane| maps[lane] == *changed) == 0);
}

/// Reports a copy by a map that a thread of the block has changed without a later fence.
pub fn require_fence<O: Observer>(step: &mut Step<'_, '_, O>, lane: usize, map: u64) {
    let Some((_, writer)) = step.block.changed_maps.iter().find(|(changed, _)| *changed == map) else { return };
    let (writer, context) = (*writer, step.context());
    step.finding(lane, "tensor-map-not-fenced", || {
        let title = format!("the copy may see the tensor map at {map:#x} as it was before this block changed it");
        let mut diagnostic = Diagnostic::new("tensor-map-not-fenced", title);
        let thread = context.thread(context.block_id(writer.block), writer.warp, writer.lane);
        let place = Place::of(context.program, writer.site.function, writer.site.pc);
        diagnostic.related.push((format!("the change, by {thread}:"), place));
        let help = "execute `fence.proxy.tensormap::generic.acquire.gpu [map], 128` after the change, before the copy";
        diagnostic.help = Some(help.to_owned());
        diagnostic
    });
}

/// Reads a map, after the checks of an access.
fn read<O: Observer>(step: &mut Step<'_, '_, O>, lane: usize, space: Space, at: u64) -> Result<[u8; BYTES], Stop> {
    access(step, lane, space, at, AccessKind::Load)?;
    let mut bytes = [0; BYTES];
    match space {
        Space::Shared => {
            for (i, part) in bytes.chunks_exact_mut(8).enumerate() {
                part.copy_from_slice(&load_words(&step.block.shared, at + 8 * i as u64, 8).to_le_bytes());
            }
        }
        _ => {
            if let Some(view) = step.worker.snapshot.find(at) {
                view.storage.read((at - view.base) as usize, &mut bytes);
            }
        }
    }
    Ok(bytes)
}

/// Writes a map, after the checks of an access.
fn write<O: Observer>(
    step: &mut Step<'_, '_, O>,
    lane: usize,
    space: Space,
    at: u64,
    bytes: &[u8; BYTES],
) -> Result<(), Stop> {
    access(step, lane, space, at, AccessKind::Store)?;
    match space {
        Space::Shared => {
            for (i, part) in bytes.chunks_exact(8).enumerate() {
                let word = part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                store_words(&mut step.block.shared, at + 8 * i as u64, 8, word);
            }
        }
        _ => {
            if let Some(view) = step.worker.snapshot.find(at) {
                view.storage.write((at - view.base) as usize, bytes);
            }
            let who = step.who(lane);
            step.block.changed_maps.retain(|(changed, _)| *changed != at);
            step.block.changed_maps.push((at, who));
        }
    }
    Ok(())
}

/// Checks and reports a weak access to all bytes of a map.
fn access<O: Observer>(
    step: &mut Step<'_, '_, O>,
    lane: usize,
    space: Space,
    at: u64,
    kind: AccessKind,
) -> Result<(), Stop> {
    if !matches!(space, Space::Shared | Space::Global) {
        let title = format!("a tensor map in {} memory, not in shared or global memory", address::name(space));
        return Err(step.fault(lane, "wrong-space", title));
    }
    if !at.is_multiple_of(ALIGN) {
        let title = format!("the address {at:#x} of a tensor map is not a multiple of {ALIGN}");
        return Err(step.fault(lane, "tensor-map", title));
    }
    let shape = Shape { kind, order: Order::Weak, scope: Scope::Sys, bytes: PART, matrix_rows: false };
    for start in (at..).step_by(PART as usize).take(BYTES / PART as usize) {
        let addresses = [start; LANES];
        check(step, Part { space, addresses: &addresses, mask: 1 << lane }, shape, None)?;
        if O::Shadow::ON && kind == AccessKind::Store {
            let (shadow, mut scene) = step.shadow();
            shadow.writes(&mut scene, space, lane, start, u64::from(PART));
        }
    }
    Ok(())
}

/// Describes bytes that are no map.
pub fn no_map(address: u64) -> String {
    format!(
        "the 128 bytes at {address:#x} are no tensor map of the simulator: they were overwritten, or made by another \
         driver"
    )
}
