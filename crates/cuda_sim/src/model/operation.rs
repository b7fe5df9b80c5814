//! The work of streams and graphs, as data.

use super::handle::Handle;
use super::order::{Order, Position};
use super::user_object::UserObject;
use std::sync::Arc;

/// One step of a stream or a graph.
#[derive(Clone, Debug)]
pub enum Operation {
    Launch(Launch),
    Copy(Copy),
    Set(Set),
    /// A copy whose bytes were read from the host when it was enqueued.
    Write(Vec<u8>, Copy),
    /// A function of the host, and its argument.
    Host {
        function: usize,
        data: usize,
    },
    /// A function that takes a stream and a result, and its argument.
    Callback {
        function: usize,
        stream: Handle,
        data: usize,
    },
    Record {
        event: Handle,
    },
    /// From here on, memory of a pool may be used.
    Allocated {
        address: u64,
    },
    /// A wait of a graph for an event.
    Wait {
        event: Handle,
    },
    Free {
        address: u64,
    },
    /// The end of a graph's use of memory, which lives as long as the graph, so that each launch finds it.
    Ended {
        address: u64,
    },
    /// The end of a graph's launch, which holds the memory of its nodes, and the program's objects.
    Release(Vec<Arc<u64>>, Vec<Arc<UserObject>>),
    /// The steps of a graph.
    Steps(Vec<Operation>),
    /// The steps of a child graph, and their order.
    Child(Vec<Operation>, Arc<Order>),
    /// A step of a graph that accesses memory.
    Node(Arc<Position>, Box<Operation>),
    /// Nothing.
    Empty,
}

/// A kernel's launch.
#[derive(Clone, Debug)]
pub struct Launch {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: Vec<Vec<u8>>,
    pub cluster: Option<[u32; 3]>,
    pub cooperative: bool,
}

/// A copy of up to three dimensions.
#[derive(Clone, Debug)]
pub struct Copy {
    pub from: Side,
    pub to: Side,
    /// Bytes of a row, rows, planes.
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

/// Where a copy reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub address: u64,
    pub kind: Kind,
    /// Bytes from a row to the next, and from a plane to the next.
    pub pitch: u64,
    pub plane: u64,
}

/// Memory of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Host,
    Device,
    /// The address says which.
    Unified,
}

/// A fill.
#[derive(Clone, Debug)]
pub struct Set {
    pub address: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Value of an element, and its bytes: 1, 2 or 4.
    pub value: u32,
    pub bytes: u64,
    /// Elements of a row, and rows.
    pub width: u64,
    pub height: u64,
}

impl Side {
    /// A row of bytes.
    pub fn row(address: u64, kind: Kind) -> Self {
        Self { address, kind, pitch: 0, plane: 0 }
    }
}

impl Copy {
    /// A copy of `bytes` bytes.
    pub fn row(to: Side, from: Side, bytes: u64) -> Self {
        Self { from, to, width: bytes, height: 1, depth: 1 }
    }

    /// Offsets of the rows at both sides: source, destination.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (from, to, height) = (self.from, self.to, self.height);
        let at = |side: Side, y: u64, z: u64| {
            side.address.wrapping_add(y.wrapping_mul(side.pitch)).wrapping_add(z.wrapping_mul(side.plane))
        };
        (0..self.depth).flat_map(move |z| (0..height).map(move |y| (at(from, y, z), at(to, y, z))))
    }
}
