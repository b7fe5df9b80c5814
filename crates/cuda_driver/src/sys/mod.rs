//! The part of the driver API that the library uses, with the names, types and values of NVIDIA's `cuda.h`.
//!
//! Each function looks its symbol up in the driver's library on first use. Without a driver it returns
//! `CUDA_ERROR_NO_DEVICE`; where the driver is too old to have the symbol, `CUDA_ERROR_NOT_SUPPORTED`.

mod functions;
mod types;

pub use functions::*;
pub use types::*;
