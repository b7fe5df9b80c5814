//! Product of a matrix and a vector: `y[i] = sum over k of a[i][k] * x[k]`. BLAS calls it `gemv`.
//!
//! Each element of the matrix is needed once, so that the memory's speed is the limit: what counts is how the matrix is
//! read. The vector is needed by every row and stays in the caches.
//!
//! The rungs: [`thread_per_row`] reads a row-major matrix a row apart; [`warp_per_row`] reads neighbours; [`best`]
//! keeps many loads in flight for any shape. For a matrix that is stored transposed, neighbouring threads of
//! [`thread_per_row`] read neighbours, and [`columns`] is what `best` launches.
//!
//! Elements of 16 bits are multiplied and added as f32. Products are not rounded: each is fused with its addition.
//! Every rung adds in an order fixed by the sizes, the launch and the places between 16-byte boundaries, so the result
//! has the same bits in every run.
//!
//! Sources: cuBLAS documentation (`gemv`); Harris 2007 for the sums of a block; NVIDIA's `threadFenceReduction` sample
//! for the last block.

pub mod best;
pub mod columns;
pub mod thread_per_row;
pub mod warp_per_row;

mod lines;
mod output;

pub use crate::number::{Bf16, Entry, F16};
pub use crate::product::A_TRANSPOSED;
pub use lines::{ALIGNED, SHIFTED, SINGLE, STREAMED};

/// How far apart the neighbours in a column and in a row of a matrix of `rows` by `columns` are stored, in elements.
#[inline(always)]
fn steps(rows: u32, columns: u32, stored: u32) -> [usize; 2] {
    if stored & A_TRANSPOSED != 0 { [1, rows as usize] } else { [columns as usize, 1] }
}
