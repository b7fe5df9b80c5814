//! Variables of a frame that lie apart, so that an index past the end of one does not reach another.

use std::ops::Range;

/// Variables of a function's frame that lie apart; empty if they lie as the compiler put them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Apart {
    /// Offsets in the frame that belong to these variables and the gaps around them.
    pub range: Range<u64>,
    /// The variables, in order.
    pub parts: Vec<Part>,
    /// Number of bytes that the gaps add to the frame.
    pub added: u64,
}

/// A variable of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Name in the source; `None` for what the compiler added.
    pub name: Option<String>,
    /// Offset in the frame in bytes.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

impl Apart {
    /// Whether bytes of the frame lie in a gap, at least in part.
    pub fn misses(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.saturating_add(bytes);
        if end <= self.range.start || offset >= self.range.end {
            return false;
        }
        let holds = |part: &Part| end <= part.start + part.size;
        !self.at_or_before(offset).is_some_and(|at| holds(&self.parts[at]))
    }

    /// Describes an offset in the frame relative to the nearest variable; at equal distance to the one before.
    pub fn describe(&self, offset: u64) -> String {
        let before = self.at_or_before(offset);
        let next = self.parts.get(before.map_or(0, |at| at + 1));
        let before = before.map(|at| &self.parts[at]);
        let behind = before.map_or(u64::MAX, |part| (offset - part.start).saturating_sub(part.size));
        if let Some(next) = next.filter(|next| next.start - offset < behind) {
            return format!("{} bytes before {}", next.start - offset, next.words());
        }
        let Some(part) = before else { return "the frame has no variables".to_owned() };
        match (offset - part.start).checked_sub(part.size) {
            None => format!("at byte {} of {}", offset - part.start, part.words()),
            Some(0) => format!("right after the end of {}", part.words()),
            Some(over) => format!("{over} bytes past the end of {}", part.words()),
        }
    }

    fn at_or_before(&self, offset: u64) -> Option<usize> {
        self.parts.partition_point(|part| part.start <= offset).checked_sub(1)
    }
}

impl Part {
    /// Returns its name and size, for reports.
    fn words(&self) -> String {
        match &self.name {
            Some(name) => format!("`{name}` ({} bytes)", self.size),
            None => format!("an unnamed variable ({} bytes)", self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Apart {
        let part = |name: &str, start, size| Part { name: (!name.is_empty()).then(|| name.to_owned()), start, size };
        Apart { range: 16..400, parts: vec![part("a", 80, 16), part("", 200, 8), part("b", 300, 20)], added: 300 }
    }

    #[test]
    fn gaps_are_around_and_between() {
        let frame = frame();
        for (offset, bytes) in [(80, 16), (95, 1), (200, 8), (316, 4), (0, 16), (400, 8)] {
            assert!(!frame.misses(offset, bytes), "{offset}");
        }
        for (offset, bytes) in [(79, 1), (92, 8), (96, 4), (8, 16), (396, 8), (16, 1), (0, 500), (80, u64::MAX)] {
            assert!(frame.misses(offset, bytes), "{offset}");
        }
        assert!(!Apart::default().misses(0, 8));
    }

    #[test]
    fn offsets_are_described() {
        let frame = frame();
        assert_eq!(frame.describe(76), "4 bytes before `a` (16 bytes)");
        assert_eq!(frame.describe(84), "at byte 4 of `a` (16 bytes)");
        assert_eq!(frame.describe(96), "right after the end of `a` (16 bytes)");
        assert_eq!(frame.describe(148), "52 bytes past the end of `a` (16 bytes)");
        assert_eq!(frame.describe(149), "51 bytes before an unnamed variable (8 bytes)");
        assert_eq!(frame.describe(390), "70 bytes past the end of `b` (20 bytes)");
    }
}
