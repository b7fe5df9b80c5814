//! Several devices that work as one: GPUs of one process, of many processes, of many machines, or simulators.
//!
//! ```no_run
//! let group = rustwarp::Group::all()?; // every GPU of this machine
//! let x = group.shard(&vec![1.0_f32; 1 << 20])?; // each has a part
//! assert_eq!(group.sum(&x)?, 1048576.0);
//! # Ok::<(), rustwarp::Error>(())
//! ```
//!
//! - [`Group`]: the devices, each of which is a *rank*. [`Group::of`] takes devices of this process; [`Group::join`]
//!   joins the ranks of other processes, one device each, which a [`Launcher`] has started.
//! - [`Sharded`]: memory of which each rank has a part. [`Replicated`]: memory of which each rank has a copy.
//! - Functions over both, whose results every rank gets: [`Group::sum`], [`Group::max`], [`Group::min`],
//!   [`Group::exact_sum`], [`Group::dot`], [`Group::histogram`], [`Group::inclusive_scan`], [`Group::segmented_sum`],
//!   [`Group::matmul`], [`Group::matmul_blocks`]. [`Group::reduce_streamed`] and its like read inputs of any size.
//!
//! In a group of many processes every rank makes the same calls in the same order. Ranks that differ, a rank that does
//! not come within the time-out, and one that ends are errors on all other ranks, which name it.
//!
//! GPUs communicate by NCCL, which is opened at run time; simulators through memory, or through the store of rank 0.
//!
//! - *Error bounds*: those of the functions for one device, with as many additions more as there are ranks.
//! - *Determinism*: the results of the ranks are combined in their order. So bits are fixed by length, grid and number
//!   of ranks; [`Group::exact_sum`] has the same bits for any number of ranks.

mod blocks;
mod collectives;
mod devices;
mod dot;
mod exact_sum;
mod gather;
mod histogram;
mod join;
mod keeper;
mod kept;
mod launcher;
mod matmul;
mod peers;
mod plans;
mod reduce;
mod replicated;
mod scan;
mod segreduce;
mod sharded;
mod simulated;
mod store;
mod streamed;

pub use blocks::{Blocks, Grid};
pub use devices::Group;
pub use launcher::Launcher;
pub use replicated::Replicated;
pub use sharded::Sharded;
