//! Records of accesses, and the rule for when two of them conflict.

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

/// Properties of an access that decide whether it conflicts with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub writes: bool,
    /// Scope of a strong access; `None` for an ordinary (weak) access.
    pub strong: Option<Reach>,
    /// Bytes of each element of a strong access: a word's at least, because compilers emulate smaller atomics by those
    /// of the word around them. 0 for an ordinary access and for a copy, which reduces elements of a size of its own.
    pub bytes: u8,
    /// Whether the access is an `ld.global.nc`, which requires that no thread writes the memory during the launch.
    pub non_coherent: bool,
    /// Whether the access is an atomic whose result is used. The writes that it observed precede what its thread does
    /// next with the word, by PTX's causality order.
    pub observes: bool,
}

/// Whether two unordered accesses to the same memory conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    No,
    /// Both are strong, but the scope of one excludes the other.
    Scopes,
    /// Both are strong, but they do not access the same bytes: PTX calls this a mixed-size race.
    Sizes,
    Yes,
}

impl Mode {
    /// An ordinary load.
    pub const LOAD: Self = Self { writes: false, strong: None, bytes: 0, non_coherent: false, observes: false };

    /// Whether strong accesses of both modes to one byte access the same bytes; elements are aligned to their size.
    #[inline(always)]
    fn overlaps_completely(self, other: Self) -> bool {
        self.bytes == other.bytes || self.bytes == 0 || other.bytes == 0
    }

    /// Whether the access is an ordinary load, but not `ld.global.nc`.
    #[inline(always)]
    pub fn is_plain_load(self) -> bool {
        !self.writes && self.strong.is_none() && !self.non_coherent
    }

    /// Whether the access is an ordinary store.
    #[inline(always)]
    pub fn is_plain_store(self) -> bool {
        self.writes && self.strong.is_none()
    }

    /// Whether two accesses are compatible for any pair of threads.
    #[inline]
    pub fn compatible(self, other: Self) -> bool {
        let device = Some(Reach::Device);
        !self.writes && !other.writes
            || self.strong == device && other.strong == device && self.overlaps_completely(other)
    }

    /// Returns the conflict between this access by one block and another access by another block.
    #[inline]
    pub fn conflict(self, home: Home, other: Self, other_home: impl FnOnce() -> Home) -> Conflict {
        if self.compatible(other) {
            return Conflict::No;
        }
        let (Some(mine), Some(theirs)) = (self.strong, other.strong) else { return Conflict::Yes };
        if !self.overlaps_completely(other) {
            return Conflict::Sizes;
        }
        let other_home = other_home();
        match home.reaches(mine, other_home) && other_home.reaches(theirs, home) {
            true => Conflict::No,
            false => Conflict::Scopes,
        }
    }

    /// Whether this access observes an earlier one to the same word.
    #[inline]
    pub fn observed(self, home: Home, old: Self, old_home: impl FnOnce() -> Home) -> bool {
        let writes = old.writes && old.strong.is_some();
        self.observes && writes && self.conflict(home, old, old_home) == Conflict::No
    }

    /// Whether an access of this mode can replace an earlier one of mode `old` that is ordered before it: then each
    /// access that conflicts with the old one and is not ordered after it conflicts with this one too.
    pub fn covers(self, old: Self) -> bool {
        let weaker = match (self.strong, old.strong) {
            (None, _) => true,
            (Some(mine), Some(theirs)) => mine <= theirs && self.bytes == old.bytes,
            (Some(_), None) => false,
        };
        weaker && (self.writes || !old.writes) && (self.non_coherent || !old.non_coherent)
    }
}
