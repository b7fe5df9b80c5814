//! The objects of the driver, as data.

mod accessed;
mod block;
mod clock;
mod context;
mod current;
mod device;
mod graph;
mod handle;
mod module;
mod operation;
mod order;
mod pool;
mod stream;
mod texture;
mod user_object;

pub use accessed::{Access, Accessed, Kernel, Watched, Work};
pub use block::{Block, Held};
pub use clock::{Clock, Token};
pub use context::{Context, OfThread};
pub use current::{pop, push, replace, thread, top};
pub use device::Device;
pub use graph::{Capture, Executable, Graph, Node, Step, kind_of};
pub use handle::Handle;
pub use module::{Function, Jit, Linker, Module, facts};
pub use operation::{Copy, Kind, Launch, Operation, Set, Side};
pub use order::{Order, Position};
pub use pool::Pool;
pub use stream::{Event, Item, Stream};
pub use texture::{Array, Described, Descriptor3D, Resource, Sampling, channel_bytes};
pub use user_object::UserObject;
