//! What lanes of a warp release by one instruction.
//!
//! The lanes of a group have one view, but each lane releases only its own accesses: a word that some of the lanes
//! write gets the view and these lanes. The view is shared between the words.

use super::clock::Block;
use super::tree::Tree;
use super::view::{Reach, View};

/// A release by lanes of a warp.
#[derive(Clone, Debug)]
pub(super) struct Released {
    /// The view of the lanes, without their own accesses since the warp last synchronised.
    view: Tree,
    block: u32,
    warp: u8,
    /// The releasing lanes, whose accesses up to `time` are released too.
    pub lanes: u32,
    time: u32,
}

impl Released {
    /// Returns the part of a release that the lanes of `mask` make; `None` if none of them takes part.
    pub fn by(&self, mask: u32) -> Option<Self> {
        let lanes = self.lanes & mask;
        (lanes != 0).then(|| Self { lanes, ..self.clone() })
    }

    /// Returns the whole release as a view.
    pub fn into_tree(self) -> Tree {
        let Self { mut view, block, warp, lanes, time } = self;
        view.cover(block, warp, lanes, time);
        view
    }

    /// Returns the view, which includes everything if the release was made from a view.
    pub fn folded(&self) -> &Tree {
        &self.view
    }

    /// Adds the release to a view.
    pub fn add_to(&self, tree: &mut Tree) {
        tree.join(&self.view);
        tree.cover(self.block, self.warp, self.lanes, self.time);
    }
}

/// A release whose view includes everything.
impl From<Tree> for Released {
    fn from(view: Tree) -> Self {
        Self { view, block: 0, warp: 0, lanes: 0, time: 0 }
    }
}

impl Block {
    /// Returns what a strong write by the lanes releases because of earlier fences, and at which scope.
    pub fn fenced(&self, warp: usize, lanes: u32, reach: Reach) -> Vec<(Released, Reach)> {
        let fences = self.warps[warp].fences.iter().filter(|fence| fence.lanes & lanes != 0);
        let release = |fence: &super::clock::Fence| {
            let released = self.released((warp, fence.lanes & lanes), &fence.view, fence.whole, fence.time);
            (released, fence.reach.min(reach))
        };
        fences.map(release).collect()
    }

    /// Returns what the lanes release now, by group of lanes.
    pub fn releases(&mut self, warp: usize, lanes: u32) -> Vec<Released> {
        let time = self.tick(warp);
        let whole = self.warps[warp].whole;
        let groups = self.warps[warp].groups.iter().filter(|group| group.lanes & lanes != 0);
        groups.map(|group| self.released((warp, group.lanes & lanes), &group.view, whole, time)).collect()
    }

    /// Returns what the lanes release now, together.
    pub fn release(&mut self, warp: usize, lanes: u32) -> Tree {
        let mut all = Tree::default();
        self.releases(warp, lanes).iter().for_each(|released| released.add_to(&mut all));
        all
    }

    fn released(&self, (warp, lanes): (usize, u32), view: &View, whole: u32, time: u32) -> Released {
        let (block, warp) = (self.home.block, warp as u8);
        let mut view = view.tree(block);
        view.cover(block, warp, u32::MAX, whole);
        Released { view, block, warp, lanes, time }
    }
}
