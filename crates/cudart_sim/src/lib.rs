//! The CUDA runtime API over the driver's public API, so that what `nvcc -cudart shared` makes runs with any driver,
//! `cuda_sim` among them.
//!
//! The libraries that programs load are `cudart12_sim` (`libcudart.so.12`) and `cudart13_sim` (`libcudart.so.13`):
//! each adds to this crate the functions whose meaning or structures differ between the two. Each file of `api/` has
//! one chapter of the runtime API. What the API has and this library lacks returns `cudaErrorNotSupported` and is
//! logged by name.
//!
//! The only state is what the API itself has: the code that the program has registered (`registry`), and per thread its
//! device, its last error and the launch that `<<<…>>>` has configured.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("the runtime library is built for 64-bit Linux only");

pub mod api;
pub mod code;
pub mod context;
pub mod driver;
pub mod entry;
mod log;
mod registry;
pub mod resource;
