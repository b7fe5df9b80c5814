//! Vector clocks of one block: the view of each lane, and how barriers, `*.sync` instructions and fences change it.
//!
//! Lanes of a warp usually have equal views, so a warp keeps groups of lanes with one view each. A group is split when
//! some of its lanes synchronise alone; groups are merged at the next barrier or `*.sync` of the warp.

use super::entry::Entry;
use super::records::Record;
use super::tree::Tree;
use super::view::{Home, Reach, View};
use crate::observe::BlockShape;
use std::sync::Arc;

/// Number of relaxed reads per warp that are kept separately until a fence follows.
const PENDING: usize = 64;
const BARRIERS: usize = 16;

/// Synchronisation state of one block.
#[derive(Debug)]
pub(super) struct Block {
    pub home: Home,
    pub id: [u32; 3],
    /// Number of synchronisations so far.
    time: u32,
    pub warps: Vec<Warp>,
    pub asynchronous: bool,
    /// Views that warps which arrived without waiting contributed to each barrier.
    arrivals: [Option<View>; BARRIERS],
}

/// Synchronisation state of one warp.
#[derive(Debug)]
pub(super) struct Warp {
    /// The block's time at the warp's last synchronisation; the warp's accesses carry it as their stamp.
    pub stamp: u32,
    /// Accesses of the warp with a stamp below this happen before the next access of each of its lanes.
    pub whole: u32,
    pub groups: Vec<Group>,
    /// Fences whose view later strong writes release.
    pub fences: Vec<Fence>,
    /// Strong reads whose release a later fence acquires.
    pending: Vec<Pending>,
}

/// Lanes of a warp that have equal views.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub lanes: u32,
    pub view: View,
    /// Releases that were not acquired because a scope excludes the other side.
    pub excluded: Option<Excluded>,
}

/// A synchronisation whose scopes were too narrow.
#[derive(Clone, Debug)]
pub(super) struct Excluded {
    pub released: Tree,
    pub release: Reach,
    pub acquire: Reach,
}

/// A fence that lanes of a warp have executed.
#[derive(Debug)]
pub(super) struct Fence {
    pub lanes: u32,
    pub reach: Reach,
    pub view: View,
    pub time: u32,
    /// Value of [`Warp::whole`] at the fence.
    pub whole: u32,
}

#[derive(Debug)]
struct Pending {
    lanes: u32,
    reach: Reach,
    released: Tree,
    /// Whether the variable was released at block scope only.
    near: bool,
}

/// The lane that made an access, as far as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Lane(u8),
    /// Several lanes made it at once.
    Several,
    /// One or several lanes made it; which ones is no longer recorded.
    Unknown,
}

impl Block {
    pub fn new(shape: &BlockShape) -> Self {
        let block = u32::try_from(shape.ticket).unwrap_or(u32::MAX);
        let group = Group { lanes: u32::MAX, view: View::default(), excluded: None };
        let warp = || Warp { stamp: 1, whole: 0, groups: vec![group.clone()], fences: Vec::new(), pending: Vec::new() };
        Self {
            home: Home { block, cluster: shape.cluster },
            id: shape.block,
            time: 1,
            warps: (0..shape.warps).map(|_| warp()).collect(),
            asynchronous: false,
            arrivals: Default::default(),
        }
    }

    /// Advances a warp's time, which separates its accesses so far from its later ones.
    pub fn tick(&mut self, warp: usize) -> u32 {
        self.time = self.time.saturating_add(1);
        self.warps[warp].stamp = self.time;
        self.time
    }

