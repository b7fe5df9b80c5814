//! Products of matrices in the registers of a warp. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".

mod dot;
mod layout;

use crate::program::{Matrix, Multiply, Sum};
use crate::registers::{LANES, NO_SLOT, Registers, Slot};

/// `d = a * b + c` for `mma` and `wmma.mma`.
pub(crate) fn multiply(registers: &mut Registers, matrix: &Matrix, shape: &Multiply) {
    let a = gather(registers, &matrix.a, shape.a.bits(), shape.m, shape.k, |r, lane, j| layout::a(shape, r, lane, j));
    // Columns of `b` side by side, so that both factors of a sum of products are read in order.
    let b = gather(registers, &matrix.b, shape.b.bits(), shape.n, shape.k, |r, lane, j| {
        let (row, column) = layout::b(shape, r, lane, j);
        (column, row)
    });
    let c = gather(registers, &matrix.c, sum_bits(shape.c), shape.m, shape.n, |r, lane, j| {
        layout::sum(shape, shape.c, r, lane, j)
    });
    let d = dot::products(shape, &a, &b, &c);
    scatter(registers, &matrix.d, sum_bits(shape.d), |r, lane, j| {
        let (row, column) = layout::sum(shape, shape.d, r, lane, j);
        d[row * shape.n + column]
    });
}

fn sum_bits(sum: Sum) -> usize {
    match sum {
        Sum::F16 => 16,
        Sum::F32 | Sum::S32 => 32,
        Sum::F64 => 64,
    }
}

/// The elements of a matrix, by row, from where the lanes hold them.
fn gather(
    registers: &Registers,
    slots: &[Slot],
    bits: usize,
    rows: usize,
    columns: usize,
    place: impl Fn(usize, usize, usize) -> (usize, usize),
) -> Vec<u64> {
    let mut found = vec![0; rows * columns];
    for (r, &slot) in slots.iter().enumerate() {
        for lane in 0..LANES {
            if bits == 64 {
                let (row, column) = place(r, lane, 0);
                found[row * columns + column] = registers.w64[slot as usize][lane];
                continue;
            }
            let word = u64::from(registers.w32[slot as usize][lane]);
            for j in 0..32 / bits {
                let (row, column) = place(r, lane, j);
                found[row * columns + column] = word >> (j * bits) & ((1 << bits) - 1);
            }
        }
    }
    found
}

/// The other way.
fn scatter(registers: &mut Registers, slots: &[Slot], bits: usize, value: impl Fn(usize, usize, usize) -> u64) {
    for (r, &slot) in slots.iter().enumerate().filter(|(_, slot)| **slot != NO_SLOT) {
        for lane in 0..LANES {
            if bits == 64 {
                registers.w64[slot as usize][lane] = value(r, lane, 0);
                continue;
            }
            let word = (0..32 / bits).fold(0, |word, j| word | value(r, lane, j) << (j * bits));
            registers.w32[slot as usize][lane] = word as u32;
        }
    }
}
