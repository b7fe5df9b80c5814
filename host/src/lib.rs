//! Runs the kernels of `kernels-gpu` on a GPU or on the simulator, verifies what they compute, and times them.
//!
//! In reading order: what an array is ([`element`], [`tensor`]), where data comes from ([`input`]), which PTX is taken
//! ([`ptx`]), what a device can do ([`backend`]), the families with their variants and references ([`kernels`]), what
//! counts as equal ([`compare`]), how time is measured ([`mod@bench`]), whom
//! we are measured against ([`peers`]), how numbers are drawn ([`plot`]), and what can go wrong ([`diagnostic`],
//! [`sarif`], [`error`]). [`cli`] is the command line over it.

pub mod element;
pub mod input;
pub mod ptx;
pub mod tensor;

pub mod backend;
pub mod kernels;

pub mod explain;

pub mod bench;
pub mod compare;
pub mod diagnostic;
pub mod error;
pub mod peers;
pub mod plot;
pub mod sarif;

pub mod cli;

pub use backend::{Atomics, Backend, Buffer, Checkers, Checks, Choice, Module, Shape};
pub use diagnostic::Diagnostic;
pub use element::{Array, Dtype, Element, Scalar};
pub use error::{Error, Result};
pub use tensor::Tensor;
