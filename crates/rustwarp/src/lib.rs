//! Kernels on a GPU or on the simulator, from Rust: devices, memory, one function per family, and launches of kernels
//! of your own.
//!
//! ```no_run
//! let device = rustwarp::Device::default()?; // a GPU if there is one, else the simulator
//! let x = device.upload(&[1.0_f32; 1000])?;
//! assert_eq!(device.sum(&x)?, 1000.0);
//! # Ok::<(), rustwarp::Error>(())
//! ```
//!
//! - [`Device`], [`Buffer`], [`Module`], [`Launch`]: where kernels run, what they work on, and how they are started.
//!   Functions take whole buffers or parts of them, [`View`] and [`ViewMut`].
//! - [`Device::stream`], [`Event`], [`Pending`], [`PinnedBuffer`], [`Graph`]: work that runs asynchronously. Only what
//!   its documentation says waits; errors surface where results are awaited. `Device::…_async` start a function.
//! - One module per family, each with plain functions over buffers: [`mod@vecadd`], [`mod@dot`], [`mod@reduce`],
//!   [`reproducible`], [`mod@exact_sum`], [`bits`], [`mod@summary`], [`mod@segreduce`], [`mod@scan`], [`scan_by_key`],
//!   [`mod@histogram`], [`mod@transpose`], [`mod@matvec`], [`mod@matmul`], [`mod@mixed_matmul`], [`emulated`],
//!   [`accuracy`], [`mod@conv1d`], [`mod@conv2d`],
//!   [`mod@separable`]. Matrices are row-major. A function that returns a value waits for
//!   it; one that returns a buffer starts the work that writes it, and `…_into` writes to memory of the caller.
//! - Each of these modules has a `Plan`, which chooses kernel and launch configuration and allocates scratch memory
//!   once; it can be launched any number of times into memory of the caller, without further allocations. The functions
//!   make a plan and launch it once.
//! - [`streamed`]: the same for inputs in files that are larger than device memory.
//! - [`backend`]: the interface under [`Device`], for programs that verify, count or time launches.
//! - [`element`] and [`tensor`]: arrays whose element type is known at run time. [`ptx`]: which PTX is loaded.
//!
//! The kernels are in the program as PTX and machine code, or in files: see [`ptx`].

pub mod backend;
#[cfg(feature = "cudarc")]
pub mod cudarc;
pub mod diagnostic;
pub mod element;
pub mod error;
pub mod group;
pub mod ptx;
pub mod tensor;

mod buffer;
mod device;
mod event;
mod graph;
mod launch;
mod pending;
mod pinned;
mod pixel;
mod raw;
mod sync;
mod unrolled;

pub mod accuracy;
pub mod bits;
pub mod conv1d;
pub mod conv2d;
pub mod dot;
pub mod emulated;
pub mod epilogue;
pub mod exact_sum;
pub mod filter;
pub mod histogram;
pub mod matmul;
pub mod matvec;
pub mod mixed_matmul;
pub mod operators;
pub mod reduce;
pub mod reproducible;
pub mod scan;
pub mod scan_by_key;
pub mod segreduce;
pub mod separable;
pub mod streamed;
pub mod summary;
pub mod transpose;
pub mod vecadd;

pub use backend::{Atomics, Backend, Checkers, Checks, Choice, Handle, Memory, RawStream, Shape, View, ViewMut};
pub use buffer::Buffer;
pub use cuda_std::launch::Call;
pub use device::{Device, Module};
pub use diagnostic::Diagnostic;
pub use element::{Array, Dtype, Element, Scalar};
pub use error::{Error, Result};
pub use event::Event;
pub use graph::Graph;
pub use group::{Group, Launcher, Replicated, Sharded};
pub use launch::{Launch, MAX_GRID, Tuning, require_grid};
pub use pending::Pending;
pub use pinned::PinnedBuffer;
pub use ptx::Kernels;
pub use tensor::Tensor;

/// Compiles the code of the crate's README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
