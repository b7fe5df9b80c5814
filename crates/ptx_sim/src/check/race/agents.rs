//! Agents: what makes asynchronous accesses that complete together, through an mbarrier, the bulk groups of a thread or
//! the products of a warpgroup.
//!
//! An agent has a number in place of a warp's, and times beyond those of any block, so that no barrier covers it. Only
//! a thread that waits for the agent, or is ordered after one that did, is ordered after its accesses.

use super::clock::Block;
use super::entry::{Entry, FIRST_AGENT};
use super::tree::Tree;
use crate::observe::Variable;
use std::collections::HashMap;
use std::sync::Arc;

/// The first time of an agent.
const START: u32 = 1 << 31;
/// What completes together, in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Agent {
    Mbarrier(u64),
    Thread(u32, u32),
    Warpgroup(u32),
}

/// Number and current time of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub number: u8,
    pub time: u32,
}

/// The agents of all resident blocks.
#[derive(Debug, Default)]
pub(super) struct Agents {
    states: HashMap<(u32, Agent), State>,
    /// Agents that each block has had.
    counts: HashMap<u32, u32>,
}

impl Agents {
    /// Returns the state of an agent, which is created if necessary.
    pub fn of(&mut self, block: u32, agent: Agent) -> &mut State {
        let counts = &mut self.counts;
        self.states.entry((block, agent)).or_insert_with(|| {
            let count = counts.entry(block).or_default();
            let number = FIRST_AGENT + (*count % (256 - u32::from(FIRST_AGENT))) as u8;
            *count += 1;
            State { number, time: START }
        })
    }

    /// Removes the agents of a block that ends.
    pub fn end(&mut self, block: u32) {
        if self.counts.remove(&block).is_some() {
            self.states.retain(|(owner, _), _| *owner != block);
        }
    }

    /// Adds to a release the copies that have completed through the same mbarrier.
    pub fn add_completed(&mut self, variable: Variable, released: &mut Tree) {
        let Variable::Mbarrier { owner, address, .. } = variable else { return };
        let block = ticket(owner);
        if let Some(state) = self.states.get_mut(&(block, Agent::Mbarrier(address))) {
            state.time += 1;
            released.insert(block, &Arc::new(Entry::completed(state.number, state.time)));
        }
    }

    /// Orders the reads of a product before what the lanes do next.
    pub fn wait_for_product(&mut self, block: &mut Block, (warp, lanes): (usize, u32), group: u32, number: u64) {
        let home = block.home.block;
        if let Some(state) = self.states.get(&(home, Agent::Warpgroup(group))) {
            let mut tree = Tree::default();
            tree.insert(home, &Arc::new(Entry::completed(state.number, product_time(number) + 1)));
            block.acquire(warp, lanes, &tree, false);
        }
    }
}

/// Returns the ticket of a block as records hold it.
pub(super) fn ticket(owner: u64) -> u32 {
    u32::try_from(owner).unwrap_or(u32::MAX)
}

/// Returns the time of a product with a number.
pub(super) fn product_time(number: u64) -> u32 {
    START.saturating_add(u32::try_from(number).unwrap_or(u32::MAX)).min(u32::MAX - 1)
}
