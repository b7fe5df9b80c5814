//! The functions of the runtime API, by chapter of its documentation.

pub mod array;
pub mod copy;
pub mod device;
mod error;
mod event;
mod fill;
mod function;
mod graph;
mod host;
pub mod launch;
mod library;
mod memory;
mod node;
mod occupancy;
mod peer;
pub mod pointer;
mod pool;
mod refused;
mod register;
pub mod start;
pub mod stream;
mod symbol;
pub mod texture;
