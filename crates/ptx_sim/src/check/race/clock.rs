//! The clocks of one block: what its lanes know, and how barriers, `*.sync` instructions and fences change that.
//!
//! Lanes of a warp mostly know the same, so a warp keeps groups of lanes that do. A group parts when some of its lanes
//! synchronise alone, and comes together again at the next barrier or `*.sync` of the warp.

use super::entry::Entry;
use super::records::Record;
use super::tree::Tree;
use super::view::{Home, Reach, View};
use crate::observe::BlockShape;
use std::sync::Arc;

/// Relaxed reads of a warp whose fences have not come yet that are kept apart.
const PENDING: usize = 64;
const BARRIERS: usize = 16;

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    pub home: Home,
    pub id: [u32; 3],
    /// Synchronisations so far.
    time: u32,
    pub warps: Vec<Warp>,
    /// What warps that did not wait brought to each barrier.
    arrivals: [Option<View>; BARRIERS],
}

/// One warp.
#[derive(Debug)]
pub(super) struct Warp {
    /// The block's time at the warp's last synchronisation; what its accesses are stamped with.
    pub stamp: u32,
    /// Accesses of the warp with a stamp below this are ordered before all its lanes.
    whole: u32,
    pub groups: Vec<Group>,
    /// Fences, to be released by strong writes that follow.
    fences: Vec<Fence>,
    /// Strong reads, to be acquired by fences that follow.
    pending: Vec<Pending>,
}

/// Lanes that know the same.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub lanes: u32,
    pub view: View,
    /// What scopes that don't include both sides have kept from being known.
    pub kept_away: Option<KeptAway>,
}

/// A synchronisation whose scopes were too narrow.
#[derive(Clone, Debug)]
pub(super) struct KeptAway {
    pub released: Tree,
    pub release: Reach,
    pub acquire: Reach,
}

#[derive(Debug)]
struct Fence {
    lanes: u32,
    reach: Reach,
    view: View,
    time: u32,
    /// [`Warp::whole`] at that time.
    whole: u32,
}

#[derive(Debug)]
struct Pending {
    lanes: u32,
    reach: Reach,
    released: Tree,
    /// The variable was released to the block alone.
    near: bool,
}

/// How sure it is which lane made an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Lane(u8),
    /// Several lanes at once.
    Several,
    /// One or several, which is not known any more.
    Unknown,
}

impl Block {
    pub fn new(shape: &BlockShape) -> Self {
        let block = u32::try_from(shape.ticket).unwrap_or(u32::MAX);
        let group = Group { lanes: u32::MAX, view: View::default(), kept_away: None };
        let warp = || Warp { stamp: 1, whole: 0, groups: vec![group.clone()], fences: Vec::new(), pending: Vec::new() };
        Self {
            home: Home { block, cluster: shape.cluster },
            id: shape.block,
            time: 1,
            warps: (0..shape.warps).map(|_| warp()).collect(),
            arrivals: Default::default(),
        }
    }

    /// Time goes on for a warp: what it did so far is told apart from what it does from now on.
    fn tick(&mut self, warp: usize) -> u32 {
        self.time = self.time.saturating_add(1);
        self.warps[warp].stamp = self.time;
        self.time
    }

    /// Lanes have met at a `*.sync` instruction.
    pub fn meet(&mut self, warp: usize, lanes: u32, live: u32) {
        let time = self.tick(warp);
        let warp_index = warp as u8;
        let warp = &mut self.warps[warp];
        if lanes == live {
            warp.unite();
            warp.whole = time;
            return;
        }
        let mut view: Option<View> = None;
        let mut kept_away = None;
        warp.each_group(lanes, |group| {
            kept_away = kept_away.take().or(group.kept_away.take());
            match &mut view {
                Some(view) => view.join(&group.view),
                None => view = Some(group.view.clone()),
            }
        });
        let mut view = view.unwrap_or_default();
        Arc::make_mut(&mut view.home).learn(warp_index, lanes, time);
        warp.groups.retain(|group| group.lanes & lanes == 0);
        warp.groups.push(Group { lanes, view, kept_away });
    }

    /// A warp brings what it knows to a barrier and goes on.
    pub fn arrive(&mut self, warp: usize, id: usize) {
        let time = self.tick(warp);
        let Some(slot) = self.arrivals.get_mut(id) else { return };
        let brought = slot.get_or_insert_default();
        let warp_index = warp as u8;
        let warp = &self.warps[warp];
        for group in &warp.groups {
            brought.join(&group.view);
        }
        Arc::make_mut(&mut brought.home).learn(warp_index, u32::MAX, time);
    }

