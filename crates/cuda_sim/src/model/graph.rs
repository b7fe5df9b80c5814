//! Graphs.

use super::handle::Handle;
use super::operation::Operation;
use super::order::Order;
use super::user_object::UserObject;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A graph.
#[derive(Default)]
pub struct Graph {
    /// Its nodes, in the order in which they were added.
    pub nodes: Vec<Handle>,
    /// Addresses that its nodes allocate. Whoever can run the nodes holds them: clones, executables, launches.
    pub memory: Vec<Arc<u64>>,
    /// Objects of the program that it refers to, and the number of references, by handle. Executables and launches hold
    /// them, too.
    pub objects: BTreeMap<Handle, (Arc<UserObject>, u32)>,
}

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    pub graph: Handle,
    pub operation: Operation,
    /// Type, by the number of `CUgraphNodeType`.
    pub kind: u32,
    pub after: Vec<Handle>,
}

/// A node of an executable graph, with its type and its operation.
pub type Step = (Handle, u32, Operation);

/// An executable graph: its nodes with their operations, each after those that it depends on.
pub struct Executable {
    pub steps: Vec<Step>,
    pub order: Arc<Order>,
    pub memory: Vec<Arc<u64>>,
    pub objects: Vec<Arc<UserObject>>,
}

/// The part of a capture that a stream has.
#[derive(Clone)]
pub struct Capture {
    /// Number of the capture: the handle of its graph.
    pub graph: Handle,
    /// Whether the capture began in this stream.
    pub origin: bool,
    /// The nodes that the stream's next node depends on.
    pub after: Vec<Handle>,
    /// Whether a call that a capture does not allow has ended it; the stream leaves it with `cuStreamEndCapture`.
    pub is_invalid: bool,
    /// The thread that must end it, by its number; `None` for any.
    pub thread: Option<usize>,
}

/// The number of the node's type.
pub fn kind_of(operation: &Operation) -> u32 {
    match operation {
        Operation::Launch(_) => 0,
        Operation::Copy(_) | Operation::Write(..) => 1,
        Operation::Set(_) => 2,
        Operation::Host { .. } | Operation::Callback { .. } => 3,
        Operation::Node(_, operation) => kind_of(operation),
        Operation::Steps(_) | Operation::Child(..) => 4,
        Operation::Empty | Operation::Release(..) => 5,
        Operation::Wait { .. } => 6,
        Operation::Record { .. } => 7,
        Operation::Allocated { .. } => 10,
        Operation::Free { .. } | Operation::Ended { .. } => 11,
    }
}
