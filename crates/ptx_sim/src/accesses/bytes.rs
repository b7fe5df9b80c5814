//! A set of bytes of global memory: one bit each, in pages that are allocated when they are first accessed.

use std::collections::HashMap;
use std::ops::Range;

/// Bytes per page.
const PAGE: u64 = 4096;

const WORDS: usize = PAGE as usize / 64;

/// A set of bytes.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    pages: HashMap<u64, Box<[u64; WORDS]>>,
}

impl Bytes {
    /// Adds a range, which does not wrap.
    pub fn add(&mut self, range: Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let number = at / PAGE;
            let end = ((number + 1) * PAGE).min(range.end);
            let page = self.pages.entry(number).or_insert_with(|| Box::new([0; WORDS]));
            while at < end {
                let (word, bit) = ((at % PAGE / 64) as usize, at % 64);
                let count = (64 - bit).min(end - at);
                page[word] |= u64::MAX >> (64 - count) << bit;
                at += count;
            }
        }
    }

    /// Computes the union with another set.
    pub fn absorb(&mut self, other: Self) {
        for (number, theirs) in other.pages {
            let page = self.pages.entry(number).or_insert_with(|| Box::new([0; WORDS]));
            page.iter_mut().zip(theirs.iter()).for_each(|(mine, more)| *mine |= more);
        }
    }

    /// Returns the set as ranges: in order, disjoint, and not adjacent.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let mut numbers: Vec<&u64> = self.pages.keys().collect();
        numbers.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in numbers {
            for (word, bits) in self.pages[number].iter().enumerate() {
                let start = number * PAGE + word as u64 * 64;
                let (mut rest, mut at) = (*bits, 0);
                while rest != 0 {
                    at += rest.trailing_zeros();
                    let count = (bits >> at).trailing_ones();
                    let range = start + u64::from(at)..start + u64::from(at + count);
                    match ranges.last_mut() {
                        Some(last) if last.end == range.start => last.end = range.end,
                        _ => ranges.push(range),
                    }
                    at += count;
                    rest = if at < 64 { bits >> at } else { 0 };
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_across_words_and_pages() {
        let mut set = Bytes::default();
        let added = [0..1, 60..70, 70..72, 63..65, PAGE - 3..PAGE + 200, 3 * PAGE..3 * PAGE + 64, 100..100];
        added.into_iter().for_each(|range| set.add(range));
        let expected = [0..1, 60..72, PAGE - 3..PAGE + 200, 3 * PAGE..3 * PAGE + 64];
        assert_eq!(set.ranges(), expected);
        let mut other = Bytes::default();
        other.add(1..60);
        set.absorb(other);
        assert_eq!(set.ranges()[0], 0..72);
        assert_eq!(Bytes::default().ranges(), []);
    }
}
