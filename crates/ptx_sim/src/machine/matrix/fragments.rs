//! `wmma.load` and `wmma.store`: each lane accesses the elements of a fragment.

use super::{defines, stored, weak};
use crate::lanes;
use crate::machine::access::check;
use crate::machine::part::{Part, addresses, in_each_space};
use crate::machine::step::Step;
use crate::memory::address;
use crate::observe::{AccessKind, Observer};
use crate::program::{Access, Fragment, Matrix, Order2, Space};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop::Stop;

/// Executes `wmma.load` element by element, or register by register where its elements are adjacent in memory.
///
/// # Errors
/// A stop if an address faults, or lies in another state space.
pub fn load<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    matrix: &Matrix,
    fragment: &Fragment,
) -> Result<(), Stop> {
    let parts = Parts::of(registers, matrix, fragment);
    for (r, &slot) in matrix.d.iter().enumerate() {
        let mut row = [0u64; LANES];
        for j in 0..parts.count {
            let places = parts.addresses(fragment, r, j);
            for (space, mask, places) in in_each_space(matrix.space, &places, u32::MAX) {
                let part = Part { space, addresses: &places, mask };
                require_not_local(step, part)?;
                check(step, part, weak(AccessKind::Load, parts.bytes, false), None)?;
                let found = read(step, part, parts.bytes as u8);
                lanes::each(mask, |lane| row[lane] |= found[lane] << (8 * parts.bytes as usize * j));
            }
        }
        if slot == NO_SLOT {
            continue;
        }
        match fragment.bits {
            64 => registers.w64[slot as usize] = row,
            _ => registers.w32[slot as usize] = row.map(|value| value as u32),
        }
    }
    Ok(())
}

/// Executes `wmma.store`.
///
/// # Errors
/// A stop if an address faults, or lies in another state space.
pub fn store<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &Registers,
    matrix: &Matrix,
    fragment: &Fragment,
) -> Result<(), Stop> {
    let parts = Parts::of(registers, matrix, fragment);
    for (r, &slot) in matrix.a.iter().enumerate() {
        let row: [u64; LANES] = match fragment.bits {
            64 => registers.w64[slot as usize],
            _ => registers.w32[slot as usize].map(u64::from),
        };
        for j in 0..parts.count {
            let values = row.map(|value| value >> (8 * parts.bytes as usize * j));
            let scratch = Registers { w64: vec![values], ..Registers::default() };
            let access = Access { wide: true, ..stored(matrix, parts.bytes as u8, vec![0]) };
            let places = parts.addresses(fragment, r, j);
            for (space, mask, places) in in_each_space(matrix.space, &places, u32::MAX) {
                let part = Part { space, addresses: &places, mask };
                require_not_local(step, part)?;
                check(step, part, weak(AccessKind::Store, parts.bytes, false), Some((&scratch, &access)))?;
                defines(step, part, parts.bytes);
                write(step, part, parts.bytes as u8, &values);
            }
        }
    }
    step.warp.wrote = true;
    Ok(())
}

/// Checks that fragments of `wmma` are in shared or device memory.
fn require_not_local<O: Observer>(step: &Step<'_, '_, O>, part: Part<'_>) -> Result<(), Stop> {
    if matches!(part.space, Space::Shared | Space::Global | Space::Const) {
        return Ok(());
    }
    let title = format!("a matrix lies in {} memory, not in global or shared memory", address::name(part.space));
    Err(step.fault(lanes::first(part.mask), "wrong-space", title))
}

/// Reads bytes of shared or device memory whose addresses were checked.
fn read<O: Observer>(step: &mut Step<'_, '_, O>, part: Part<'_>, bytes: u8) -> [u64; LANES] {
    let Part { space, addresses, mask } = part;
    let mut found = [0; LANES];
    lanes::each(mask, |lane| match space {
        Space::Shared => found[lane] = lanes::load_words(&step.block.shared, addresses[lane], bytes),
        _ => {
            if let Some(view) = step.worker.snapshot.find(addresses[lane]) {
                found[lane] = view.storage.load(addresses[lane] - view.base, bytes);
            }
        }
    });
    found
}

/// Writes bytes of shared or device memory whose addresses were checked.
fn write<O: Observer>(step: &mut Step<'_, '_, O>, part: Part<'_>, bytes: u8, values: &[u64; LANES]) {
    let Part { space, addresses, mask } = part;
    lanes::each(mask, |lane| match space {
        Space::Shared => lanes::store_words(&mut step.block.shared, addresses[lane], bytes, values[lane]),
        _ => {
            if let Some(view) = step.worker.snapshot.find(addresses[lane]) {
                view.storage.store(addresses[lane] - view.base, bytes, values[lane]);
            }
        }
    });
}

/// Accesses for the elements of a fragment's register.
struct Parts {
    base: [u64; LANES],
    stride: u64,
    /// Number of accesses per register.
    count: usize,
    /// Bytes of each access.
    bytes: u32,
}

impl Parts {
    fn of(registers: &Registers, matrix: &Matrix, fragment: &Fragment) -> Self {
        let base = match &matrix.address {
            Some(address) => addresses(registers, address),
            None => [0; LANES],
        };
        let contiguous = match fragment.order {
            Order2::Row => fragment.columns,
            Order2::Column => fragment.rows,
        };
        let stride = matrix.stride.map_or(contiguous as u64, |slot| u64::from(registers.w32[slot as usize][0]));
        let per_register = (32 / fragment.bits).max(1);
        // The elements of sums stored by columns are not adjacent.
        let together = !fragment.sum || fragment.order == Order2::Row;
        let (count, elements) = if together { (1, per_register) } else { (per_register, 1) };
        Self { base, stride, count, bytes: (fragment.bits * elements / 8) as u32 }
    }

    fn addresses(&self, fragment: &Fragment, register: usize, j: usize) -> [u64; LANES] {
        let element = fragment.bits as u64 / 8;
        std::array::from_fn(|lane| {
            let offset = fragment.offset(fragment.place(register, lane, j), self.stride);
            self.base[lane].wrapping_add(offset.wrapping_mul(element))
        })
    }
}
