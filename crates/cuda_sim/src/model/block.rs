//! Allocations of the program.

use super::handle::Handle;

/// An allocation of the program.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub bytes: u64,
    /// Number of the device that it was allocated for.
    pub device: usize,
    pub context: Handle,
    pub held: Held,
    /// Number among all allocations.
    pub id: u64,
}

/// Where an allocation lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Device,
    /// Device memory of a pool.
    Pool(Handle),
    /// Device memory of an array.
    Array,
    /// Memory of the host that the driver allocated, with the flags of `cuMemHostAlloc`.
    Pinned(u32),
    Managed,
    /// A managed variable of a module.
    Variable,
    /// Memory of the program, with the flags of `cuMemHostRegister`.
    Registered(u32),
}

impl Held {
    /// Whether it is memory of the host, which every device accesses.
    pub fn is_on_host(self) -> bool {
        matches!(self, Self::Pinned(_) | Self::Registered(_)) || self.is_managed()
    }

    /// Whether it is managed memory, which counts as the device's and as the host's.
    pub fn is_managed(self) -> bool {
        matches!(self, Self::Managed | Self::Variable)
    }

    /// What reports call it.
    pub fn function(self) -> &'static str {
        match self {
            Self::Device => "cuMemAlloc",
            Self::Pool(_) => "cuMemAllocAsync",
            Self::Array => "cuArrayCreate",
            Self::Pinned(_) => "cuMemHostAlloc",
            Self::Managed => "cuMemAllocManaged",
            Self::Variable => "a managed variable",
            Self::Registered(_) => "cuMemHostRegister",
        }
    }
}
