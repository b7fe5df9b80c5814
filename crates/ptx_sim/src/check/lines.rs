//! One finding for each defect of the source: findings of the same kind at the same source lines are merged.
//!
//! A line that copies a struct is an instruction per field, and an unrolled loop has its lines several times. Each of
//! these instructions, or pairs of them, has a finding of its own, and one change to the source repairs all of them.

use super::race::SAME_VALUE;
use crate::stop::{Diagnostic, Finding};
use std::collections::HashMap;

/// Identity of a defect in the source.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    /// What the title names in back-ticks: the allocation, as a rule.
    names: Vec<String>,
    /// File and line of each place, the headline first.
    lines: Vec<(String, u32)>,
}

/// The code, with as much distinction between races as the source makes.
#[derive(PartialEq, Eq, Hash)]
enum Kind {
    /// A read that races with a write of the same line. The order of the threads decides which of them comes first.
    OneLine,
    /// A race between two lines. Those inside a warp are not apart: the steps of an unrolled tree are of both kinds.
    Race(&'static str),
    Other(&'static str),
}

impl Kind {
    fn of(code: &'static str, lines: &[(String, u32)]) -> Self {
        let race = code.strip_prefix(IN_WARP).or_else(|| code.strip_prefix("race-")).unwrap_or_default();
        match race {
            "raw" | "war" if lines.windows(2).all(|pair| pair[0] == pair[1]) => Self::OneLine,
            "raw" | "war" | "waw" => Self::Race(race),
            _ => Self::Other(code),
        }
    }
}

/// Merges the findings of the same kind, allocation and source lines. The first of each stands for all of them, or the
/// first between warps, and has a note with their number and their bytes. Findings without source lines stay as
/// they are.
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut places: HashMap<Key, usize> = HashMap::new();
    for finding in findings {
        let first = key(&finding.diagnostic).map(|key| *places.entry(key).or_insert(merged.len()));
        match first.and_then(|first| merged.get_mut(first)) {
            Some(first) => first.include(finding),
            None => merged.push(finding),
        }
    }
    for finding in &mut merged {
        let note = finding.of_the_same_lines();
        finding.diagnostic.notes.extend(note);
    }
    merged
}

impl Finding {
    /// Adds a finding of the same lines.
    fn include(&mut self, mut other: Self) {
        if is_in_warp(&self.diagnostic) && !is_in_warp(&other.diagnostic) {
            std::mem::swap(&mut self.diagnostic, &mut other.diagnostic);
        }
        self.count += other.count;
        self.merged += 1 + other.merged;
        self.bytes = match (self.bytes.take(), other.bytes) {
            (Some(a), Some(b)) => Some(a.start.min(b.start)..a.end.max(b.end)),
            _ => None,
        };
        if !other.diagnostic.notes.iter().any(|note| note == SAME_VALUE) {
            self.diagnostic.notes.retain(|note| note != SAME_VALUE);
        }
    }

    /// The note about the findings that this one stands for.
    fn of_the_same_lines(&self) -> Option<String> {
        if self.merged == 0 {
            return None;
        }
        let others = if self.merged == 1 { "another place".to_owned() } else { format!("{} more places", self.merged) };
        let bytes = self.bytes.as_ref().map(|bytes| format!(", bytes {}..{}", bytes.start, bytes.end));
        Some(format!("and {others} of the same lines{}", bytes.unwrap_or_default()))
    }
}

/// Identity of the defect; `None` if a place has no source line.
fn key(diagnostic: &Diagnostic) -> Option<Key> {
    let own = diagnostic.user_source();
    let related = diagnostic.related.iter().map(|(_, place)| place.user_source());
    let lines = std::iter::once(own).chain(related).map(|source| source.map(|line| (line.file.clone(), line.line)));
    let names = diagnostic.title.split('`').skip(1).step_by(2).map(str::to_owned);
    let lines = lines.collect::<Option<Vec<_>>>()?;
    Some(Key { kind: Kind::of(diagnostic.code, &lines), names: names.collect(), lines })
}

fn is_in_warp(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.starts_with(IN_WARP)
}

/// Start of the codes of races between lanes of one warp.
const IN_WARP: &str = "race-warp-";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Recorded;
    use crate::stop::{Place, Source};