    /// A barrier completes: those who waited know what all knew when they came.
    pub fn barrier(&mut self, id: usize, waited: u32) {
        let all = u32::MAX >> (32 - self.warps.len().clamp(1, 32));
        let waited = waited & all;
        self.time = self.time.saturating_add(1);
        let time = self.time;
        let mut view = self.arrivals.get_mut(id).and_then(Option::take).unwrap_or_default();
        let mut home = Entry::default();
        let mut others = std::mem::take(&mut view.others);
        let members = || (0..self.warps.len()).filter(|warp| waited >> warp & 1 != 0);
        if waited == all {
            // Nothing can be known of the own block that this does not include.
            home = Entry::whole(time);
        }
        for index in members() {
            for group in &self.warps[index].groups {
                others.join(&group.view.others);
            }
        }
        let mut home = Arc::new(home);
        if waited != all {
            home = Entry::join(&home, &view.home);
            for index in members() {
                for group in &self.warps[index].groups {
                    home = Entry::join(&home, &group.view.home);
                }
            }
            let entry = Arc::make_mut(&mut home);
            for index in (0..self.warps.len()).filter(|warp| waited >> warp & 1 != 0) {
                entry.learn(index as u8, u32::MAX, time);
            }
        }
        let view = View { home, others };
        for (_, warp) in self.warps.iter_mut().enumerate().filter(|(index, _)| waited >> index & 1 != 0) {
            (warp.stamp, warp.whole) = (time, time);
            if let [group] = warp.groups.as_mut_slice() {
                group.lanes = u32::MAX;
                group.view.clone_from(&view);
                continue;
            }
            let kept_away = warp.groups.iter_mut().find_map(|group| group.kept_away.take());
            warp.groups.clear();
            warp.groups.push(Group { lanes: u32::MAX, view: view.clone(), kept_away });
        }
    }

    /// A fence: releases what the lanes know now by the strong writes that follow, acquires what the strong reads
    /// before it saw.
    pub fn fence(&mut self, warp: usize, lanes: u32, reach: Reach) {
        self.acquire_pending(warp, lanes, reach);
        let time = self.tick(warp);
        let warp = &mut self.warps[warp];
        // What a fence of the same or a narrower reach has set aside is included in this one.
        for fence in warp.fences.iter_mut().filter(|fence| fence.reach <= reach) {
            fence.lanes &= !lanes;
        }
        warp.fences.retain(|fence| fence.lanes != 0);
        for group in warp.groups.iter().filter(|group| group.lanes & lanes != 0) {
            let (view, whole) = (group.view.clone(), warp.whole);
            warp.fences.push(Fence { lanes: group.lanes & lanes, reach, view, time, whole });
        }
    }

    /// What a strong write by the lanes releases because of the fences before it, and to whom.
    pub fn fenced(&self, warp: usize, lanes: u32, reach: Reach) -> Vec<(Tree, Reach)> {
        let index = warp as u8;
        let warp = &self.warps[warp];
        let fences = warp.fences.iter().filter(|fence| fence.lanes & lanes != 0);
        let release = |fence: &Fence| {
            let mut view = fence.view.clone();
            let home = Arc::make_mut(&mut view.home);
            home.learn(index, u32::MAX, fence.whole);
            home.learn(index, fence.lanes & lanes, fence.time);
            (view.tree(self.home.block), fence.reach.min(reach))
        };
        fences.map(release).collect()
    }

    /// What the lanes release now.
    pub fn release(&mut self, warp: usize, lanes: u32) -> Tree {
        let time = self.tick(warp);
        let (block, index) = (self.home.block, warp as u8);
        let warp = &self.warps[warp];
        let mut released: Option<Tree> = None;
        for group in warp.groups.iter().filter(|group| group.lanes & lanes != 0) {
            let mut view = group.view.clone();
            let home = Arc::make_mut(&mut view.home);
            home.learn(index, u32::MAX, warp.whole);
            home.learn(index, group.lanes & lanes, time);
            let tree = view.tree(block);
            match &mut released {
                Some(released) => released.join(&tree),
                None => released = Some(tree),
            }
        }
        released.unwrap_or_default()
    }

    /// The lanes see what was released; `near`: the reader's or the writer's scope limits it to the own block.
    pub fn acquire(&mut self, warp: usize, lanes: u32, released: &Tree, near: bool) {
        let block = self.home.block;
        self.warps[warp].each_group(lanes, |group| match near {
            true => group.view.learn_home(block, released),
            false => group.view.learn(block, released),
        });
    }

    /// The lanes would see what was released, did the scopes allow it.
    pub fn keep_away(&mut self, warp: usize, lanes: u32, released: &Tree, release: Reach, acquire: Reach) {
        self.warps[warp].each_group(lanes, |group| {
            let kept = group.kept_away.get_or_insert(KeptAway { released: Tree::default(), release, acquire });
            kept.released.join(released);
            (kept.release, kept.acquire) = (release, acquire);
        });
    }

    /// The lanes have read what was released, and acquire it if a fence follows.
    pub fn postpone(&mut self, warp: usize, lanes: u32, released: &Tree, reach: Reach, near: bool) {
        let pending = &mut self.warps[warp].pending;
        let full = pending.len() >= PENDING;
        let alike = |other: &&mut Pending| (other.reach, other.near) == (reach, near) && (full || other.lanes == lanes);
        match pending.iter_mut().find(alike) {
            Some(other) => {
                other.lanes |= lanes;
                other.released.join(released);
            }
            None => pending.push(Pending { lanes, reach, released: released.clone(), near }),
        }
    }

