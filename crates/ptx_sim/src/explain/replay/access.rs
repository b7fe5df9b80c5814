//! Accesses to memory.

use super::Machine;
use super::memory::{Arrival, Reader, lines};
use super::ready::{Ready, Source};
use crate::explain::without::Without;
use crate::program::{Async, Group, Op, Order, Space};
use crate::trace::Step;

/// Wavefronts in which what loads from shared memory that are one instruction read arrives in registers: each has room
/// for 8 bytes of every lane, so a word of 16 bytes that all lanes read takes two, although it is one access to the
/// banks. Measured (`bench/model/constants`) for neighbouring lanes that read the same.
pub(super) fn returns(bytes: u32) -> u32 {
    bytes.div_ceil(256)
}

impl Machine<'_> {
    /// Shared memory is busy with wavefronts from `now` on.
    pub(super) fn pass_wavefronts(&mut self, now: f64, wavefronts: f64) {
        let cycles = wavefronts * self.costs.wavefront_cycles;
        self.shared = self.shared.max(now) + cycles;
        self.worked.shared += cycles;
    }

    /// Performs a warp's access; returns when its result is available.
    pub(super) fn access(&mut self, warp: usize, step: &Step, now: f64) -> Ready {
        let costs = self.costs;
        let op = &self.program.functions[step.function as usize].code[step.pc as usize].op;
        let (first, count) = step.sectors;
        let mut sectors = &self.warps[warp].trace.sectors[first as usize..(first + count) as usize];
        let ideal;
        let mut passes = step.passes;
        let atomic = matches!(op, Op::Atomic(_) | Op::AtomicVector(_) | Op::AtomicWide(_));
        let scattered = count > step.bytes.div_ceil(32) && !atomic;
        if let Some(few) = self.ideal.as_mut().filter(|_| scattered) {
            ideal = few.sectors(step.bytes, matches!(op, Op::Store(_)));
            sectors = &ideal;
            passes = step.bytes.div_ceil(128);
        }
        let counts = self.classes[&step.function].counts[step.pc as usize];
        let mut wavefronts = if counts && step.space == Some(Space::Shared) { step.passes } else { step.units }.max(1);
        // Atomics on one word are passes too, but no order of the words saves them.
        if self.without == Some(Without::Conflicts) && !atomic {
            wavefronts = wavefronts.min(step.bytes.div_ceil(128).max(1));
            passes = passes.min(step.bytes.div_ceil(128).max(1));
        }
        if matches!(op, Op::Load(_)) && step.space == Some(Space::Shared) {
            self.warps[warp].arriving = (step.bytes, wavefronts);
        }
        let done = match step.space {
            Some(Space::Shared) => {
                self.pass_wavefronts(now, f64::from(wavefronts));
                let extra = if atomic { costs.shared_atomic_cycles } else { 0.0 };
                let at = self.shared + costs.shared_cycles + extra;
                // Its own wavefronts beyond the first are no latency, but conflicts.
                let cache = self.shared - costs.wavefront_cycles - now;
                Ready { arrival: Arrival { at, dram: 0.0, cache }, from: Source::Shared }
            }
            Some(Space::Global) => match op {
                Op::Store(_) => {
                    let at = self.memory.store(now, sectors) + costs.l2_cycles;
                    Ready { arrival: Arrival { at, dram: 0.0, cache: 0.0 }, from: Source::Memory }
                }
                Op::Atomic(_) | Op::AtomicVector(_) | Op::AtomicWide(_) => {
                    let taken = self.memory.atomic(now, sectors);
                    let at = taken + costs.global_atomic_cycles;
                    Ready { arrival: Arrival { at, dram: 0.0, cache: taken - now }, from: Source::Atomic }
                }
                _ => {
                    let cached = match op {
                        Op::Load(load) => load.order == Order::Weak,
                        Op::Async(copy) => !matches!(**copy, Async::Copy { cached: false, .. }),
                        _ => true,
                    };
                    // Copies take a cycle for each line: `tests/golden/README.md`.
                    if matches!(op, Op::Async(_)) {
                        passes = lines(sectors);
                    }
                    let block = self.running[self.warps[warp].block].number;
                    let reader = Reader { block, cached, awaits: step.awaits(), passes };
                    Ready { arrival: self.memory.load(now, sectors, reader), from: Source::Memory }
                }
            },
            _ => Ready::at(now + costs.l1_cycles),
        };
        if let Op::Async(copy) = op
            && let Async::Copy { .. } = **copy
        {
            self.warps[warp].copies(Group::Copy).add(done);
        }
        done
    }
}
