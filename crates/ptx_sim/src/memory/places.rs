//! Places for allocations in a range of addresses: far apart, and in freed ranges only when the range has been used up.
//!
//! The search goes on where the last one ended, and begins again at the start of the range when it reaches the end. An
//! address is therefore not used again soon, and an access after a free meets no other allocation.

use std::collections::BTreeMap;
use std::ops::Range;

/// Alignment of all places, and the size of the red zone behind each of them.
pub const ALIGN: u64 = 512;
/// Least distance between two places of the host, the distance in sizes of the larger one, and the greatest distance
/// that a size demands.
const APART: (u64, u64, u64) = (1 << 20, 8, 1 << 34);

/// The places that are taken in a range of addresses.
#[derive(Debug)]
pub struct Places {
    range: Range<u64>,
    /// End of the latest place, where the next search starts.
    cursor: u64,
    /// Taken places by their start.
    taken: BTreeMap<u64, Place>,
}

/// A place that is taken.
#[derive(Clone, Copy, Debug)]
struct Place {
    end: u64,
    /// Least distance to the neighbours.
    apart: u64,
}

impl Places {
    /// Creates the places of a range in which nothing is taken.
    pub fn new(range: Range<u64>) -> Self {
        Self { cursor: range.start, range, taken: BTreeMap::new() }
    }

    /// Takes `size` bytes at a multiple of `align`, far from all others, or next to others that are `close`; `None` if
    /// the range has no such place.
    pub fn take(&mut self, size: u64, align: u64, close: bool) -> Option<u64> {
        let (least, times, most) = APART;
        let apart = if close { 0 } else { size.saturating_mul(times).clamp(least, most).next_multiple_of(least) };
        let align = align.max(ALIGN);
        let base =
            self.find(self.cursor, size, align, apart).or_else(|| self.find(self.range.start, size, align, apart))?;
        let end = base + size;
        self.cursor = end;
        self.taken.insert(base, Place { end, apart });
        Some(base)
    }

    /// Takes addresses that the caller chose. Those that are taken already stay as they are.
    pub fn occupy(&mut self, base: u64, size: u64) {
        let is_taken = self.taken.range(..=base).next_back().is_some_and(|(_, place)| base < place.end);
        if !is_taken {
            self.taken.insert(base, Place { end: base.saturating_add(size), apart: 0 });
        }
    }

    /// Returns a place that starts at `base`.
    pub fn release(&mut self, base: u64) {
        self.taken.remove(&base);
    }

    /// Returns the first place from an address on.
    fn find(&self, from: u64, size: u64, align: u64, apart: u64) -> Option<u64> {
        let after =
            |place: &Place| behind(place.end)?.checked_add(place.apart.max(apart))?.checked_next_multiple_of(align);
        let mut start = from.checked_next_multiple_of(align)?;
        if let Some((_, before)) = self.taken.range(..=from).next_back() {
            start = start.max(after(before)?);
        }
        for (&base, place) in self.taken.range(from.saturating_add(1)..) {
            if behind(start.checked_add(size)?)?.checked_add(place.apart.max(apart))? <= base {
                break;
            }
            start = start.max(after(place)?);
        }
        (behind(start.checked_add(size)?)? <= self.range.end).then_some(start)
    }
}

/// Returns the end of the red zone behind a place that ends at `end`.
fn behind(end: u64) -> Option<u64> {
    Some(end.checked_add(2 * ALIGN - 1)? / ALIGN * ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_larger_neighbour_decides_the_distance() {
        let mut places = Places::new(0x1000..1 << 40);
        let [a, b, c, d] = [8, 4 * MIB, 8, 1 << 36].map(|size| places.take(size, 1, false).expect("a place"));
        assert!(b - (a + 8) >= 32 * MIB && c - (b + 4 * MIB) >= 32 * MIB && d - (c + 8) >= 1 << 34);
        assert!([a, b, c, d].iter().all(|place| place % ALIGN == 0));
        assert_eq!(places.take(8, MIB, false).expect("a place") % MIB, 0);
    }

    #[test]
    fn close_places_are_far_from_others() {
        let mut places = Places::new(0..1 << 40);
        let [first, heap, next] = [false, true, true].map(|close| places.take(100, 1, close).expect("a place"));
        assert!(heap - first > MIB && next - heap == 1024);
    }

    /// A released place is taken again only when the range has been used up; then a new place is as far from its
    /// neighbours as before, and without room there is none.
    #[test]
    fn released_places_are_used_after_all_others() {
        let mut places = Places::new(0..20 * MIB);
        let mut taken = vec![places.take(8, 1, false).expect("a place")];
        let released = taken[0];
        while let Some(place) = {
            if taken.len() == 3 {
                places.release(released);
            }
            places.take(8, 1, false)
        } {
            assert!(
                place > taken[taken.len() - 1] || (place == released && taken.len() > 10),
                "{place:#x}: {taken:x?}"
            );
            taken.push(place);
        }
        assert_eq!(taken.iter().filter(|place| **place == released).count(), 2);
        taken.remove(0);
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[1] - pair[0] > MIB), "{taken:x?}");
    }

    #[test]
    fn a_large_place_leaves_room_for_distances() {
        let mut places = Places::new(0..14 << 40);
        let large = places.take(1 << 40, 1, false).expect("a place");
        let [a, b] = [4096, 8].map(|size| places.take(size, 1, false).expect("a place"));
        assert!(a - (large + (1 << 40)) >= 1 << 34 && b - a > MIB);
        assert_eq!(places.take(u64::MAX, 1, false), None);
    }

    #[test]
    fn chosen_addresses_are_left_out() {
        let mut places = Places::new(0..1 << 40);
        places.occupy(0, 64 * MIB);
        let place = places.take(8, 1, false).expect("a place");
        assert!(place >= 65 * MIB);
        places.occupy(place, 4);
        assert!(places.take(8, 1, false).expect("a place") > place + MIB);
        places.occupy(place + 4, 2);
        places.release(place + 4);
        assert!(places.take(8, 1, false).expect("a place") > place + 2 * MIB);
    }
}