    fn acquire_pending(&mut self, warp: usize, lanes: u32, reach: Reach) {
        if self.warps[warp].pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.warps[warp].pending);
        for read in pending.iter_mut().filter(|read| read.lanes & lanes != 0) {
            let here = read.lanes & lanes;
            if reach >= read.reach || read.near {
                self.acquire(warp, here, &read.released, read.near);
                read.lanes &= !lanes;
            } else {
                self.acquire(warp, here, &read.released, true);
                self.keep_away(warp, here, &read.released, read.reach, reach);
            }
        }
        pending.retain(|read| read.lanes != 0);
        self.warps[warp].pending = pending;
    }

    /// Has a lane read, without acquiring it, what would order an access before it?
    pub fn awaits_fence(&self, warp: usize, lane: u8, record: &Record) -> bool {
        let covers = |read: &Pending| read.released.get(record.block).is_some_and(|entry| knows(entry, record));
        self.warps[warp].pending.iter().any(|read| read.lanes >> lane & 1 != 0 && covers(read))
    }

    /// Is an earlier access ordered before everything that the warp does now, whichever lanes are concerned?
    #[inline(always)]
    pub fn settled(&self, warp: usize, record: &Record) -> bool {
        let own = record.block == self.home.block;
        let warp_index = warp as u8;
        let warp = &self.warps[warp];
        if own && record.warp == warp_index && record.stamp < warp.whole {
            return true;
        }
        warp.groups.iter().all(|group| {
            let entry = if own { Some(&group.view.home) } else { group.view.others.get(record.block) };
            entry.is_some_and(|entry| entry.covers_warp(record.warp, record.stamp))
        })
    }

    /// Accesses of the own block with a stamp below this are settled; others may be too.
    #[inline(always)]
    pub fn floor(&self, warp: usize) -> u32 {
        self.warps[warp].groups.iter().map(|group| group.view.home.all()).min().unwrap_or_default()
    }

    /// Does no lane of a warp know anything of other blocks?
    #[inline(always)]
    pub fn knows_only_itself(&self, warp: usize) -> bool {
        self.warps[warp].groups.iter().all(|group| group.view.others.is_empty())
    }

    /// Is an earlier access by `who` ordered before what a lane does now? In doubt, yes.
    pub fn ordered(&self, warp: usize, lane: u8, record: &Record, who: Who) -> bool {
        let own = record.block == self.home.block;
        let same_warp = own && usize::from(record.warp) == warp;
        let warp = &self.warps[warp];
        if same_warp && (record.stamp < warp.whole || who == Who::Unknown || who == Who::Lane(lane)) {
            return true;
        }
        let lanes = match who {
            Who::Lane(lane) => 1 << lane,
            Who::Several if same_warp => !(1 << lane),
            Who::Several | Who::Unknown => u32::MAX,
        };
        let Some(group) = warp.groups.iter().find(|group| group.lanes >> lane & 1 != 0) else { return true };
        let entry = if own { Some(&group.view.home) } else { group.view.others.get(record.block) };
        entry.is_some_and(|entry| entry.covers_any(record.warp, lanes, record.stamp))
    }

    /// Is any other lane of the access's warp known that far? Then the lane that released forgot its neighbours.
    pub fn knows_a_neighbour(&self, warp: usize, lane: u8, record: &Record) -> bool {
        self.ordered(warp, lane, record, Who::Unknown) && record.block != self.home.block
    }

    /// The synchronisation whose scopes kept an access from being ordered before a lane.
    pub fn too_narrow(&self, warp: usize, lane: u8, record: &Record) -> Option<(Reach, Reach)> {
        let group = self.warps[warp].groups.iter().find(|group| group.lanes >> lane & 1 != 0)?;
        let kept = group.kept_away.as_ref()?;
        knows(kept.released.get(record.block)?, record).then_some((kept.release, kept.acquire))
    }
}

fn knows(entry: &Entry, record: &Record) -> bool {
    entry.covers_any(record.warp, u32::MAX, record.stamp)
}

impl Warp {
    /// Calls `change` for every group of the lanes, after parting the groups that only some of the lanes are in.
    fn each_group(&mut self, lanes: u32, mut change: impl FnMut(&mut Group)) {
        let mut at = 0;
        while at < self.groups.len() {
            let here = self.groups[at].lanes & lanes;
            if here != 0 && here != self.groups[at].lanes {
                let rest = Group { lanes: self.groups[at].lanes & !lanes, ..self.groups[at].clone() };
                self.groups[at].lanes = here;
                self.groups.push(rest);
            }
            if here != 0 {
                change(&mut self.groups[at]);
            }
            at += 1;
        }
    }

    /// All lanes know what any of them knew.
    fn unite(&mut self) {
        let mut groups = std::mem::take(&mut self.groups).into_iter();
        let Some(mut all) = groups.next() else { return };
        for group in groups {
            all.view.join(&group.view);
            all.kept_away = all.kept_away.or(group.kept_away);
        }
        all.lanes = u32::MAX;
        self.groups.push(all);
    }
}
