//! The objects of the driver, as data.

mod block;
mod context;
mod current;
mod device;
mod graph;
mod handle;
mod module;
mod operation;
mod stream;
mod texture;

pub use block::{Block, Held};
pub use context::Context;
pub use current::{pop, push, replace, thread, top};
pub use device::Device;
pub use graph::{Capture, Executable, Graph, Node, kind_of};
pub use handle::Handle;
pub use module::{Function, Linker, Module, facts};
pub use operation::{Copy, Kind, Launch, Operation, Set, Side};
pub use stream::{Event, Item, Stream, Token};
pub use texture::{Array, Described, Descriptor3D, Resource, Sampling, channel_bytes};