    /// Synchronises the lanes of a `*.sync` instruction.
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
        let mut excluded = None;
        warp.each_group(lanes, |group| {
            excluded = excluded.take().or(group.excluded.take());
            match &mut view {
                Some(view) => view.join(&group.view),
                None => view = Some(group.view.clone()),
            }
        });
        let mut view = view.unwrap_or_default();
        Arc::make_mut(&mut view.home).cover(warp_index, lanes, time);
        warp.groups.retain(|group| group.lanes & lanes == 0);
        warp.groups.push(Group { lanes, view, excluded });
    }

    /// Adds a warp's view to a barrier that it does not wait for.
    pub fn arrive(&mut self, warp: usize, id: usize) {
        let time = self.tick(warp);
        let Some(slot) = self.arrivals.get_mut(id) else { return };
        let contributed = slot.get_or_insert_default();
        let warp_index = warp as u8;
        let warp = &self.warps[warp];
        for group in &warp.groups {
            contributed.join(&group.view);
        }
        Arc::make_mut(&mut contributed.home).cover(warp_index, u32::MAX, time);
    }

    /// Completes a barrier: the warps that waited get the union of all views contributed to it.
    pub fn barrier(&mut self, id: usize, waited: u32) {
        let all = u32::MAX >> (32 - self.warps.len().clamp(1, 32));
        let waited = waited & all;
        let time = self.time.saturating_add(1);
        self.time = time;
        let mut view = self.arrivals.get_mut(id).and_then(Option::take).unwrap_or_default();
        let mut home = Entry::default();
        let mut others = std::mem::take(&mut view.others);
        let members = || (0..self.warps.len()).filter(|warp| waited >> warp & 1 != 0);
        if waited == all {
            // This includes all that any lane can have acquired of the block, except for asynchronous accesses.
            home = Entry::whole(time);
            if self.asynchronous {
                home.keep_completed(&view.home);
                self.warps.iter().flat_map(|warp| &warp.groups).for_each(|group| home.keep_completed(&group.view.home));
            }
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
            for index in members() {
                entry.cover(index as u8, u32::MAX, time);
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
            let excluded = warp.groups.iter_mut().find_map(|group| group.excluded.take());
            warp.groups.clear();
            warp.groups.push(Group { lanes: u32::MAX, view: view.clone(), excluded });
        }
    }

    /// Executes a fence: later strong writes release the lanes' current view, and the releases that earlier strong
    /// reads saw are acquired.
    pub fn fence(&mut self, warp: usize, lanes: u32, reach: Reach) {
        self.acquire_pending(warp, lanes, reach);
        let time = self.tick(warp);
        let warp = &mut self.warps[warp];
        // This fence includes earlier ones of the same or a narrower scope.
        for fence in warp.fences.iter_mut().filter(|fence| fence.reach <= reach) {
            fence.lanes &= !lanes;
        }
        warp.fences.retain(|fence| fence.lanes != 0);
        for group in warp.groups.iter().filter(|group| group.lanes & lanes != 0) {
            let (view, whole) = (group.view.clone(), warp.whole);
            warp.fences.push(Fence { lanes: group.lanes & lanes, reach, view, time, whole });
        }
    }

    /// Acquires a release for the lanes. `near`: the scope of the reader or the writer limits it to the thread's own
    /// block.
    pub fn acquire(&mut self, warp: usize, lanes: u32, released: &Tree, near: bool) {
        let block = self.home.block;
        let groups = &mut self.warps[warp].groups;
        for at in 0..groups.len() {
            let group = &groups[at];
            let here = group.lanes & lanes;
            if here == 0 {
                continue;
            }
            let mut view = group.view.clone();
            match near {
                true => view.acquire_home(block, released),
                false => view.acquire(block, released),
            }
            if view.is_same(&group.view) {
                continue;
            }
            let rest = Group { lanes: group.lanes & !lanes, ..group.clone() };
            if rest.lanes != 0 {
                groups.push(rest);
            }
            (groups[at].lanes, groups[at].view) = (here, view);
        }
    }

    /// Records a release that the lanes would acquire if the scopes were wide enough.
    pub fn exclude(&mut self, warp: usize, lanes: u32, released: &Tree, release: Reach, acquire: Reach) {
        self.warps[warp].each_group(lanes, |group| {
            let kept = group.excluded.get_or_insert(Excluded { released: Tree::default(), release, acquire });
            kept.released.join(released);
            (kept.release, kept.acquire) = (release, acquire);
        });
    }

    /// Records a release that the lanes have read; a later fence acquires it.
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
                self.exclude(warp, here, &read.released, read.reach, reach);
            }
        }
        pending.retain(|read| read.lanes != 0);
        self.warps[warp].pending = pending;
    }

    /// Whether a lane has read, without acquiring it, a release that would order an access before it.
    pub fn awaits_fence(&self, warp: usize, lane: u8, record: &Record) -> bool {
        let covers = |read: &Pending| read.released.get(record.block).is_some_and(|entry| covers(entry, record));
        self.warps[warp].pending.iter().any(|read| read.lanes >> lane & 1 != 0 && covers(read))
    }

    /// Whether an earlier access happens before every access that the warp makes now, for all lanes involved.
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

    /// Stamp below which all accesses of the thread's own block are settled; later ones may be too.
    #[inline(always)]
    pub fn floor(&self, warp: usize) -> u32 {
        self.warps[warp].groups.iter().map(|group| group.view.home.all()).min().unwrap_or_default()
    }

    /// Whether no lane of a warp has acquired anything from another block.
    #[inline(always)]
    pub fn has_acquired_nothing(&self, warp: usize) -> bool {
        self.warps[warp].groups.iter().all(|group| group.view.others.is_empty())
    }

    /// Whether an earlier access by `who` happens before an access that a lane makes now; true when in doubt.
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

    /// Whether the release covered another lane of the access's warp: then the releasing lane missed a `bar.warp.sync`.
    pub fn releases_a_neighbour(&self, warp: usize, lane: u8, record: &Record) -> bool {
        self.ordered(warp, lane, record, Who::Unknown) && record.block != self.home.block
    }

    /// Returns the scopes of the synchronisation that were too narrow to order an access before a lane.
    pub fn too_narrow(&self, warp: usize, lane: u8, record: &Record) -> Option<(Reach, Reach)> {
        let group = self.warps[warp].groups.iter().find(|group| group.lanes >> lane & 1 != 0)?;
        let kept = group.excluded.as_ref()?;
        covers(kept.released.get(record.block)?, record).then_some((kept.release, kept.acquire))
    }
}

fn covers(entry: &Entry, record: &Record) -> bool {
    entry.covers_any(record.warp, u32::MAX, record.stamp)
}

impl Warp {
    /// Calls `change` for every group of the lanes, after splitting the groups that contain other lanes as well.
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

    /// Merges all groups; their lanes get the union of the views.
    fn unite(&mut self) {
        let mut groups = std::mem::take(&mut self.groups).into_iter();
        let Some(mut all) = groups.next() else { return };
        for group in groups {
            all.view.join(&group.view);
            all.excluded = all.excluded.or(group.excluded);
        }
        all.lanes = u32::MAX;
        self.groups.push(all);
    }
}
