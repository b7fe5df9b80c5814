//! Devices, memory, modules and launches, on a GPU or on the simulator through the same calls.
//!
//! In reading order: element types and arrays ([`element`], [`tensor`]), which PTX is loaded ([`ptx`]), what a device
//! can do ([`backend`]), and what can go wrong ([`diagnostic`], [`error`]).

pub mod backend;
pub mod diagnostic;
pub mod element;
pub mod error;
pub mod ptx;
pub mod tensor;

pub use backend::{Atomics, Backend, Buffer, Checkers, Checks, Choice, Module, Shape};
pub use cuda_std::launch::Call;
pub use diagnostic::Diagnostic;
pub use element::{Array, Dtype, Element, Scalar};
pub use error::{Error, Result};
pub use tensor::Tensor;
