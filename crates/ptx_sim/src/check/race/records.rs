//! What is remembered of an access, and how two of them get along.

use super::view::{Home, Reach};
use crate::observe::Site;

/// Accesses that one warp made with one instruction between two of its synchronisations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Ticket of the block.
    pub block: u32,
    pub stamp: u32,
    pub site: Site,
    pub warp: u8,
    pub mode: Mode,
}

/// What an access does, as far as conflicts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub writes: bool,
    /// `None` for an ordinary (weak) access.
    pub strong: Option<Reach>,
    /// A load that promises that nobody writes the memory during the launch.
    pub promises: bool,
}

/// How two accesses to the same memory get along when nothing orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    No,
    /// Both are strong, but a scope leaves the other one out.
    Scopes,
    Yes,
}

impl Mode {
    /// An ordinary load that promises nothing.
    #[inline(always)]
    pub fn is_plain_load(self) -> bool {
        !self.writes && self.strong.is_none() && !self.promises
    }

    /// An ordinary store.
    #[inline(always)]
    pub fn is_plain_store(self) -> bool {
        self.writes && self.strong.is_none()
    }

    /// Is there no conflict, whoever the two are?
    #[inline]
    pub fn gets_along(self, other: Self) -> bool {
        let device = Some(Reach::Device);
        !self.writes && !other.writes || self.strong == device && other.strong == device
    }

    /// Of this access by a block and another one by another.
    #[inline]
    pub fn conflict(self, home: Home, other: Self, other_home: impl FnOnce() -> Home) -> Conflict {
        if self.gets_along(other) {
            return Conflict::No;
        }
        let (Some(mine), Some(theirs)) = (self.strong, other.strong) else { return Conflict::Yes };
        let other_home = other_home();
        match home.reaches(mine, other_home) && other_home.reaches(theirs, home) {
            true => Conflict::No,
            false => Conflict::Scopes,
        }
    }

    /// Whatever conflicts with an earlier access of mode `old` that is ordered before one of this mode, and is not
    /// ordered after it, conflicts with this one too.
    pub fn covers(self, old: Self) -> bool {
        let weaker = match (self.strong, old.strong) {
            (None, _) => true,
            (Some(mine), Some(theirs)) => mine <= theirs,
            (Some(_), None) => false,
        };
        weaker && (self.writes || !old.writes) && (self.promises || !old.promises)
    }
}
