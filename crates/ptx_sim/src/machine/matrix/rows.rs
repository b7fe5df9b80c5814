//! `ldmatrix` and `stmatrix`: lanes hold the addresses of the rows of 8x8 matrices in shared memory.

use super::{defines, set, stored, transpose, weak};
use crate::lanes;
use crate::machine::access::check;
use crate::machine::part::{Part, addresses, in_each_space};
use crate::machine::step::Step;
use crate::memory::address;
use crate::observe::{AccessKind, Observer};
use crate::program::{Matrix, Space};
use crate::registers::{LANES, Registers};
use crate::stop::Stop;

/// Executes `ldmatrix`.
///
/// # Errors
/// A stop if an address faults, or lies in another state space.
pub fn load<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    matrix: &Matrix,
    transposed: bool,
) -> Result<(), Stop> {
    let Some(address) = &matrix.address else { return Ok(()) };
    let addresses = addresses(registers, address);
    let mask = rows_mask(matrix.d.len());
    let mut rows = [[0u32; 4]; LANES];
    for (space, mask, addresses) in in_each_space(matrix.space, &addresses, mask) {
        let part = Part { space, addresses: &addresses, mask };
        require_shared(step, part)?;
        check(step, part, weak(AccessKind::Load, 16, true), None)?;
        lanes::each(mask, |lane| {
            rows[lane] = std::array::from_fn(|word| {
                lanes::load_words(&step.block.shared, addresses[lane] + 4 * word as u64, 4) as u32
            });
        });
    }
    for (i, &slot) in matrix.d.iter().enumerate() {
        let held = std::array::from_fn(|lane| rows[8 * i + lane / 4][lane % 4]);
        set(registers, slot, if transposed { transpose(&held) } else { held });
    }
    Ok(())
}

/// Executes `stmatrix`.
///
/// # Errors
/// A stop if an address faults, or lies in another state space.
pub fn store<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &Registers,
    matrix: &Matrix,
    transposed: bool,
) -> Result<(), Stop> {
    let Some(address) = &matrix.address else { return Ok(()) };
    let addresses = addresses(registers, address);
    let mask = rows_mask(matrix.a.len());
    // Word `w` of the matrix row whose address a lane holds.
    let mut words = [[0; LANES]; 4];
    for (i, &slot) in matrix.a.iter().enumerate() {
        let held = registers.w32[slot as usize];
        let held = if transposed { transpose(&held) } else { held };
        for (lane, &value) in held.iter().enumerate() {
            words[lane % 4][(8 * i + lane / 4) % LANES] = value;
        }
    }
    // The equivalent ordinary store of these rows, for the observers.
    let scratch = Registers { w32: words.to_vec(), ..Registers::default() };
    let access = stored(matrix, 4, vec![0, 1, 2, 3]);
    for (space, mask, addresses) in in_each_space(matrix.space, &addresses, mask) {
        let part = Part { space, addresses: &addresses, mask };
        require_shared(step, part)?;
        check(step, part, weak(AccessKind::Store, 16, true), Some((&scratch, &access)))?;
        defines(step, part, 16);
        lanes::each(mask, |lane| {
            for (w, row) in words.iter().enumerate() {
                lanes::store_words(&mut step.block.shared, addresses[lane] + 4 * w as u64, 4, u64::from(row[lane]));
            }
        });
    }
    step.warp.wrote = true;
    Ok(())
}

fn require_shared<O: Observer>(step: &Step<'_, '_, O>, part: Part<'_>) -> Result<(), Stop> {
    if part.space == Space::Shared {
        return Ok(());
    }
    let title = format!("the rows of a matrix lie in {} memory, not in shared memory", address::name(part.space));
    Err(step.fault(lanes::first(part.mask), "wrong-space", title))
}

/// Returns the mask of the lanes whose addresses are rows of that number of 8x8 matrices.
fn rows_mask(matrices: usize) -> u32 {
    u32::MAX >> (32 - 8 * matrices.clamp(1, 4))
}
