//! Groups of what a warp has under way.

use super::ready::Ready;

/// Copies, or products, of a warp that belong to groups.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The last one that was issued since the last group.
    open: Ready,
    groups: Vec<Ready>,
}

impl Copies {
    pub fn add(&mut self, ready: Ready) {
        if ready.arrival.at > self.open.arrival.at {
            self.open = ready;
        }
    }

    pub fn commit(&mut self) {
        self.groups.push(std::mem::take(&mut self.open));
    }

    /// When all groups but the newest `pending` are complete; with `all` those that are not committed, too.
    pub fn wait(&mut self, pending: u32, all: bool) -> Ready {
        if all {
            self.commit();
        }
        let complete = if all { self.groups.len() } else { self.groups.len().saturating_sub(pending as usize) };
        let latest = self.groups.drain(..complete).max_by(|a, b| a.arrival.at.total_cmp(&b.arrival.at));
        latest.unwrap_or_default()
    }
}
