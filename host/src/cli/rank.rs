//! The rank of this process, if it is one of many: rank 0 prints for all, and the others only their errors.

use rustwarp::diagnostic::note;
use std::fmt;
use std::sync::OnceLock;

/// Records the rank that a launcher has given this process.
pub(super) fn set(rank: usize) {
    if rank > 0 {
        // There is one command line in a process, so the value is not set yet.
        let _ = RANK.set(rank);
    }
}

/// The rank of this process, if a launcher has started it as another one than the first.
static RANK: OnceLock<usize> = OnceLock::new();

/// The text of an error, each line with the rank of this process, if others print, too.
pub fn of_rank(text: &str) -> String {
    match RANK.get() {
        None => text.to_owned(),
        Some(rank) => text.lines().map(|line| format!("rank {rank}: {line}")).collect::<Vec<_>>().join("\n"),
    }
}

/// Prints a note, unless another rank prints the same.
pub(super) fn note_once(text: impl fmt::Display) {
    if RANK.get().is_none() {
        note(text);
    }
}
