//! View of a thread: its vector clock, with the component of its own block kept apart, because most synchronisation
//! stays within a block.

use super::entry::Entry;
use super::tree::Tree;
use crate::program::Scope;
use std::sync::Arc;

/// The accesses that happen before a thread's next access.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Component for the thread's own block.
    pub home: Arc<Entry>,
    /// Components for the other blocks.
    pub others: Tree,
}

impl View {
    /// Adds the view of another thread of the same block.
    pub fn join(&mut self, other: &Self) {
        self.home = Entry::join(&self.home, &other.home);
        self.others.join(&other.others);
    }

    /// Adds a release by a thread of any block; `block` is the thread's own one.
    pub fn acquire(&mut self, block: u32, released: &Tree) {
        if let Some(home) = released.get(block) {
            self.home = Entry::join(&self.home, home);
        }
        self.others.join(released);
    }

    /// Adds only the component for the thread's own block.
    pub fn acquire_home(&mut self, block: u32, released: &Tree) {
        if let Some(home) = released.get(block) {
            self.home = Entry::join(&self.home, home);
        }
    }

    /// Whether both are one view in memory, and thus equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.home, &other.home) && self.others.is_same(&other.others)
    }

    /// Returns the whole view in the form that other blocks acquire.
    pub fn tree(&self, block: u32) -> Tree {
        let mut tree = self.others.clone();
        tree.insert(block, &self.home);
        tree
    }
}

/// Scope of an operation. The simulated system has one device, so `.sys` equals `.gpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Block,
    Cluster,
    Device,
}

impl Reach {
    pub fn of(scope: Scope) -> Self {
        match scope {
            Scope::Cta => Self::Block,
            Scope::Cluster => Self::Cluster,
            Scope::Gpu | Scope::Sys => Self::Device,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Block => ".cta",
            Self::Cluster => ".cluster",
            Self::Device => ".gpu",
        }
    }
}

/// A block and its cluster, to evaluate scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Home {
    pub block: u32,
    pub cluster: u64,
}

impl Home {
    /// Whether an operation of this block at this scope includes the other block.
    pub fn reaches(self, reach: Reach, other: Self) -> bool {
        match reach {
            Reach::Block => self.block == other.block,
            Reach::Cluster => self.cluster == other.cluster,
            Reach::Device => true,
        }
    }
}
