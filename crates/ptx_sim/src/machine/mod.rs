//! The machine: warps in lockstep, blocks, the grid. It is generic over one observer, and names no checker or counter.
//!
//! Reading order. State: `launch` (what goes in), `context` (shared by all workers), `worker`, `pool`, `block`, `warp`
//! (which lanes are where), `frame`, `barrier`, `in_flight`, `mbarrier`. Methods of the worker: `grid` (blocks over
//! worker threads), `turns` (warps of a block) and `execute` (the loop over instructions). Then `step` (one warp at
//! one instruction), `part` and `access` (the lanes of an access, and its checks), and by topic the functions that
//! execute a step: `control`, `load_store`, `atomics`, `discard`, `asynchronous`, `issue`, `completion`, `premature`,
//! `mbarriers`, `cluster`, `cluster_barrier`, `barriers`, `collectives`, `matrix`, `warpgroup`, `texture`, `calls`,
//! `externs`.

mod access;
mod afford;
mod apart;
mod asynchronous;
mod atomics;
mod barrier;
mod barriers;
mod block;
mod blocked;
mod boxed;
mod budget;
mod calls;
mod cluster;
mod cluster_barrier;
mod collectives;
mod completion;
mod context;
mod control;
mod discard;
mod execute;
mod externs;
mod faults;
mod frame;
mod grid;
mod history;
mod in_flight;
mod issue;
mod keep_going;
mod key;
mod launch;
mod livelock;
mod load_store;
mod matrix;
mod mbarrier;
mod mbarrier_objects;
mod mbarriers;
mod module;
mod part;
mod pool;
mod position;
mod premature;
mod presets;
mod printf;
mod schedule;
mod step;
mod stillness;
mod stuck;
mod tensor;
mod tensor_maps;
mod texture;
mod turns;
mod validate;
mod warp;
mod warpgroup;
mod wide_atomics;
mod worker;

pub(crate) use context::{Context, Kernel};
pub(crate) use grid::run;
pub use launch::Launch;
pub(crate) use launch::{Setup, most_workers};
pub(crate) use module::Module;
pub(crate) use texture::handle as texture_handle;
pub(crate) use validate::launch as validate;
