//! Views of device memory with which ordinary kernels need no `unsafe`.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// `out[i] = a[i] + b[i]`, for as many elements as all three have.
//! #[kernel]
//! pub fn add(a: &[f32], b: &[f32], mut out: DisjointSlice<f32>) {
//!     let n = a.len().min(b.len()).min(out.len());
//!     for i in thread::unique_indices(n) {
//!         out[i] = a[i] + b[i];
//!     }
//! }
//! ```
//!
//! # Outputs
//! Every thread of a launch has the same [`DisjointSlice`], and each reaches the elements at its own indices alone. The
//! proof is the type of the index: only the functions of [`thread`](crate::thread) create a
//! [`UniqueIndex`](crate::thread::UniqueIndex). [`DisjointMatrix`] and [`DisjointVolume`] are the same in two and three
//! dimensions; the host sets their shape, so all threads agree about it.
//!
//! - Indices of one dimension are unique in launches of one dimension. The launcher records how many dimensions the
//!   kernel's views allow (`Call::dimensions`), and a launch with more is refused. Whoever starts an entry otherwise
//!   upholds this, along with the types of the parameters.
//! - A thread's indices differ from those of another thread modulo the number of threads, whether they come from
//!   [`unique_index`](crate::thread::unique_index) or from
//!   [`unique_indices`](crate::thread::unique_indices), which is why a kernel can use both with one view.
//! - On the host a view is made of a mutable borrow of the memory, so an output is not also an input.
//!
//! # Counters
//! Elements that any thread changes are a slice of [`Atomic`](crate::atomic::Atomic), for which the host passes
//! `SliceMut::atomic`:
//!
//! ```
//! use cuda_std::atomic::{AtomicU32, Ordering};
//! use cuda_std::prelude::*;
//!
//! /// Counts the bytes of each value.
//! #[kernel]
//! pub fn count(input: &[u8], counts: &[AtomicU32]) {
//!     for i in thread::unique_indices(input.len()) {
//!         if let Some(counter) = counts.get(usize::from(input[i])) {
//!             counter.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//! ```
//!
//! Nothing else changes them:
//!
//! ```compile_fail,E0594
//! # use cuda_std::atomic::AtomicU32;
//! fn reset(counts: &[AtomicU32], zero: fn() -> AtomicU32) {
//!     counts[0] = zero();
//! }
//! ```
//!
//! # Shared memory
//! A [`SharedTile`] belongs to the block. The block fills it together, and reads it after the barrier that ends the
//! filling.
//!
//! # Bounds
//! `out[i]` panics beyond the end and `get_mut` returns `None`. In a loop over
//! [`unique_indices(n)`](crate::thread::unique_indices), where `n` is the minimum of the lengths, the compiler removes
//! the tests in the loop. In nested loops it does not; [`DisjointMatrix::rows_mut`] needs no tests. [`Matrix`] does the
//! same for rows and columns of an input: one test for a row or a column, none for its elements.
//!
//! The idea of an index as a proof of disjointness is that of cuda-oxide's `DisjointSlice`.

mod disjoint;
mod input;
mod matrix;
mod slice;
mod tile;
mod volume;

#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
pub use tile::Storage;

pub use disjoint::{Disjoint, Shape};
pub use input::{Column, Matrix};
pub use matrix::{DisjointMatrix, Rows};
pub use slice::{DisjointSlice, Length};
pub use tile::{FilledTile, SharedTile, Word};
pub use volume::{DisjointVolume, Planes};
