//! Start of a block, and scheduling of its warps and of their lanes.

use super::barrier::Barrier;
use super::block::{BARRIERS, Block, BlockTurn, WarpTurn};
use super::in_flight::InFlight;
use super::warp::{State, Warp};
use super::warpgroup::Groups;
use super::worker::Worker;
use super::{barriers, blocked, cluster_barrier, completion, stuck};
use crate::observe::{BlockShape, Observer, Shadow};
use crate::stop::Stop;

/// Number of warp instructions that a warp executes before the next warp runs.
const SLICE: u64 = 4096;
/// The same for a warp that only polls memory, after `STILL` rounds over all blocks without a change.
const POLLS: u64 = 16;
const STILL: u64 = 1;
/// Number of rounds over the warps after which other blocks run even if this one shows no sign of waiting.
const ROUNDS: u32 = 64;
/// The same after `STILL` rounds over all blocks without a change.
const STILL_ROUNDS: u32 = 8;
/// Number of full slices without a sign of waiting after which other lanes of the warp run anyway.
const STALE: u32 = 256;
/// Number of warp instructions after which a slice that looks like waiting ends at the next jump backwards.
const PATIENCE: u64 = 64;

impl<O: Observer> Worker<'_, O> {
    /// Creates a block at its first instruction.
    pub fn begin(&mut self, ticket: u64) -> Block<O::Block> {
        let context = self.context;
        let id = context.block_id(ticket);
        let warps = context.threads.div_ceil(32);
        let shape = BlockShape {
            ticket,
            cluster: ticket / context.cluster_blocks,
            grid: context.grid,
            block: id,
            threads: context.block,
            warps,
            shared_bytes: context.shared_bytes,
        };
        let mut block = Block {
            ticket,
            cluster: ticket / context.cluster_blocks,
            parked: false,
            cluster_phase: 0,
            in_flight: InFlight::default(),
            changed_maps: Vec::new(),
            groups: Groups::default(),
            id,
            warps: Vec::with_capacity(warps as usize),
            shared: vec![0; context.shared_bytes.div_ceil(8) as usize * 2],
            barriers: [Barrier::default(); BARRIERS],
            live: u32::MAX >> (32 - warps),
            observed: self.observer.begin(&shape),
            printed: String::new(),
            states: self.observer.shadow().fresh(context.shared_bytes),
        };
        // What the system keeps there counts as written.
        block.states.defines_start(context.layout.reserved);
        for index in 0..warps {
            let lanes = (context.threads - index * 32).min(32);
            let warp = self.begin_warp(id, index, u32::MAX >> (32 - lanes));
            block.warps.push(warp);
        }
        block
    }

    /// Runs a block until it ends or other blocks should run.
    ///
    /// # Errors
    /// The stop of an instruction that faults, or of a deadlock.
    pub fn run_block(&mut self, block: &mut Block<O::Block>) -> Result<BlockTurn, Stop> {
        let rounds = if self.watch.rounds >= STILL { STILL_ROUNDS } else { ROUNDS };
        for _ in 0..rounds {
            let mut progress = false;
            let mut waiting = true;
            let warps = block.warps.len();
            let (first, step) = self.schedule.round(warps);
            let mut next = first;
            for _ in 0..warps {
                let index = next;
                next += step;
                next -= if next < warps { 0 } else { warps };
                if block.live >> index & 1 == 0 || block.warps[index].waits_at.is_some() {
                    continue;
                }
                // The warp is taken out, so that it and the rest of the block can be modified independently.
                let mut warp = self.placeholder.take().unwrap_or_default();
                std::mem::swap(&mut block.warps[index], &mut warp);
                let before = self.clock;
                let polls = self.watch.rounds >= STILL && warp.waits();
                let slice = self.schedule.slice(if polls { POLLS } else { SLICE });
                let turn = self.run_warp(block, &mut warp, slice);
                self.note_changes(&warp);
                progress |= self.clock != before || turn.as_ref().is_ok_and(|turn| *turn == WarpTurn::Done);
                waiting &= matches!(turn, Ok(WarpTurn::Over { waiting: true }));
                std::mem::swap(&mut block.warps[index], &mut warp);
                self.placeholder = Some(warp);
                if turn? == WarpTurn::Done {
                    self.end_warp(block, index as u32);
                }
                if self.schedule.take_preempted() && block.live != 0 {
                    self.check_limits(block)?;
                    return Ok(BlockTurn::Over);
                }
            }
            if block.live == 0 {
                completion::finish(self, block)?;
                return Ok(BlockTurn::Done);
            }
            if !progress {
                if block.warps.iter().any(|warp| warp.cluster.arrived != 0) {
                    block.parked = true;
                    return Ok(BlockTurn::Parked);
                }
                return Err(stuck::deadlock(self, block));
            }
            self.check_limits(block)?;
            if waiting || self.schedule.once_in(8) {
                return Ok(BlockTurn::Over);
            }
        }
        Ok(BlockTurn::Over)
    }

    fn end_warp(&mut self, block: &mut Block<O::Block>, index: u32) {
        block.live &= !(1 << index);
        block.warps[index as usize].reset();
        cluster_barrier::settle(self, block, None);
        barriers::after_exit(self, block);
    }

    /// Runs a warp until its slice is used up or none of its lanes can run.
    ///
    /// # Errors
    /// The stop of an instruction that faults.
    pub fn run_warp(&mut self, block: &mut Block<O::Block>, warp: &mut Warp, slice: u64) -> Result<WarpTurn, Stop> {
        let mut fuel = slice;
        // When nothing changes, slices of one iteration each repeat a state soonest.
        warp.patience = if self.schedule.calm { slice } else { slice.saturating_sub(PATIENCE) };
        (warp.polled, warp.wrote, warp.stored) = (false, false, false);
        loop {
            let Some(ready) = self.schedule.ready(warp) else {
                if warp.live == 0 {
                    return Ok(WarpTurn::Done);
                }
                if blocked::unblock(self, block, warp)? {
                    continue;
                }
                return Ok(WarpTurn::Blocked);
            };
            let split =
                if ready + 1 == warp.splits.len() { warp.splits.pop() } else { Some(warp.splits.remove(ready)) };
            let Some(split) = split else { return Ok(WarpTurn::Blocked) };
            if self.run_split(block, warp, split, &mut fuel)? {
                return Ok(self.rotate(warp, fuel == 0));
            }
        }
    }

    /// Records what a warp has changed.
    pub fn note_changes(&mut self, warp: &Warp) {
        self.acted |= warp.wrote;
        self.watch.stored |= warp.stored;
    }

    /// Called when the running split, the last in the list, has used up its slice, or (not `whole`) its patience: if it
    /// may be waiting, other lanes of the warp run. Lanes that wait for it at a join do so only after a whole slice, or
    /// where nothing else moves, since the warp stays divided then.
    fn rotate(&mut self, warp: &mut Warp, whole: bool) -> WarpTurn {
        warp.stale += 1;
        let waiting = warp.waits();
        let long = whole || self.watch.rounds >= STILL || u64::from(warp.stale) * PATIENCE >= SLICE;
        if let Some(split) = warp.splits.last().map(|split| split.join)
            && self.schedule.once_in(16)
        {
            // Lanes are not guaranteed to wait for each other at reconvergence points.
            let running = warp.splits.pop();
            warp.release(Some(split));
            warp.splits.extend(running);
        }
        if waiting || warp.stale >= STALE {
            if long {
                warp.stale = 0;
            }
            if let Some(split) = warp.splits.pop() {
                if long && !warp.splits.iter().any(|other| other.state == State::Ready) {
                    warp.release(Some(split.join));
                }
                warp.splits.insert(0, split);
            }
        }
        WarpTurn::Over { waiting }
    }
}
