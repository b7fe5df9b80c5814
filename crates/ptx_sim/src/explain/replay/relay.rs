//! Chains of blocks: a warp reads what other blocks have published, computes, and publishes a result for later ones.
//!
//! However many blocks run at the same time, results pass through the chain no faster than that, since what a warp
//! reads is complete only when the warp of an earlier block has done the same. A warp that reads 32 words at a time
//! passes 32 of them on in that time.

use super::Machine;
use crate::program::{Op, Order};
use crate::trace::Step;
use std::collections::HashMap;

/// What the warps pass on.
#[derive(Debug, Default)]
pub(super) struct Relay {
    /// For each warp, when it began to read, and the number of words since then.
    open: HashMap<usize, (f64, u32)>,
    /// The shortest time for a word.
    shortest: Option<f64>,
}

impl Relay {
    /// Cycles for each word; 0 if nothing is passed on.
    pub fn cycles(&self) -> f64 {
        self.shortest.unwrap_or(0.0)
    }
}

impl Machine<'_> {
    /// Follows what a warp reads and publishes.
    pub(super) fn relay(&mut self, warp: usize, step: &Step, issued: f64) {
        if step.awaits() {
            let open = self.relay.open.entry(warp).or_insert((issued, 0));
            open.1 += step.lanes.count_ones();
            return;
        }
        let op = &self.program.functions[step.function as usize].code[step.pc as usize].op;
        let publishes = matches!(op, Op::Store(store) if store.order != Order::Weak);
        if publishes && let Some((since, words)) = self.relay.open.remove(&warp) {
            let cycles = (issued - since) / f64::from(words.max(1));
            self.relay.shortest = Some(self.relay.shortest.map_or(cycles, |shortest| shortest.min(cycles)));
        }
    }
}
