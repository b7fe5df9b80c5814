//! Loops of loads that wait for another thread.

/// Limit on the loads of a loop that are recognised as polls.
const MOST_POLLS: usize = 64;

/// What an access means for the search for polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A load that may see another thread's store: a loop of these alone waits for that thread.
    Polls,
    /// A change of memory.
    Changes,
}

/// A load that may be a poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    /// Function, instruction, lanes and the sum of their addresses.
    pub key: (u32, u32, u32, u64),
    /// Index of the step; that of none if it was not recorded.
    pub at: usize,
    /// Number of instructions executed so far.
    pub total: u64,
}

impl Poll {
    /// Whether the other one is a later round. A step that has just got its access is not.
    fn is_before(&self, other: &Self) -> bool {
        self.key == other.key && (self.at < other.at || other.at == usize::MAX)
    }
}

/// Returns the earlier round of a poll, after which nothing counts. With another effect there is none.
pub(super) fn repeats(polls: &mut Vec<Poll>, effect: Effect, poll: Poll) -> Option<Poll> {
    match effect {
        Effect::None => None,
        Effect::Changes => {
            polls.clear();
            None
        }
        Effect::Polls => match polls.iter().position(|earlier| earlier.is_before(&poll)) {
            Some(found) => {
                polls.truncate(found + 1);
                polls.last().copied()
            }
            None => {
                if polls.len() < MOST_POLLS {
                    polls.push(poll);
                }
                None
            }
        },
    }
}
