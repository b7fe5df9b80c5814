//! `out[i] = a[i] + b[i]`: the smallest kernel, and the one to read first.
//!
//! Each thread starts at its own index in the grid and advances by the number of threads in the grid until it has
//! passed the end. So any grid handles any length, neighbouring threads access neighbouring elements (coalesced), and a
//! grid that fills the device once is enough. (M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride
//! Loops", 2013.)
//!
//! The kernel needs no `unsafe`: `out` is a view of which a thread reaches the elements at its own indices, and one
//! minimum of the three lengths stands for the tests of every access.
//!
//! The rungs: [`one_per_thread`], with a thread for every element; [`vecadd()`] in this file, which this text
//! describes; [`vectorised`], with 16 bytes per lane; [`best`].

use crate::number::Number;
use cuda_std::{kernel, thread, view::DisjointSlice};

pub mod best;
pub mod one_per_thread;
pub mod vectorised;

/// The idea in one line.
pub const IDEA: &str = "each thread strides by the size of the grid: any grid handles any length";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Adds two vectors of equal length; integers wrap.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub fn vecadd<T: Number>(a: &[T], b: &[T], mut out: DisjointSlice<T>) {
    let n = a.len().min(b.len()).min(out.len());
    for i in thread::unique_indices(n) {
        out[i] = a[i].add(b[i]);
    }
}
