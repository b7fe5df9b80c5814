//! The machine: memory, warps in lockstep, blocks, the grid.
//!
//! Reading order: [`config`] (what goes in and out), `grid` (blocks over worker threads), `block`, `warp` (which lanes
//! are where), `execute` (the loop over instructions) and `control`, then the instructions that are more than bits in
//! registers: `access`, `transfer`, `atomics`, `asynchronous` with `in_flight` and `mbarrier`, `cluster`, `barriers`,
//! `collectives`, `calls`, `externs`.

mod access;
mod asynchronous;
mod atomics;
mod barriers;
mod block;
mod budget;
mod calls;
mod cluster;
mod collectives;
mod control;
mod execute;
mod externs;
mod faults;
mod grid;
mod history;
mod in_flight;
mod launch;
mod livelock;
mod matrix;
mod mbarrier;
mod module;
mod presets;
mod printf;
mod schedule;
mod stuck;
mod texture;
mod validate;
mod warp;

pub(crate) use grid::{Context, run};
pub use launch::Launch;
pub(crate) use launch::Setup;
pub(crate) use module::{Identity, Module};
pub(crate) use texture::handle as texture_handle;
pub(crate) use validate::launch as validate;
