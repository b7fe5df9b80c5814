//! Products of matrices in the registers of a warp. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".

mod descriptor;
mod dot;
mod layout;
mod quick;
mod shape;
mod sparse;
mod term;

use crate::registers::{LANES, NO_SLOT, Registers, Slot};
pub use descriptor::Form;
pub(crate) use descriptor::{CHUNK, Descriptor, extent};
pub use shape::{Element, Fragment, Multiply, Order2, Sparse, Sum};
pub use sparse::Invalid;
pub(crate) use sparse::lanes as metadata_lanes;

/// `d = a * b + c` for `mma` and `wmma.mma`, with the rows that hold `d`, `a`, `b` and `c`, and the metadata of a
/// sparse `a`.
///
/// # Errors
/// [`Invalid`] if PTX gives the metadata no meaning.
pub(crate) fn multiply(
    registers: &mut Registers,
    [d_rows, a_rows, b_rows, c_rows]: [&[Slot]; 4],
    metadata: Option<Slot>,
    shape: &Multiply,
) -> Result<(), Invalid> {
    let depth = shape.depth();
    let a = gather(registers, a_rows, shape.a.bits(), shape.m, depth, |r, lane, j| layout::a(shape, r, lane, j));
    // The columns of `b` are stored contiguously, so that both factors of a sum of products are read in order.
    let b = gather(registers, b_rows, shape.b.bits(), shape.n, shape.k, |r, lane, j| {
        let (row, column) = layout::b(shape, r, lane, j);
        (column, row)
    });
    let c = gather(registers, c_rows, shape.c.bits(), shape.m, shape.n, |r, lane, j| {
        layout::sum(shape, shape.c, r, lane, j)
    });
    let d = match (shape.sparse, metadata) {
        (Some(sparse), Some(slot)) => {
            let columns = sparse::columns(shape, sparse, &registers.w32[slot as usize])?;
            sparse_products(shape, &a, &b, &c, &columns)
        }
        _ => dot::products(shape, &a, &b, &c, false),
    };
    scatter(registers, d_rows, shape.d.bits(), |r, lane, j| {
        let (row, column) = layout::sum(shape, shape.d, r, lane, j);
        d[row * shape.n + column]
    });
    Ok(())
}

/// Computes all elements of a product by row, given the columns of the stored elements of `a`. Each row is a product of
/// half the depth with the rows of `b` that it meets, as on an H200.
fn sparse_products(shape: &Multiply, a: &[u64], b: &[u64], c: &[u64], columns: &[usize]) -> Vec<u64> {
    let (depth, n) = (shape.depth(), shape.n);
    let one = Multiply { m: 1, k: depth, sparse: None, ..*shape };
    let mut met = vec![0; depth * n];
    let row = |row: usize| {
        for (q, &column) in columns[row * depth..][..depth].iter().enumerate() {
            (0..n).for_each(|j| met[j * depth + q] = b[j * shape.k + column]);
        }
        dot::products(&one, &a[row * depth..][..depth], &met, &c[row * n..][..n], false)
    };
    (0..shape.m).flat_map(row).collect()
}

/// `d = a * b + d`, or `d = a * b` unless `adds`, for a warp's 16 rows of a `wgmma`. `b` is by column; the fragments of
/// `a` are in the rows of registers, or the matrix is given by row.
pub(crate) fn multiply_group(
    registers: &mut Registers,
    d: &[Slot],
    a: Result<&[u64], &[Slot]>,
    b: &[u64],
    shape: &Multiply,
    (adds, negated): (bool, [bool; 2]),
) {
    let a = match a {
        Ok(matrix) => matrix.to_vec(),
        Err(slots) => {
            gather(registers, slots, shape.a.bits(), shape.m, shape.k, |r, lane, j| layout::a(shape, r, lane, j))
        }
    };
    let sign = |negated: bool, bits: usize| if negated { 1 << (bits - 1) } else { 0 };
    let flip = |matrix: &[u64], sign: u64| -> Vec<u64> { matrix.iter().map(|bits| bits ^ sign).collect() };
    let a = flip(&a, sign(negated[0], shape.a.bits()));
    let b = flip(b, sign(negated[1], shape.b.bits()));
    let place = |r: usize, lane: usize, j: usize| layout::group_sum(shape.d, r, lane, j);
    let c = match adds {
        true => gather(registers, d, shape.d.bits(), shape.m, shape.n, place),
        false => vec![0; shape.m * shape.n],
    };
    let sums = dot::products(shape, &a, &b, &c, true);
    scatter(registers, d, shape.d.bits(), |r, lane, j| {
        let (row, column) = place(r, lane, j);
        sums[row * shape.n + column]
    });
}

/// Collects the elements of a matrix, by row, from the lanes' registers.
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

/// Distributes the elements of a matrix to the lanes' registers.
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
