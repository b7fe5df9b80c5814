//! Synchronisation variables: releases to a word of memory or to another object that threads synchronise through.

use super::clock::Block;
use super::releases::Released;
use super::tree::Tree;
use super::view::{Home, Reach};
use crate::observe::Variable as Named;

/// Number of releases kept separately before they are merged, which a variable without acquires never needs.
const LOG: usize = 8;
/// Number of a warpgroup's products whose releases are kept.
const KEPT: u64 = 256;

/// One synchronisation variable.
#[derive(Debug, Default)]
pub(super) struct Variable {
    /// Releases at device scope.
    device: Vec<Released>,
    /// The block that made them, if only one did.
    only: Option<u32>,
    /// Releases at block or cluster scope.
    near: Vec<(Reach, Home, Tree)>,
}

impl Variable {
    /// Adds a release by threads of a block.
    pub fn release(&mut self, home: Home, reach: Reach, released: Released) {
        if reach == Reach::Device {
            self.only =
                if self.device.is_empty() { Some(home.block) } else { self.only.filter(|&only| only == home.block) };
            self.device.push(released);
            if self.device.len() > LOG {
                self.fold();
            }
            return;
        }
        let same = |other: &&mut (Reach, Home, Tree)| match reach {
            Reach::Block => other.0 == reach && other.1.block == home.block,
            _ => other.0 == reach && other.1.cluster == home.cluster,
        };
        match self.near.iter_mut().find(same) {
            Some((_, _, tree)) => released.add_to(tree),
            None => self.near.push((reach, home, released.into_tree())),
        }
    }

    /// Applies a read by lanes of a block: it acquires at once, or (`later`) at the next fence.
    pub fn read(&mut self, block: &mut Block, warp: usize, lanes: u32, reach: Reach, later: bool) {
        self.fold();
        let home = block.home;
        let mut take = |released: &Tree, reach: Reach, near: bool| match later {
            true => block.postpone(warp, lanes, released, reach, near),
            false => block.acquire(warp, lanes, released, near),
        };
        if let Some(released) = self.device.first().map(Released::folded) {
            // A read at block scope sees what its own block released, and thus what that release covers of the reader's
            // block.
            take(released, reach, reach == Reach::Block && self.only != Some(home.block));
        }
        for (_, _, released) in self.near.iter().filter(|(reach, from, _)| from.reaches(*reach, home)) {
            take(released, Reach::Block, false);
        }
        let too_far = reach == Reach::Block && self.only != Some(home.block);
        if let Some(released) = self.device.first().filter(|_| too_far).map(Released::folded) {
            block.exclude(warp, lanes, released, Reach::Device, reach);
        }
        for (near, _, released) in self.near.iter().filter(|(reach, from, _)| !from.reaches(*reach, home)) {
            block.exclude(warp, lanes, released, *near, reach);
        }
    }

    fn fold(&mut self) {
        if let [one] = self.device.as_slice()
            && one.lanes == 0
        {
            return;
        }
        let mut releases = std::mem::take(&mut self.device).into_iter();
        if let Some(mut all) = releases.next().map(Released::into_tree) {
            releases.for_each(|released| released.add_to(&mut all));
            self.device.push(all.into());
        }
    }
}

/// Returns the phase before the last one, which no thread waits for any more.
pub(super) fn before_last(variable: Named) -> Option<Named> {
    match variable {
        Named::ClusterBarrier { cluster, phase } => {
            phase.checked_sub(2).map(|phase| Named::ClusterBarrier { cluster, phase })
        }
        Named::Mbarrier { owner, address, phase } => {
            phase.checked_sub(2).map(|phase| Named::Mbarrier { owner, address, phase })
        }
        // A group has few products that some warp has not waited for.
        Named::Warpgroup { owner, group, number } => {
            number.checked_sub(KEPT).map(|number| Named::Warpgroup { owner, group, number })
        }
    }
}
