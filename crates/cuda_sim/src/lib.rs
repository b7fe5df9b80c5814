//! The CUDA driver's library, whose device is the simulator of `ptx_sim`: a program that uses CUDA runs unmodified on a
//! machine without a GPU, under all checkers.
//!
//! Built as `libcuda.so.1`, it is found by a program whose `LD_LIBRARY_PATH` starts with its folder. Each file of
//! `api/` has one chapter of the driver API: functions that check their arguments and act on the state, which one
//! lock protects. What the driver API has and this library lacks returns `CUDA_ERROR_NOT_SUPPORTED` and is logged by
//! name, once; so are tables that are not documented (`cuGetExportTable`), whose code is `CUDA_ERROR_INVALID_VALUE`.
//!
//! # Order of execution
//!
//! Work of a stream runs in the call that enqueues it, unless it has to wait for a function of the host, in its stream
//! or in another one: then it runs when that has returned. Work of different streams never overlaps. A fault is
//! reported as it happens. As on a GPU, the launch succeeds, and later calls in its context return the error. What
//! kernels print is shown by the calls that the documentation lists, and when the program ends.
//!
//! # Settings
//!
//! Environment variables, read by `cuInit`: `RUSTWARP_SIM_PROFILE` (device: name or TOML file), `RUSTWARP_SIM_DEVICES`
//! (their number), `RUSTWARP_SIM_CHECKS` (names of checkers,
//! `streams`, `host`, `defects`, `all`, or `none`, by commas), `RUSTWARP_SIM_SEED` (seed of
//! the schedule), `RUSTWARP_SIM_FUEL` and `RUSTWARP_SIM_TIMEOUT` (limits on the warp instructions and the seconds of a
//! launch), `RUSTWARP_SIM_ATOMICS` (`source`, `ptx`), `RUSTWARP_SIM_SAME_VALUE` (`report`, `ignore`) and
//! `RUSTWARP_SIM_VOLATILE` (`strong`, `weak`) (how the race checker interprets atomics without an ordering, writes of
//! one value, and volatile accesses), `RUSTWARP_SIM_KEEP_GOING` (`1` goes on after a faulty access to memory),
//! `RUSTWARP_SIM_LEAKS` (`1` reports memory that is never freed), `RUSTWARP_SIM_REPORT` (file to
//! which findings are appended as JSON), `RUSTWARP_SIM_LOG` (file, or `-` for the standard error output, for calls that
//! are not supported) and `RUSTWARP_SIM_TRACE` (`1` logs every call).

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("the driver's library is built for 64-bit Linux only");

mod api;
mod code;
mod entry;
mod host_memory;
mod image;
mod log;
mod model;
mod report;
mod settings;
mod state;
mod watch;

pub use code::{Code, describe};
#[doc(hidden)]
pub use state::retained;
