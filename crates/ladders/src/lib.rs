//! The families of `kernels-gpu`: their rungs, problems and references, how results are verified and times measured.
//!
//! In reading order: where data comes from ([`input`]), the families with their rungs and references ([`kernels`]),
//! what counts as equal ([`compare`]), how time is measured ([`mod@bench`]), the vendor's libraries beside ours
//! ([`peers`]), how a group of devices solves a problem ([`group`]), inputs that are read in chunks ([`streamed`]), and
//! how numbers are explained, drawn and tabulated ([`explain`], [`plot`], [`table`]).

pub mod error;
pub mod input;
pub mod kernels;

pub mod explain;
pub mod group;

pub mod bench;
pub mod compare;
pub mod peers;
pub mod plot;
pub mod streamed;
pub mod table;
pub mod wrap;

pub use error::{Error, Result};
