//! What would change the time: the launch is replayed without the work that a change of the kernel removes.

use super::replay::{CAUSES, Cause};
use super::without::Without;
use serde::Serialize;

/// A change of a kernel, and the time of the kernel if it removed all of its work and added none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Stable name for scripts: `padding`, `coalescing`, `vectors`, `privatisation`, `one-wave`, `fewer-barriers`,
    /// `more-warps`.
    pub name: &'static str,
    /// Time of the kernel with the change at best, without the launch, in microseconds.
    pub us: f64,
    /// Description of the change, and of what it removes.
    pub what: &'static str,
}

/// A change that may be named.
struct Candidate {
    name: &'static str,
    without: Without,
    /// It is tried where this part has at least this share of the time, or everywhere.
    about: Option<(Cause, f64)>,
    what: &'static str,
}

const CANDIDATES: [Candidate; 7] = [
    Candidate {
        name: "padding",
        without: Without::Conflicts,
        about: Some((Cause::Shared, 0.05)),
        what: "padded rows or another order: no bank conflicts",
    },
    Candidate {
        name: "coalescing",
        without: Without::Scattered,
        about: None,
        what: "neighbouring lanes access neighbouring addresses: no sector that is moved for a part of its bytes",
    },
    Candidate {
        name: "vectors",
        without: Without::NarrowAccesses,
        about: Some((Cause::Issue, 0.05)),
        what: "16 bytes a lane in one access: a quarter of the loads and stores",
    },
    Candidate {
        name: "privatisation",
        without: Without::Contention,
        about: Some((Cause::Atomics, 0.05)),
        what: "private copies, or more of them, added up at the end: no atomics that wait for each other",
    },
    Candidate {
        name: "one-wave",
        without: Without::Starts,
        about: Some((Cause::Blocks, 0.05)),
        what: "a grid that fills the device once, and blocks that loop: no starts of further blocks",
    },
    Candidate {
        name: "fewer-barriers",
        without: Without::Barriers,
        about: Some((Cause::Barriers, 0.05)),
        what: "exchange within warps by shuffles: no waits at block barriers",
    },
    Candidate {
        name: "more-warps",
        without: Without::EmptyPlaces,
        about: Some((Cause::Latency, 0.2)),
        what: "fewer registers or less shared memory, or more blocks: twice the resident warps",
    },
];

/// Gains below this share of the time are not named: the model is not that exact.
const LEAST_GAIN: f64 = 0.03;

/// The changes that make the kernel faster, the largest gain first. `replay` returns the cycles of the kernel without
/// some work, or `None` where there is no such work.
pub fn changes(cycles: f64, parts: &[f64; CAUSES], clock: f64, replay: impl Fn(Without) -> Option<f64>) -> Vec<Change> {
    let matters = |(cause, share): (Cause, f64)| parts[cause as usize] >= share * cycles;
    let mut changes: Vec<Change> = CANDIDATES
        .iter()
        .filter(|candidate| candidate.about.is_none_or(matters))
        .filter_map(|candidate| Some((candidate, replay(candidate.without)?)))
        .filter(|(_, changed)| *changed <= (1.0 - LEAST_GAIN) * cycles)
        .map(|(candidate, changed)| Change { name: candidate.name, us: changed / clock / 1e3, what: candidate.what })
        .collect();
    changes.sort_by(|a, b| a.us.total_cmp(&b.us));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_matter_are_tried_and_named_by_their_gain() {
        let mut parts = [0.0; CAUSES];
        parts[Cause::Barriers as usize] = 50.0;
        parts[Cause::Issue as usize] = 4.0;
        let replayed = |without| match without {
            Without::Barriers => Some(70.0),
            Without::Scattered => Some(60.0),
            // Its part is too small to be tried.
            Without::NarrowAccesses => Some(1.0),
            _ => None,
        };
        let names = |changes: &[Change]| changes.iter().map(|change| change.name).collect::<Vec<_>>();
        let found = changes(100.0, &parts, 2.0, replayed);
        assert_eq!(names(&found), ["coalescing", "fewer-barriers"]);
        assert_eq!(found[0].us, 0.03);
        // A gain of 2 % is within the model's error.
        assert_eq!(changes(100.0, &parts, 2.0, |_| Some(98.0)), []);
    }
}
