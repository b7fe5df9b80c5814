//! Which lane accessed a cell of shadow memory, in one byte.
//!
//! A cell that stands for several elements, each accessed by the lane after that of the one before, is marked by the
//! first of these lanes and by the bytes that each has. Equal marks mean that every byte was accessed by the same lane.

use super::clock::Who;

/// The lane in the low bits; above them 0 (the whole cell is that lane's), 1 + log2 of the bytes that each lane has, or
/// `ODD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u8);

const LANE_BITS: u32 = 5;
const ODD: u8 = 7 << LANE_BITS;

impl Mark {
    /// It is not known any more which lane it was.
    pub const UNKNOWN: Self = Self(ODD);
    /// Several lanes accessed all of the cell.
    pub const SEVERAL: Self = Self(ODD | 1);

    /// All of the cell.
    #[inline(always)]
    pub fn lane(lane: u8) -> Self {
        Self(lane)
    }

    /// Lanes side by side from `first` on that have 1 << `own` bytes each, in a cell of 1 << `shift` bytes.
    #[inline(always)]
    pub fn side_by_side(first: u8, own: u32, shift: u32) -> Self {
        Self(first | if own < shift { (own as u8 + 1) << LANE_BITS } else { 0 })
    }

    /// The same of so many lanes further.
    #[inline(always)]
    pub fn up(self, lanes: u8) -> Self {
        Self(self.0.wrapping_add(lanes))
    }

    /// The mark of a smaller cell of 1 << `shift` bytes that starts `offset` bytes behind the start of this one.
    pub fn part(self, offset: usize, shift: u32) -> Self {
        match self.bytes_each() {
            Some(own) => Self::side_by_side((self.0 & 31) + (offset >> own) as u8, own, shift),
            None => self,
        }
    }

    /// Does it hold for all bytes of the cell alike?
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        self.bytes_each().is_none()
    }

    /// log2 of the bytes that each of several lanes has.
    #[inline(always)]
    fn bytes_each(self) -> Option<u32> {
        match self.0 >> LANE_BITS {
            0 | 7 => None,
            own => Some(u32::from(own) - 1),
        }
    }

    /// The lane, where the mark is whole.
    pub fn who(self) -> Who {
        match self {
            Self::SEVERAL => Who::Several,
            Self(lane) if lane < 1 << LANE_BITS => Who::Lane(lane),
            _ => Who::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_cell() {
        let bytes = Mark::side_by_side(0, 0, 5);
        assert_eq!(bytes.part(8, 2), Mark::side_by_side(8, 0, 2));
        assert_eq!((bytes.part(31, 0), bytes.part(8, 2).part(1, 0)), (Mark::lane(31), Mark::lane(9)));
        let doubles = Mark::side_by_side(12, 3, 5);
        assert_eq!((doubles.part(4, 2), doubles.part(8, 2)), (Mark::lane(12), Mark::lane(13)));
        assert_eq!(doubles.part(20, 0), Mark::lane(14));
        assert!(!bytes.is_whole() && !doubles.is_whole() && doubles.part(4, 2).is_whole());
        assert_eq!((Mark::lane(31).part(3, 0), Mark::SEVERAL.part(3, 0)), (Mark::lane(31), Mark::SEVERAL));
    }

    #[test]
    fn whose_a_mark_is() {
        assert_eq!(Mark::lane(31).who(), Who::Lane(31));
        assert_eq!((Mark::SEVERAL.who(), Mark::UNKNOWN.who()), (Who::Several, Who::Unknown));
        assert_eq!(Mark::side_by_side(31, 5, 5), Mark::lane(31));
        assert_ne!(Mark::side_by_side(3, 1, 2), Mark::side_by_side(3, 0, 2));
    }
}
