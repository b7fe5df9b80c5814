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

/// A change, what it leaves out, the part of the time that it is about, and the least share of the time that this part
/// has where the change is tried.
type Candidate = (&'static str, Without, Cause, f64, &'static str);

const CANDIDATES: [Candidate; 7] = [
    ("padding", Without::Conflicts, Cause::Shared, 0.05, "padded rows or another order: no bank conflicts"),
    (
        "coalescing",
        Without::Scattered,
        Cause::Blocks,
        0.0,
        "neighbouring lanes access neighbouring addresses: no sector that is moved for a part of its bytes",
    ),
    (
        "vectors",
        Without::NarrowAccesses,
        Cause::Issue,
        0.05,
        "16 bytes a lane in one access: a quarter of the loads and stores",
    ),
    (
        "privatisation",
        Without::Contention,
        Cause::Atomics,
        0.05,
        "private copies that are added up at the end: no atomics that wait for each other",
    ),
    (
        "one-wave",
        Without::Starts,
        Cause::Blocks,
        0.05,
        "a grid that fills the device once, and blocks that loop: no starts of further blocks",
    ),
    (
        "fewer-barriers",
        Without::Barriers,
        Cause::Barriers,
        0.05,
        "exchange within warps by shuffles: no waits at block barriers",
    ),
    (
        "more-warps",
        Without::EmptyPlaces,
        Cause::Latency,
        0.2,
        "fewer registers or less shared memory, or more blocks: twice the resident warps",
    ),
];

/// Gains below this share of the time are not named: the model is not that exact.
const LEAST_GAIN: f64 = 0.03;

/// The changes that make the kernel faster, the largest gain first. `replay` returns the cycles of the kernel without
/// some work, or `None` where there is no such work.
pub fn changes(cycles: f64, parts: &[f64; CAUSES], clock: f64, replay: impl Fn(Without) -> Option<f64>) -> Vec<Change> {
    let tried = CANDIDATES.iter().filter(|(_, _, cause, least, _)| parts[*cause as usize] >= least * cycles);
    let mut changes: Vec<Change> = tried
        .filter_map(|&(name, without, _, _, what)| Some((name, replay(without)?, what)))
        .filter(|(_, changed, _)| *changed <= (1.0 - LEAST_GAIN) * cycles)
        .map(|(name, changed, what)| Change { name, us: changed / clock / 1e3, what })
        .collect();
    changes.sort_by(|a, b| a.us.total_cmp(&b.us));
    changes
}
