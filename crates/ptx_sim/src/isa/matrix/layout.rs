//! Distribution of matrix elements over lanes. PTX ISA, "Matrix Fragments for mma.m8n8k4" to "… mma.m16n8k256".
//!
//! Lanes form eight groups of four. In every shape a group holds a row of `a` (and of the sums) and a column of `b`;
//! shapes with 16 rows have the rows 8 to 15 in further registers.

use super::shape::{Fragment, Multiply, Order2, Sum};

/// Returns row and column of element `j` of register `r` of `a`.
pub fn a(shape: &Multiply, r: usize, lane: usize, j: usize) -> (usize, usize) {
    if let Some([order, _]) = shape.wmma {
        let fragment = Fragment { rows: shape.m, columns: shape.k, bits: shape.a.bits(), order, sum: false };
        return fragment.place(r, lane, j);
    }
    let per_register = (32 / shape.a.bits()).max(1);
    let (group, within) = (lane / 4, lane % 4);
    let halves = shape.m / 8;
    (group + 8 * (r % halves), within * per_register + j + r / halves * 4 * per_register)
}

/// Returns row and column of element `j` of register `r` of `b`.
pub fn b(shape: &Multiply, r: usize, lane: usize, j: usize) -> (usize, usize) {
    if let Some([_, order]) = shape.wmma {
        let fragment = Fragment { rows: shape.k, columns: shape.n, bits: shape.b.bits(), order, sum: false };
        return fragment.place(r, lane, j);
    }
    let per_register = (32 / shape.b.bits()).max(1);
    ((lane % 4) * per_register + j + r * 4 * per_register, lane / 4)
}

/// Returns row and column of element `j` of register `r` of `c` and `d`.
pub fn sum(shape: &Multiply, kind: Sum, r: usize, lane: usize, j: usize) -> (usize, usize) {
    if shape.wmma.is_some() {
        let bits = kind.bits();
        let order = Order2::Row;
        return Fragment { rows: shape.m, columns: shape.n, bits, order, sum: true }.place(r, lane, j);
    }
    let element = if kind == Sum::F16 { 2 * r + j } else { r };
    (lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2)
}

/// Returns row and column of element `j` of register `r` of the sums of `wgmma`, among a warp's 16 rows: the sums of
/// eight columns lie as in `mma`, and further registers have the next eight.
pub fn group_sum(kind: Sum, r: usize, lane: usize, j: usize) -> (usize, usize) {
    let element = if kind == Sum::F16 { 2 * r + j } else { r };
    (lane / 4 + 8 * (element / 2 % 2), element / 4 * 8 + lane % 4 * 2 + element % 2)
}
