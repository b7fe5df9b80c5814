//! What a thread knows: of its own block, where nearly all synchronisation is, and of all others.

use super::entry::Entry;
use super::tree::Tree;
use crate::program::Scope;
use std::sync::Arc;

/// Accesses that are ordered before whatever a thread does next.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Of the thread's own block.
    pub home: Arc<Entry>,
    /// Of the other blocks.
    pub others: Tree,
}

impl View {
    /// Takes over what another thread of the same block knows.
    pub fn join(&mut self, other: &Self) {
        self.home = Entry::join(&self.home, &other.home);
        self.others.join(&other.others);
    }

    /// Takes over what threads of any block released; `block` is the own one.
    pub fn learn(&mut self, block: u32, released: &Tree) {
        if let Some(home) = released.get(block) {
            self.home = Entry::join(&self.home, home);
        }
        self.others.join(released);
    }

    /// Takes over what was released of the own block alone.
    pub fn learn_home(&mut self, block: u32, released: &Tree) {
        if let Some(home) = released.get(block) {
            self.home = Entry::join(&self.home, home);
        }
    }

    /// Everything, as other blocks are told it.
    pub fn tree(&self, block: u32) -> Tree {
        let mut tree = self.others.clone();
        tree.learn(block, &self.home);
        tree
    }
}

/// Who an operation is meant for. The whole system is one device here.
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

/// A block, as far as scopes are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Home {
    pub block: u32,
    pub cluster: u64,
}

impl Home {
    /// Does an operation of this block with this reach include the other block?
    pub fn reaches(self, reach: Reach, other: Self) -> bool {
        match reach {
            Reach::Block => self.block == other.block,
            Reach::Cluster => self.cluster == other.cluster,
            Reach::Device => true,
        }
    }
}
