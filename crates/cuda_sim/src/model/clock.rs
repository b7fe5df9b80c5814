//! What is ordered before what, among the items of all streams.

use super::handle::Handle;
use std::collections::BTreeMap;

/// An item of a stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub stream: Handle,
    pub number: u64,
}

/// The items that come before something: of each stream, those up to a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(BTreeMap<Handle, u64>);

impl Clock {
    /// Adds an item, and those before it in its stream.
    pub fn add(&mut self, token: Token) {
        let number = self.0.entry(token.stream).or_default();
        *number = token.number.max(*number);
    }

    /// Adds what another clock has.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(stream, number)| self.add(Token { stream: *stream, number: *number }));
    }

    /// Number of streams with items that come before.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The part of some streams.
    pub fn of(&self, is_wanted: impl Fn(Handle) -> bool) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(stream, _)| is_wanted(**stream))
                .map(|(stream, number)| (*stream, *number))
                .collect(),
        )
    }

    /// Removes the streams of which another clock has as much.
    pub fn remove(&mut self, other: &Self) {
        self.0.retain(|stream, number| !other.has(Token { stream: *stream, number: *number }));
    }

    /// Whether an item comes before.
    pub fn has(&self, token: Token) -> bool {
        self.0.get(&token.stream).is_some_and(|number| *number >= token.number)
    }
}
