//! The interface of a device, [`Backend`], and its two implementations: a GPU and the simulator. Every algorithm is
//! written once, for this interface.

mod allocation;
mod capacity;
mod collective;
mod gpu;
mod handle;
mod identity;
mod info;
mod interface;
mod memory;
mod observed;
pub mod occupancy;
mod open;
mod options;
mod pinned;
mod queue;
mod sampling;
mod shape;
mod sim;
mod stream;
mod streams;
mod tensor_map;
pub mod texture;
mod units;

pub(crate) use allocation::{Foreign, Owner};
pub use capacity::{require_host_memory, require_memory};
pub(crate) use collective::{Collective, Message, Part, Reduction};
pub(crate) use gpu::nccl::{Communicators, new_id, version as nccl_version};
pub use handle::Handle;
pub(crate) use handle::require_same_device;
pub use identity::{DeviceId, Module};
pub use info::DeviceInfo;
pub use interface::{Backend, Pitched};
pub use memory::{Buffer, Memory, View, ViewMut};
pub use observed::{Analysis, Between, Counters, Device, Entry, Fidelity, Observed, SourceLine};
pub(crate) use open::{adopt, open_asynchronous};
pub use open::{entries, explaining, explaining_larger, gpus, open, open_printing, simulator};
pub use options::{
    Atomics, CHECKERS, Checker, Checkers, Checks, Choice, Code, Printed, SameValue, Severity, Simulation, Volatile,
    code,
};
pub(crate) use pinned::{Block, Pool};
pub use queue::Queue;
pub(crate) use queue::{Use, Used, keep};
pub use shape::Shape;
pub use streams::{RawStream, Streams};
pub use tensor_map::TensorLayout;
pub use texture::{Sampling, Texture};
pub use units::{extent_text, human};
