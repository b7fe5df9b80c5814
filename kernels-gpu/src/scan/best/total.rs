//! The total of neighbouring elements, as far as it matters for those after them.

use super::runs::Runs;
use crate::operator::{Operator, Pod};

/// The value of some neighbouring elements from the last head among them on.
#[derive(Clone, Copy)]
pub struct Total<T> {
    /// The value.
    pub total: T,
    /// Whether there is a head among them, so that nothing before them counts.
    pub closed: bool,
}

impl<T: Pod> Total<T> {
    /// Elements without a head.
    #[inline(always)]
    pub const fn open(total: T) -> Self {
        Self { total, closed: false }
    }

    /// These elements, and those after them.
    #[inline(always)]
    pub fn then<O: Operator<T>, X: Runs>(self, next: Self) -> Self {
        let whole = O::combine(self.total, next.total);
        if X::KEYED && next.closed {
            return next;
        }
        Self { total: whole, closed: X::KEYED && self.closed }
    }
}
