//! The lane that accessed a cell of shadow memory, in one byte.
//!
//! A cell may stand for several elements that consecutive lanes accessed. Its mark is the first of these lanes and the
//! bytes of each lane. Equal marks mean that every byte was accessed by the same lane.

use super::clock::Who;

/// The low bits hold the lane. The bits above are 0 if that lane accessed the whole cell, 1 + log2 of the bytes of each
/// lane, or `ODD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u8);

const LANE_BITS: u32 = 5;
const ODD: u8 = 7 << LANE_BITS;

impl Mark {
    /// The lane is no longer recorded.
    pub const UNKNOWN: Self = Self(ODD);
    /// Several lanes accessed the whole cell.
    pub const SEVERAL: Self = Self(ODD | 1);

    /// One lane accessed the whole cell.
    #[inline(always)]
    pub fn lane(lane: u8) -> Self {
        Self(lane)
    }

    /// Consecutive lanes from `first` on accessed 1 << `own` bytes each, in a cell of 1 << `shift` bytes.
    #[inline(always)]
    pub fn side_by_side(first: u8, own: u32, shift: u32) -> Self {
        Self(first | if own < shift { (own as u8 + 1) << LANE_BITS } else { 0 })
    }

    /// Returns the same mark with its lane increased by `lanes`.
    #[inline(always)]
    pub fn up(self, lanes: u8) -> Self {
        Self(self.0.wrapping_add(lanes))
    }

    /// Returns the mark of a smaller cell of 1 << `shift` bytes that starts `offset` bytes after the start of this one.
    pub fn part(self, offset: usize, shift: u32) -> Self {
        match self.bytes_each() {
            Some(own) => Self::side_by_side((self.0 & 31) + (offset >> own) as u8, own, shift),
            None => self,
        }
    }

    /// Whether the mark applies to all bytes of the cell alike.
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        self.bytes_each().is_none()
    }

    /// Returns log2 of the bytes of each lane, if several lanes have parts of the cell.
    #[inline(always)]
    fn bytes_each(self) -> Option<u32> {
        match self.0 >> LANE_BITS {
            0 | 7 => None,
            own => Some(u32::from(own) - 1),
        }
    }

    /// Returns the mark of a cell that this mark's lanes and those of `new` have accessed without an order between
    /// them. Both are whole.
    #[inline(always)]
    pub fn with(self, new: Self) -> Self {
        match (self == new, self == Self::UNKNOWN || new == Self::UNKNOWN) {
            (true, _) => new,
            (false, true) => Self::UNKNOWN,
            // Two lanes at least.
            (false, false) => Self::SEVERAL,
        }
    }

    /// Returns the lane of a whole mark.
    pub fn who(self) -> Who {
        match self {
            Self::SEVERAL => Who::Several,
            Self(lane) if lane < 1 << LANE_BITS => Who::Lane(lane),
            _ => Who::Unknown,
        }
    }
}

/// Effect of a new member on the mark of a cell, which gives the lane of the set's latest member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Marks {
    /// The access is not recorded.
    #[default]
    Keep,
    /// The mark is that of the new member.
    Replace,
    /// The new member replaces the latest one, an access of the same warp and stamp: the mark stands for both.
    Merge,
    /// The new member replaces an access of the same warp whose lane or stamp is not the mark's.
    Lose,
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
    fn marks_give_their_lane() {
        assert_eq!(Mark::lane(31).who(), Who::Lane(31));
        assert_eq!((Mark::SEVERAL.who(), Mark::UNKNOWN.who()), (Who::Several, Who::Unknown));
        assert_eq!(Mark::side_by_side(31, 5, 5), Mark::lane(31));
        assert_eq!(
            (Mark::lane(3).with(Mark::lane(3)), Mark::lane(3).with(Mark::lane(0))),
            (Mark::lane(3), Mark::SEVERAL)
        );
        assert_eq!(
            (Mark::SEVERAL.with(Mark::lane(3)), Mark::lane(3).with(Mark::UNKNOWN)),
            (Mark::SEVERAL, Mark::UNKNOWN)
        );
        assert_ne!(Mark::side_by_side(3, 1, 2), Mark::side_by_side(3, 0, 2));
    }
}
