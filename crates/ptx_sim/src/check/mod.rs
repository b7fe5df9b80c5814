//! Checkers: observers that find defects. Each documents what it misses.
//!
//! A checker is one file or folder here and one row of the table below, which is what configures it ([`Checks`]), names
//! it on command lines, and describes its findings in reports ([`CHECKERS`], [`code`]). A checker without options also
//! names its type in its row, which makes it part of the observer of a launch.
//!
//! The machine itself checks bounds, alignment, state spaces, barriers and `*.sync` masks in every run.

pub(crate) mod descriptors;
mod every_run;
pub(crate) mod exited_lanes;
pub(crate) mod leaks;
pub(crate) mod lines;
pub(crate) mod overflow;
pub(crate) mod partial_stores;
pub(crate) mod race;
mod table;
pub(crate) mod uninit;

pub use every_run::EVERY_RUN;
pub(crate) use table::Several;
pub use table::{Checker, Code, Severity};

use race::{Atomics, SameValue, Volatile};
use table::checkers;

checkers! {
    /// Finds data races on shared and global memory. A launch whose blocks communicate runs on one worker.
    race "race" true "data races" {
        "race-raw" Error "Data race" "Order the accesses: by a barrier, or by a release and an acquire."
        "race-war" Error "Data race" "Order the accesses: by a barrier, or by a release and an acquire."
        "race-waw" Error "Data race" "Order the accesses: by a barrier, or by a release and an acquire."
        "race-warp-raw" Warning "Hazard inside a warp"
            "Lock step orders nothing since Volta: put a warp-wide barrier between the accesses."
        "race-warp-war" Warning "Hazard inside a warp"
            "Lock step orders nothing since Volta: put a warp-wide barrier between the accesses."
        "race-warp-waw" Warning "Hazard inside a warp"
            "Lock step orders nothing since Volta: put a warp-wide barrier between the accesses."
        "race-scope" Error "Data race: scopes too narrow"
            "Give fences and atomics a scope that includes both threads."
        "nc-written" Error "Memory read by a non-coherent load is written"
            "Load it by an ordinary load, or write it in another launch."
        "async-proxy" Error "A bulk copy may not see what was written"
            "Execute `fence.proxy.async` between the writes and the barrier before the copy."
    }
    /// Finds uninitialised values that affect the execution or its output: see the crate's documentation. Enable it
    /// before memory is allocated: memory that is allocated or used without the check counts as initialised.
    uninit "uninit" true "uninitialised values that affect the execution" {
        "uninit-branch" Error "A value that nothing has written decides something" "Write the memory first."
        "uninit-address" Error "A value that nothing has written decides something" "Write the memory first."
        "uninit-sync" Error "A value that nothing has written decides something" "Write the memory first."
        "uninit-store" Error "A value that nothing has written decides something" "Write the memory first."
        "uninit-atomic" Error "A value that nothing has written decides something" "Write the memory first."
        "uninit-print" Error "A value that nothing has written decides something" "Write the memory first."
    }
    /// Finds descriptors of `wgmma` that do not fit the matrices that they describe in shared memory.
    descriptors "descriptors" true "descriptors of matrices that do not fit the matrices"
        by descriptors::Descriptors {
        "wgmma-overlap" Error "Two rows of a matrix are the same bytes"
            "Give the descriptor an offset of at least the bytes of a group of rows."
        "wgmma-swizzle" Error "A descriptor has another swizzle than the copy of its bytes"
            "Give the descriptor the swizzle of the tensor map."
        "wgmma-skipped" Warning "A descriptor leads past rows that were copied and that nothing reads"
            "Give the descriptor the offset of the next rows of the box, or copy no rows that are not needed."
    }
    /// Finds memory that threads allocate and do not free before the launch ends.
    leaks "leaks" true "memory that kernels allocate and do not free" {
        "leak" Error "Device memory is never freed"
            "Free the result of `malloc` before the last thread that holds it ends."
    }
    /// Finds signed integer overflow. PTX arithmetic wraps, and compilers rely on it, so this check is not part of
    /// [`Checks::DEFECTS`].
    overflow "overflow" false "signed integer arithmetic that wraps" {
        "overflow" Warning "Signed arithmetic wrapped"
            "Use a wider type, or wrapping arithmetic where it is intended."
    }
    /// Finds block barriers that some lanes of a warp leave out by ending while others wait. PTX counts only threads
    /// that have not ended, so this can be intended, and the check is not part of [`Checks::DEFECTS`].
    exited_lanes "exited-lanes" false "block barriers that part of a warp leaves out by returning"
        by exited_lanes::ExitedLanes {
        "barrier-exited" Warning "Lanes of a warp end instead of reaching a barrier"
            "Let all threads of a warp reach the barrier, or return together before it."
    }
    /// Finds stores to global memory that leave most of each sector unwritten. They are slow, but not wrong, so this
    /// check is not part of [`Checks::DEFECTS`].
    partial_stores "partial-stores" false "global stores that fill sectors only partly"
        by partial_stores::PartialStores {
        "partial-sectors" Warning "A store fills sectors of memory only partly"
            "Let neighbouring lanes store neighbouring elements."
    }
}

/// Looks up a code.
pub fn code(name: &str) -> Option<&'static Code> {
    CHECKERS.iter().flat_map(|checker| checker.codes).chain(EVERY_RUN).find(|row| row.code == name)
}

#[cfg(test)]
mod tests {
    use super::{CHECKERS, Checks, Severity, code};
    use std::collections::BTreeSet;

    #[test]
    fn every_checker_has_a_switch_and_codes_of_its_own() {
        let mut codes = BTreeSet::new();
        for checker in CHECKERS {
            let mut checks = Checks::DEFECTS;
            assert_eq!(checks.switch(checker.name).map(|on| *on), Some(checker.default), "{}", checker.name);
            assert!(!checker.codes.is_empty() && checker.codes.iter().all(|row| codes.insert(row.code)));
        }
        let mut none = Checks::NONE;
        assert!(none.switch("bounds").is_none());
    }

    #[test]
    fn codes_are_found_by_their_whole_name() {
        assert_eq!(code("race-warp-raw").map(|row| row.severity), Some(Severity::Warning));
        assert_eq!(code("async-proxy").map(|row| row.title), Some("A bulk copy may not see what was written"));
        assert_eq!(code("async-not-waited").map(|row| row.code), Some("async-not-waited"));
        for misspelt in ["no-such-code", "async-not-wait", "mbarrier-"] {
            assert!(code(misspelt).is_none(), "{misspelt}");
        }
    }
}
