//! Waits for what is under way: phases of mbarriers, and groups of copies.
//!
//! How many arrivals and copies a phase has is counted in the trace, so that the replay needs no counters of its own. A
//! phase without any, because other blocks of the cluster signal it, is not waited for.

use super::class::TENSOR;
use super::ready::{Ready, Source};
use super::{Machine, Time};
use crate::program::{Async, Group, Op, Warpgroup};
use crate::trace::{Act, BlockTrace, Phase, Step};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The phases of the blocks that run.
#[derive(Debug, Default)]
pub(super) struct Phases {
    states: HashMap<(usize, Phase), State>,
    /// Number of warps that wait.
    waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Contributions that are missing.
    missing: u32,
    /// The one that was the last.
    last: Ready,
    waiting: Vec<usize>,
}

impl Phases {
    /// Counts the contributions to the phases of a block.
    pub fn start(&mut self, number: usize, block: &BlockTrace) {
        let signals = block.warps.iter().flat_map(|warp| &warp.signals);
        for phase in signals.filter(|signal| signal.act != Act::Waits).filter_map(|signal| signal.phase) {
            self.states.entry((number, phase)).or_default().missing += 1;
        }
    }
}

impl Machine<'_> {
    /// Carries out what a step does to mbarriers and groups of copies; returns whether the warp has to wait for others.
    pub(super) fn synchronise(&mut self, index: usize, step: &Step, issued: f64) -> bool {
        let op = match &self.program.functions[step.function as usize].code[step.pc as usize].op {
            Op::Async(op) => op,
            Op::Warpgroup(op) => {
                self.multiply(index, op);
                return false;
            }
            _ => return false,
        };
        let mut waits = None;
        let trace = self.warps[index].trace;
        let at = self.warps[index].at as u32;
        let number = self.running[self.warps[index].block].number;
        while let Some(signal) = trace.signals.get(self.warps[index].signal).filter(|signal| signal.step <= at) {
            self.warps[index].signal += 1;
            match (signal.act, signal.phase) {
                _ if signal.step < at => {}
                (Act::Waits, phase) => waits = phase,
                (Act::Arrives, Some(phase)) => {
                    let arrived = Ready::at(issued + self.costs.shared_cycles);
                    self.contribute(index, phase, Ready { from: Source::Arrival, ..arrived });
                }
                (Act::Arrives, None) => {}
                (Act::Copies, phase) => {
                    let arrival = self.memory.copy(issued, number, &signal.reads, &signal.writes);
                    let copied = Ready { arrival, from: Source::Memory };
                    match phase {
                        Some(phase) => self.contribute(index, phase, copied),
                        None => self.warps[index].copies(Group::Bulk).add(copied),
                    }
                }
            }
        }
        match **op {
            Async::Commit(group) => self.warps[index].copies(group).commit(),
            Async::Wait { group, pending, all } => {
                let ready = self.warps[index].copies(group).wait(pending, all);
                self.resume(index, ready);
            }
            _ => {}
        }
        let Some(phase) = waits else { return false };
        let key = (self.warps[index].block, phase);
        let Some(state) = self.phases.states.get_mut(&key) else { return false };
        if state.missing > 0 {
            state.waiting.push(index);
            self.phases.waiting += 1;
            return true;
        }
        let last = state.last;
        self.resume(index, last);
        false
    }

    /// Carries out what an instruction of a warpgroup does beyond being issued.
    fn multiply(&mut self, index: usize, op: &Warpgroup) {
        let warp = &mut self.warps[index];
        match op {
            Warpgroup::Fence => {}
            Warpgroup::Multiply(_) => {
                let done = Ready::at(self.queues[warp.partition][TENSOR] + self.costs.product_cycles);
                warp.products.add(Ready { from: Source::Product, ..done });
            }
            Warpgroup::Commit => warp.products.commit(),
            Warpgroup::Wait { pending } => {
                let ready = warp.products.wait(*pending, false);
                self.resume(index, ready);
            }
        }
    }

    /// Adds an arrival or the bytes of a copy to a phase.
    fn contribute(&mut self, index: usize, phase: Phase, ready: Ready) {
        let Some(state) = self.phases.states.get_mut(&(self.warps[index].block, phase)) else { return };
        state.missing = state.missing.saturating_sub(1);
        if ready.arrival.at > state.last.arrival.at {
            state.last = ready;
        }
        if state.missing == 0 {
            let (last, waiting) = (state.last, std::mem::take(&mut state.waiting));
            self.go_on(last, &waiting);
        }
    }

    fn go_on(&mut self, last: Ready, waiting: &[usize]) {
        self.phases.waiting -= waiting.len();
        for &index in waiting {
            self.resume(index, last);
            self.heap.push(Reverse((Time(self.warps[index].free), index)));
        }
    }

    /// Lets the warps go on that wait for a phase which will not be complete, because the trace does not have all of
    /// it.
    pub(super) fn release_stuck(&mut self) {
        if self.phases.waiting == 0 {
            return;
        }
        let mut stuck: Vec<(Ready, Vec<usize>)> = self
            .phases
            .states
            .values_mut()
            .filter(|state| !state.waiting.is_empty())
            .map(|state| (state.last, std::mem::take(&mut state.waiting)))
            .collect();
        stuck.sort_by_key(|(_, waiting)| waiting[0]);
        for (last, waiting) in stuck {
            self.go_on(last, &waiting);
        }
    }

    /// A warp that has issued a wait goes on when what it waits for is there.
    fn resume(&mut self, index: usize, ready: Ready) {
        let warp = &mut self.warps[index];
        let (at, gap) = (ready.arrival.at, ready.arrival.at - warp.last);
        if gap <= 0.0 {
            return;
        }
        (warp.last, warp.blamed) = (at, at);
        warp.free = warp.free.max(at);
        self.put_down(gap, ready.causes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::super::tests::cycles;

    /// A block whose first thread copies in bulk, and whose warps wait for the copy.
    fn bulk(bytes: u32, waits: bool) -> String {
        let wait = "L:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r20], 0;\n@!%p2 bra L;\n";
        format!(
            "mov.u32 %r20, 0;\nmov.u32 %r21, 1024;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n\
             mbarrier.init.shared.b64 [%r20], 1;\nfence.mbarrier_init.release.cluster;\n\
             mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r20], {bytes};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd1], {bytes}, [%r20];\n\
             W:\nbar.sync 0;\n{}ld.shared.f32 %f1, [%r21];\nst.global.f32 [%rd3+8192], %f1;",
            if waits { wait } else { "" }
        )
    }

    #[test]
    fn a_bulk_copy_is_waited_for() {
        let (long, causes) = cycles(&bulk(2048, true), 1, 1);
        let (short, _) = cycles(&bulk(32, true), 1, 1);
        let (unused, _) = cycles(&bulk(2048, false), 1, 1);
        // 63 more sectors take two cycles each, and a latency passes.
        assert!((110.0..150.0).contains(&(long - short)), "{long} {short}");
        assert!(long > unused + 500.0, "{long} {unused}");
        assert!(causes[Cause::Memory as usize] > 100.0 && causes[Cause::Latency as usize] > 500.0, "{causes:?}");
    }

    #[test]
    fn arrivals_are_waited_for() {
        // The first warp waits for an arrival of the last one, which loads something before.
        let body = |waits: bool| {
            let wait = "L:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r20], 0;\n@!%p2 bra L;\n";
            format!(
                "mov.u32 %r20, 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\nmbarrier.init.shared.b64 [%r20], 1;\n\
                 W:\nbar.sync 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra F;\nsetp.ne.u32 %p1, %r1, 96;\n@%p1 bra \
                 D;\nld.global.u32 %r2, [%rd1+65536];\nadd.u32 %r3, %r2, %r2;\n@!%p1 add.u32 %r4, %r3, %r3;\n\
                 mbarrier.arrive.shared.b64 %rd9, [%r20];\nbra D;\nF:\n{}{}D:",
                if waits { wait } else { "" },
                "add.f32 %f1, %f1, %f2;\n".repeat(100),
            )
        };
        let ((waits, causes), (does_not, _)) = (cycles(&body(true), 1, 1), cycles(&body(false), 1, 1));
        assert!(waits > does_not + 200.0, "{waits} {does_not}");
        assert!(causes[Cause::Barriers as usize] > 200.0, "{causes:?}");
    }

    #[test]
    fn groups_of_copies_are_waited_for() {
        let body = |wait: &str| {
            format!(
                "mov.u32 %r21, 1024;\nmad.lo.u32 %r21, %r1, 4, %r21;\ncp.async.ca.shared.global [%r21], [%rd3], 4;\n\
                 cp.async.commit_group;\ncp.async.ca.shared.global [%r21+512], [%rd3+16384], 4;\n\
                 cp.async.commit_group;\n{wait}\nld.shared.f32 %f1, [%r21];\nst.global.f32 [%rd3+8192], %f1;"
            )
        };
        let time = |wait: &str| cycles(&body(wait), 1, 1).0;
        let (all, one, none) =
            (time("cp.async.wait_all;"), time("cp.async.wait_group 1;"), time("cp.async.wait_group 2;"));
        assert!(all > one && one > none + 500.0, "{all} {one} {none}");
    }
}
