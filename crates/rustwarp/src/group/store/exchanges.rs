//! The exchanges of a rank: the parts that have come, and why no more will.

use super::hello::Hello;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The exchanges of a rank, and the state of its group.
pub struct State {
    rank: usize,
    size: usize,
    /// The hellos of all ranks, once all have joined.
    pub hellos: Option<Vec<Hello>>,
    /// The number of the next exchange.
    next: u64,
    exchanges: HashMap<u64, Exchange>,
    /// Why the group has failed.
    pub failure: Option<String>,
    /// Why rank 0 has left in order: a failure as soon as something needs it.
    pub gone: Option<String>,
    /// This rank leaves.
    pub is_leaving: bool,
    /// The connection is closed.
    pub has_ended: bool,
}

/// The parts of an exchange that have come.
struct Exchange {
    /// This rank's part, until rank 0 has accepted it: that is, until its label is known to be that of the others.
    own: Option<Arc<Vec<u8>>>,
    parts: Vec<Option<Arc<Vec<u8>>>>,
    missing: usize,
    is_abandoned: bool,
}

impl State {
    /// The state of a rank that joins.
    pub fn new(rank: usize, size: usize) -> Self {
        Self {
            rank,
            size,
            hellos: None,
            next: 0,
            exchanges: HashMap::new(),
            failure: None,
            gone: None,
            is_leaving: false,
            has_ended: false,
        }
    }

    /// Checks that the group has not failed. If rank 0 has left in order, that is a failure for what needs it.
    ///
    /// # Errors
    /// [`Error::Group`], the failure.
    pub fn check(&mut self, needs_rank_0: bool) -> Result<()> {
        if self.failure.is_none()
            && needs_rank_0
            && let Some(gone) = self.gone.clone()
        {
            self.fail(gone);
        }
        self.failure.clone().map_or(Ok(()), |failure| Err(Error::Group(failure)))
    }

    /// Notes the failure, unless there is one, and releases what has come.
    pub fn fail(&mut self, reason: String) {
        if self.failure.is_none() {
            self.failure = Some(reason);
            self.exchanges.clear();
        }
    }

    /// Adds this rank's part of the next exchange, and returns its number.
    pub fn post(&mut self, part: Arc<Vec<u8>>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.exchange(number).own = Some(part);
        number
    }

    /// Adds a part that rank 0 has forwarded; this rank's own one, which it has accepted, has no bytes. The result is
    /// whether the exchange is complete.
    pub fn place(&mut self, number: u64, rank: usize, part: Arc<Vec<u8>>) -> bool {
        let is_own = rank == self.rank;
        let exchange = self.exchange(number);
        if let Some(place @ None) = exchange.parts.get_mut(rank) {
            *place = if is_own { exchange.own.take() } else { Some(part) };
            exchange.missing -= usize::from(place.is_some());
        }
        let is_complete = exchange.missing == 0;
        self.remove_if_abandoned(number);
        is_complete
    }

    /// Whether all parts have come.
    pub fn is_complete(&self, number: u64) -> bool {
        self.exchanges.get(&number).is_some_and(|exchange| exchange.missing == 0)
    }

    /// The other ranks whose parts have not come.
    pub fn missing(&self, number: u64) -> Vec<usize> {
        let parts = self.exchanges.get(&number).map_or(&[][..], |exchange| &exchange.parts);
        (0..parts.len()).filter(|rank| *rank != self.rank && parts[*rank].is_none()).collect()
    }

    /// Removes an exchange, and returns its parts in the order of the ranks.
    pub fn take(&mut self, number: u64) -> Vec<Arc<Vec<u8>>> {
        self.exchanges.remove(&number).map_or(Vec::new(), |exchange| exchange.parts.into_iter().flatten().collect())
    }

    /// Notes that nothing waits for the exchange.
    pub fn abandon(&mut self, number: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.is_abandoned = true;
            self.remove_if_abandoned(number);
        }
    }

    fn exchange(&mut self, number: u64) -> &mut Exchange {
        self.exchanges.entry(number).or_insert_with(|| Exchange {
            own: None,
            parts: vec![None; self.size],
            missing: self.size,
            is_abandoned: false,
        })
    }

    /// Removes a complete exchange that nothing waits for.
    fn remove_if_abandoned(&mut self, number: u64) {
        if self.exchanges.get(&number).is_some_and(|exchange| exchange.is_abandoned && exchange.missing == 0) {
            self.exchanges.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(byte: u8) -> Arc<Vec<u8>> {
        Arc::new(vec![byte])
    }

    #[test]
    fn an_exchange_is_complete_when_the_own_part_is_accepted() {
        let mut state = State::new(1, 2);
        let number = state.post(part(7));
        assert!(!state.place(number, 0, part(5)));
        assert!(state.missing(number).is_empty());
        assert!(!state.place(number, 9, part(0)), "no such rank");
        assert!(state.place(number, 1, Arc::default()));
        assert_eq!(state.take(number), [part(5), part(7)]);
        assert!(state.exchanges.is_empty());
    }

    #[test]
    fn abandoned_exchanges_are_released() {
        let mut state = State::new(0, 2);
        let number = state.post(part(7));
        state.place(number, 0, Arc::default());
        state.abandon(number);
        state.place(number, 1, part(5));
        assert!(state.exchanges.is_empty());
    }

    #[test]
    fn rank_0_that_has_left_fails_only_what_needs_it() {
        let mut state = State::new(1, 2);
        state.gone = Some("rank 0 has left".to_owned());
        assert!(state.check(false).is_ok());
        assert!(state.check(true).is_err());
        assert!(state.check(false).is_err());
    }
}
