//! Order and duration of execution. Without a seed, fixed rules apply. With a seed, a reproducible sequence of choices
//! applies, within what a GPU with independent thread scheduling may do.

use super::warp::{Split, State, Warp};

/// Scheduling choices of one worker.
#[derive(Debug, Default)]
pub struct Schedule {
    /// State of a SplitMix64 generator; `None` without a seed.
    state: Option<u64>,
    /// Whether no changes occur any more: then the fixed rules apply, under which a repeated state is recognised.
    pub calm: bool,
    /// Number of accesses to shared words, on average, after one of which other threads run; 0 for never.
    rare: usize,
    /// Order of the blocks' turns.
    turns: Turns,
    /// Whether other blocks should run now.
    preempted: bool,
}

/// Order of the turns of a worker's blocks.
#[derive(Clone, Copy, Debug, Default)]
enum Turns {
    /// The oldest block first.
    #[default]
    Forwards,
    /// The newest block first.
    Backwards,
    /// Any block.
    Random,
}

/// Values of [`Schedule::more_blocks`].
const MORE: [usize; 6] = [0, 3, 3, 7, 15, 31];
/// Values of [`Schedule::rare`]: some seeds preempt often, some a few times in a launch, some never.
const RARE: [usize; 6] = [0, 2, 4, 8, 16, 64];

impl Schedule {
    /// Creates the scheduler of a seed.
    pub fn new(seed: Option<u64>) -> Self {
        let mut schedule = Self { state: seed, ..Self::default() };
        schedule.turns = match schedule.choose(4) {
            Some(0) => Turns::Backwards,
            Some(1 | 2) => Turns::Random,
            _ => Turns::Forwards,
        };
        schedule.rare = schedule.choose(RARE.len()).map_or(0, |at| RARE[at]);
        schedule
    }

    /// Called after an access to a word through which threads synchronise: a lock, a flag or a counter. Returns whether
    /// the warp's slice ends there: other blocks run before what follows, as far as the seed says so.
    #[inline(always)]
    pub fn preempts(&mut self) -> bool {
        self.rare != 0 && self.preempts_here()
    }

    #[cold]
    fn preempts_here(&mut self) -> bool {
        self.preempted |= self.once_in(self.rare);
        self.preempted
    }

    /// Returns whether a warp was preempted since the last call.
    pub fn take_preempted(&mut self) -> bool {
        std::mem::take(&mut self.preempted)
    }

    /// Returns which of `count` blocks runs in a turn of a round.
    pub fn block(&mut self, turn: usize, count: usize) -> usize {
        match self.turns {
            Turns::Backwards if !self.calm => count - 1 - turn,
            Turns::Random => self.choose(count).unwrap_or(turn),
            _ => turn,
        }
    }

    /// Returns how many blocks start together with the first one of a worker that has none.
    pub fn more_blocks(&mut self) -> usize {
        self.choose(MORE.len()).map_or(0, |at| MORE[at])
    }

    /// Returns a choice among `0..count`; `None` under the fixed rules. Generator: Steele, Lea, Flood, "Fast Splittable
    /// Pseudorandom Number Generators", 2014.
    pub fn choose(&mut self, count: usize) -> Option<usize> {
        let state = self.state.as_mut().filter(|_| !self.calm && count > 1)?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(((mixed ^ mixed >> 31) % count as u64) as usize)
    }

    /// Returns true once in `count` calls on average; never under the fixed rules.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.choose(count) == Some(0)
    }

    /// Returns the warp instructions of a slice: `most`, or a power of two below it.
    pub fn slice(&mut self, most: u64) -> u64 {
        (most >> self.choose(11).unwrap_or(0)).max(1)
    }

    /// Returns the order of `count` warps in a round: the first one, and the distance to the next.
    pub fn round(&mut self, count: usize) -> (usize, usize) {
        let first = self.choose(count).unwrap_or(0);
        let back = self.once_in(2);
        (first, if back { count - 1 } else { 1 })
    }

    /// Returns a split of a warp that can run: the newest, or any.
    #[inline]
    pub fn ready(&mut self, warp: &Warp) -> Option<usize> {
        if self.state.is_none() || warp.splits.len() < 2 {
            return warp.ready();
        }
        let ready = |(_, split): &(usize, &Split)| split.state == State::Ready;
        let count = warp.splits.iter().enumerate().filter(ready).count();
        let Some(chosen) = self.choose(count) else { return warp.ready() };
        warp.splits.iter().enumerate().filter(ready).nth(chosen).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let draw = |seed| {
            let mut schedule = Schedule::new(seed);
            (0..100).map(|_| schedule.choose(7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(Some(3)), draw(Some(3)));
        assert_ne!(draw(Some(3)), draw(Some(4)));
        assert!((0..7).all(|choice| draw(Some(3)).contains(&Some(choice))));
        assert!(draw(None).iter().all(Option::is_none));
    }

    #[test]
    fn without_a_seed_or_in_calm_the_rules_are_fixed() {
        for mut schedule in [Schedule::new(None), Schedule { calm: true, ..Schedule::new(Some(1)) }] {
            assert_eq!((schedule.slice(4096), schedule.round(5), schedule.once_in(2)), (4096, (0, 1), false));
        }
        let mut schedule = Schedule::new(Some(1));
        assert!((0..1000).all(|_| (1..=4096).contains(&schedule.slice(4096))));
    }
}
