//! The interface of a device, [`Backend`], and its two implementations: a GPU and the simulator. Every algorithm is
//! written once, for this interface.

mod capacity;
mod gpu;
mod handle;
mod interface;
mod memory;
mod observed;
pub mod occupancy;
mod open;
mod options;
mod sampling;
mod sim;
pub mod texture;
mod units;

pub use capacity::{require_host_memory, require_memory};
pub use handle::Handle;
pub use interface::{Backend, DeviceInfo, Module, Shape};
pub use memory::{Buffer, Memory, View, ViewMut};
pub use observed::{Analysis, Counters, Device, Entry, Fidelity, Observed, SourceLine};
pub use open::{entries, explaining, gpus, open, open_printing, simulator};
pub use options::{
    Atomics, CHECKERS, Checker, Checkers, Checks, Choice, Code, Printed, SameValue, Severity, Simulation, code,
};
pub use texture::{Sampling, Texture};
pub use units::{extent_text, human};
