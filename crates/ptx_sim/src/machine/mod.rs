//! The machine: warps in lockstep, blocks, the grid. It is generic over one observer, and names no checker or counter.
//!
//! Reading order. State: `launch` (what goes in), `context` (shared by all workers), `worker`, `block`, `warp` (which
//! lanes are where), `frame`, `barrier`, `in_flight`, `mbarrier`. Steps: `grid` (blocks over worker threads), `turns`
//! (warps of a block), `execute` (the loop over instructions) and `control`, then the instructions that are more than
//! bits in registers: `access`, `atomics`, `asynchronous`, `copies`, `mbarriers`, `cluster`, `barriers`, `collectives`,
//! `matrix`, `texture`, `calls`, `externs`.

mod access;
mod afford;
mod asynchronous;
mod atomics;
mod barrier;
mod barriers;
mod block;
mod budget;
mod calls;
mod cluster;
mod collectives;
mod context;
mod control;
mod copies;
mod execute;
mod externs;
mod faults;
mod frame;
mod grid;
mod history;
mod in_flight;
mod key;
mod launch;
mod livelock;
mod matrix;
mod mbarrier;
mod mbarriers;
mod module;
mod presets;
mod printf;
mod schedule;
mod stillness;
mod stuck;
mod texture;
mod turns;
mod validate;
mod warp;
mod worker;

pub(crate) use context::Context;
pub(crate) use grid::run;
pub use launch::Launch;
pub(crate) use launch::Setup;
pub(crate) use module::{Identity, Module};
pub(crate) use texture::handle as texture_handle;
pub(crate) use validate::launch as validate;