    fn place(line: u32, ptx_line: u32) -> Place {
        let source = Source {
            file: "src/lib.rs".to_owned(),
            recorded: Recorded::default(),
            line,
            column: ptx_line,
            function: None,
        };
        Place { function: "k".into(), ptx_line, ptx_column: 1, ptx: String::new(), source: vec![source] }
    }

    /// A race on four bytes at `byte` of an allocation, between two lines.
    fn race(lines: [u32; 2], allocation: &str, byte: u64) -> Finding {
        let title = format!("data race on shared memory: {byte}, at byte {byte} of `{allocation}` (256 bytes)");
        let mut diagnostic = Diagnostic::new("race-raw", title);
        diagnostic.place = Some(place(lines[1], byte as u32));
        diagnostic.related.push(("the earlier write, by a thread:".to_owned(), place(lines[0], 1)));
        diagnostic.notes.push(SAME_VALUE.to_owned());
        Finding { bytes: Some(byte..byte + 4), ..Finding::new(diagnostic, 10) }
    }

    #[test]
    fn findings_of_the_same_lines_are_one_with_their_number_and_bytes() {
        let found = merge(vec![race([3, 7], "a1", 8), race([3, 7], "a1", 0), race([3, 7], "a1", 252)]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.count, one.merged, one.bytes.clone()), (30, 2, Some(0..256)));
        assert!(one.diagnostic.title.contains("byte 8 of"), "the first stands for all");
        assert_eq!(one.diagnostic.notes, [SAME_VALUE, "and 2 more places of the same lines, bytes 0..256"]);
        let text = one.to_string();
        assert!(text.contains("and 2 more places of the same lines, bytes 0..256"), "{text}");
        assert!(text.contains("seen 30 times"), "{text}");
    }

    #[test]
    fn other_lines_other_allocations_and_other_conflicts_stay_apart() {
        let first = race([3, 7], "a1", 0);
        for other in [race([3, 8], "a1", 4), race([4, 7], "a1", 4), race([3, 7], "a2", 4)] {
            let found = merge(vec![first.clone(), other]);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found.iter().all(|finding| finding.merged == 0 && finding.diagnostic.notes == [SAME_VALUE]));
        }
        let mut other = race([3, 7], "a1", 4);
        other.diagnostic.code = "race-war";
        assert_eq!(merge(vec![first.clone(), other]).len(), 2);
        let mut back = race([3, 3], "a1", 4);
        back.diagnostic.code = "race-war";
        assert_eq!(merge(vec![race([3, 3], "a1", 0), back]).len(), 1, "a line that races with itself");
        let mut inside = race([3, 7], "a1", 4);
        inside.diagnostic.code = "race-warp-raw";
        let found = merge(vec![inside, first.clone()]);
        assert_eq!(found.iter().map(|finding| finding.diagnostic.code).collect::<Vec<_>>(), ["race-raw"]);
        let mut other = race([3, 7], "a1", 4);
        let bare = |finding: &mut Finding| finding.diagnostic.related[0].1.source.clear();
        bare(&mut other);
        let mut first = first;
        bare(&mut first);
        assert_eq!(merge(vec![first, other]).len(), 2, "without line tables");
    }

    #[test]
    fn a_note_that_is_not_true_of_all_is_left_out() {
        let mut other = race([3, 7], "a1", 4);
        other.diagnostic.notes.clear();
        other.bytes = None;
        let found = merge(vec![race([3, 7], "a1", 0), other]);
        assert_eq!(found[0].diagnostic.notes, ["and another place of the same lines"]);
    }
}
