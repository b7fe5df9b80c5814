//! `ldmatrix` and `stmatrix`: lanes hold the addresses of the rows of matrices in shared memory, each of 16 bytes. PTX
//! ISA, "ldmatrix" and "stmatrix"; for matrices of bytes, which the manual shows in figures, the layouts of CUTLASS
//! (`cute/atom/copy_traits_sm100.hpp`): the lanes 0 to 15 hold the addresses of the first 16x16 matrix.

use super::{defines, set, stored, transpose, weak};
use crate::lanes;
use crate::machine::access::check;
use crate::machine::part::{Part, addresses, in_each_space};
use crate::machine::step::Step;
use crate::memory::address;
use crate::observe::{AccessKind, Observer};
use crate::program::{Matrix, RowFormat, Space, Transposed};
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
    transposed: Transposed,
    format: RowFormat,
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
            let row = std::array::from_fn(|word| {
                lanes::load_words(&step.block.shared, addresses[lane] + 4 * word as u64, 4) as u32
            });
            rows[lane] = unpack(row, format);
        });
    }
    for (i, &slot) in matrix.d.iter().enumerate() {
        let held = std::array::from_fn(|lane| rows[8 * i + lane / 4][lane % 4]);
        let held = match transposed {
            Transposed::No => held,
            Transposed::Halves => transpose(&held),
            Transposed::Bytes => columns(&rows[i / 2 * 16..], i % 2 * 8),
        };
        set(registers, slot, held);
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
    transposed: Transposed,
) -> Result<(), Stop> {
    let Some(address) = &matrix.address else { return Ok(()) };
    let addresses = addresses(registers, address);
    let mask = rows_mask(matrix.a.len());
    // Word `w` of the matrix row whose address a lane holds.
    let mut words = [[0; LANES]; 4];
    for (i, &slot) in matrix.a.iter().enumerate() {
        let held = registers.w32[slot as usize];
        let held = match transposed {
            Transposed::No => held,
            Transposed::Halves => transpose(&held),
            Transposed::Bytes => rows_of_columns(&held),
        };
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

/// Converts a row in memory to 16 bytes, whose upper bits are zero if the elements are narrower.
fn unpack(row: [u32; 4], format: RowFormat) -> [u32; 4] {
    let bits = match format {
        RowFormat::Bytes => return row,
        RowFormat::Six => 6,
        RowFormat::Four => 4,
    };
    let packed = row.iter().rev().fold(0u128, |all, word| all << 32 | u128::from(*word));
    let element = |i: usize| (packed >> (bits * i) & ((1 << bits) - 1)) as u8;
    std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|i| element(4 * word + i))))
}

/// Returns eight columns of a 16x16 matrix of bytes, from column `first`: lane `4 c + r` holds of the `c`th column the
/// four elements from row `4 r`.
fn columns(rows: &[[u32; 4]], first: usize) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let column = first + lane / 4;
        let element = |row: usize| rows[row][column / 4].to_le_bytes()[column % 4];
        u32::from_le_bytes(std::array::from_fn(|i| element(lane % 4 * 4 + i)))
    })
}

/// Transposes a 16x8 matrix of bytes, of which lane `4 r + c` holds the columns `2 c` and `2 c + 1` of the rows `r` and
/// `r + 8`. In the result, the lanes `4 c` to `4 c + 3` hold column `c`.
fn rows_of_columns(held: &[u32; LANES]) -> [u32; LANES] {
    let element = |row: usize, column: usize| held[4 * (row % 8) + column / 2].to_le_bytes()[row / 8 * 2 + column % 2];
    std::array::from_fn(|lane| u32::from_le_bytes(std::array::from_fn(|i| element(lane % 4 * 4 + i, lane / 4))))
}

fn require_shared<O: Observer>(step: &Step<'_, '_, O>, part: Part<'_>) -> Result<(), Stop> {
    if part.space == Space::Shared {
        return Ok(());
    }
    let title = format!("the rows of a matrix lie in {} memory, not in shared memory", address::name(part.space));
    Err(step.fault(lanes::first(part.mask), "wrong-space", title))
}

/// Returns the mask of the lanes whose addresses are used where a lane has that number of registers.
fn rows_mask(registers: usize) -> u32 {
    u32::MAX >> (32 - 8 * registers.clamp(1, 4))
}
