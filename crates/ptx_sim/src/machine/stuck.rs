//! Deadlock reports: the threads that wait, and where.

use super::block::Block;
use super::key::Key;
use super::mbarrier_objects;
use super::warp::State;
use super::warpgroup;
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Site};
use crate::stop::{Diagnostic, Place, Stop, StopKind, Triple};

/// Maximum number of places named in a report.
const MOST: usize = 8;

/// Threads that wait for the same reason at the same instruction.
struct Waiting {
    reason: String,
    site: Site,
    threads: u32,
    warps: u32,
}

/// Builds the stop for a block none of whose threads can make progress: blocks wait only for their own threads.
pub fn deadlock<O: Observer>(worker: &Worker<'_, O>, block: &Block<O::Block>) -> Stop {
    let title = format!("deadlock: no thread of block {} can make progress", Triple(block.id));
    let mut diagnostic = Diagnostic::new("deadlock", title);
    describe_waiting(worker, block, &mut diagnostic);
    Stop::new(StopKind::Stuck, diagnostic)
}

fn describe_mbarrier<O: Observer>(worker: &Worker<'_, O>, block: &Block<O::Block>, key: Key) -> String {
    let name = mbarrier_objects::shared_name(worker, key);
    let peers = worker.resident.iter().flatten().map(|peer| &**peer);
    let found = peers.chain([block]).find(|peer| peer.ticket == key.block);
    match found.and_then(|peer| peer.in_flight.mbarriers.get(&key.offset)) {
        Some(mbarrier) => format!("{name}, whose {mbarrier},"),
        None => name,
    }
}

/// Adds the places of a block's threads; threads that wait for the same reason are grouped.
pub fn describe_waiting<O: Observer>(worker: &Worker<'_, O>, block: &Block<O::Block>, diagnostic: &mut Diagnostic) {
    let mut groups: Vec<Waiting> = Vec::new();
    let mut add = |warp: u32, mask: u32, reason: String, site: Site| {
        let (threads, warps) = (mask.count_ones(), 1 << warp);
        match groups.iter_mut().find(|group| group.site == site && group.reason == reason) {
            Some(group) => {
                group.threads += threads;
                group.warps |= warps;
            }
            None => groups.push(Waiting { reason, site, threads, warps }),
        }
    };
    for warp in &block.warps {
        for split in &warp.splits {
            let waiting = block.in_flight.waits.get(&warp.index).filter(|found| split.mask & !found.lanes == 0);
            if let (State::Ready, Some(waiting)) = (split.state, waiting) {
                let reason = format!("wait for the mbarrier {}", describe_mbarrier(worker, block, waiting.mbarrier));
                add(warp.index, split.mask, reason, waiting.site);
                continue;
            }
            let reason = match split.state {
                State::ClusterBarrier => "wait at the cluster barrier".to_owned(),
                State::Ready => "run, possibly in a waiting loop,".to_owned(),
                State::Barrier { id } => format!("wait at barrier {id}"),
                State::Warpgroup { until } => warpgroup::missing(block, warp.index, until),
                State::Collective { mask, .. } => format!("wait for {}", lanes::describe(mask & warp.live)),
            };
            add(warp.index, split.mask, reason, warp.site(split));
        }
        for join in warp.joins.iter().filter(|join| join.arrived != 0) {
            let missing = lanes::describe(join.expected & !join.arrived);
            let function = warp.frames[join.frame as usize].function;
            let site = Site { function, pc: join.pc };
            add(warp.index, join.arrived, format!("wait at a reconvergence point for {missing}"), site);
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.threads));
    let more = groups.len().saturating_sub(MOST);
    for Waiting { reason, site, threads, warps } in groups.into_iter().take(MOST) {
        let who = lanes::describe(warps).replace("lane", "warp");
        let place = Place::of(worker.context.program, site.function, site.pc);
        let of = match worker.context.cluster_blocks {
            1 => String::new(),
            _ => format!(" of block {}", Triple(block.id)),
        };
        diagnostic.related.push((format!("{threads} threads of {who}{of} {reason} here:"), place));
    }
    if more > 0 {
        diagnostic.notes.push(format!("threads wait at {more} more places"));
    }
}
