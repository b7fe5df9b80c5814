//! Decomposition of a warp's access into few pieces: lanes with adjacent addresses, or lanes with one address.

use super::marks::Mark;
use crate::isa::lift::pack;
use crate::registers::LANES;

/// Consecutive lanes whose addresses are equal or adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub address: u64,
    pub first_lane: usize,
    pub lanes: usize,
    /// Whether all lanes access `address`; otherwise their addresses are adjacent.
    pub same: bool,
}

impl Piece {
    /// Bytes that the lanes cover together.
    #[inline]
    pub fn bytes(&self, per_lane: u64) -> u64 {
        if self.same { per_lane } else { per_lane * self.lanes as u64 }
    }

    /// Returns the mark of a piece at one address. `in_turn`: each lane observes the lanes before it, so that the last
    /// one stands for all.
    #[inline(always)]
    pub fn mark(&self, in_turn: bool) -> Mark {
        let lane = self.first_lane as u8;
        match self.lanes {
            1 => Mark::lane(lane),
            lanes if in_turn => Mark::lane(lane + lanes as u8 - 1),
            _ => Mark::SEVERAL,
        }
    }

    /// Lane that accesses byte `offset` of the piece; the first lane if they share it.
    #[inline]
    pub fn lane_at(&self, offset: u64, per_lane: u64) -> usize {
        if self.same { self.first_lane } else { self.first_lane + (offset / per_lane) as usize }
    }
}

/// The pieces of an access, in the order of lanes.
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    addresses: &'a [u64; LANES],
    /// Lanes that are in no piece yet.
    rest: u32,
    /// Lanes with the same address as the next lane; both take part.
    same: u32,
    /// Lanes whose bytes end where those of the next lane start.
    next: u32,
}

impl<'a> Pieces<'a> {
    /// Decomposes the access of the lanes in `mask`, `bytes` bytes each.
    #[inline(always)]
    pub fn of(addresses: &'a [u64; LANES], mask: u32, bytes: u64, step: Option<i64>) -> Self {
        let pairs = mask & mask >> 1;
        let (same, next) = match step {
            Some(0) => (u32::MAX, 0),
            Some(step) => (0, if step as u64 == bytes { u32::MAX } else { 0 }),
            None => neighbours(addresses, mask, bytes),
        };
        Self { addresses, rest: mask, same: same & pairs, next: next & pairs }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;
    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        if self.rest == 0 {
            return None;
        }
        let first = self.rest.trailing_zeros();
        let equal = (self.same >> first).trailing_ones();
        let more = if equal > 0 { equal } else { (self.next >> first).trailing_ones() };
        self.rest &= u32::MAX.checked_shl(first + more + 1).unwrap_or(0);
        let (first_lane, lanes) = (first as usize, more as usize + 1);
        Some(Piece { address: self.addresses[first_lane], first_lane, lanes, same: equal > 0 })
    }
}

/// Returns the lanes with the same address as the next lane, and the lanes that lie directly before it.
#[inline(always)]
fn neighbours(addresses: &[u64; LANES], mask: u32, bytes: u64) -> (u32, u32) {
    // Blocks that are 16 threads wide have two rows in a warp.
    const ROW: usize = LANES / 2;
    const LINKS: u32 = u32::MAX >> (LANES - ROW + 1);
    let (low, high) = addresses.split_at(ROW);
    if mask == u32::MAX
        && let (Some(low_same), Some(high_same)) = (regular(low, bytes), regular(high, bytes))
    {
        let same = if low_same { LINKS } else { 0 } | if high_same { LINKS << ROW } else { 0 };
        return (same, (LINKS | LINKS << ROW) & !same);
    }
    let (mut same, mut next) = ([false; LANES], [false; LANES]);
    for lane in 0..LANES - 1 {
        let step = addresses[lane + 1].wrapping_sub(addresses[lane]);
        same[lane] = step == 0;
        next[lane] = step == bytes;
    }
    (pack(&same), pack(&next))
}

/// Whether all addresses are equal (true) or adjacent (false). Written in a form that the compiler vectorises.
#[inline(always)]
fn regular(addresses: &[u64], bytes: u64) -> Option<bool> {
    let same = addresses[1] == addresses[0];
    let (shift, kept) = (bytes.trailing_zeros() & 63, if same { 0 } else { u64::MAX });
    let mut off = 0;
    for (lane, address) in addresses.iter().enumerate() {
        off |= address ^ addresses[0].wrapping_add((lane as u64) << shift & kept);
    }
    (off == 0 && bytes.is_power_of_two()).then_some(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(addresses: &[u64; LANES], mask: u32, bytes: u64) -> Vec<Piece> {
        Pieces::of(addresses, mask, bytes, None).collect()
    }

    #[test]
    fn half_warps_are_two_pieces() {
        let addresses = std::array::from_fn(|lane| if lane < 16 { 640 } else { 1024 + 8 * lane as u64 });
        let wanted = [
            Piece { address: 640, first_lane: 0, lanes: 16, same: true },
            Piece { address: 1152, first_lane: 16, lanes: 16, same: false },
        ];
        assert_eq!(pieces(&addresses, u32::MAX, 8), wanted);
    }

    #[test]
    fn neighbours_are_found() {
        let addresses = std::array::from_fn(|lane| if lane < 16 { 64 + lane as u64 * 4 } else { 8 });
        let pieces = pieces(&addresses, 0xffff_fff7, 4);
        let wanted = [
            Piece { address: 64, first_lane: 0, lanes: 3, same: false },
            Piece { address: 80, first_lane: 4, lanes: 12, same: false },
            Piece { address: 8, first_lane: 16, lanes: 16, same: true },
        ];
        assert_eq!(pieces, wanted);
        assert_eq!((pieces[0].bytes(4), pieces[2].bytes(4), pieces[1].lane_at(9, 4)), (12, 4, 6));
    }

    /// The step leads to the same pieces as the addresses.
    #[test]
    fn a_known_step_gives_the_same_pieces() {
        for step in [-4, 0, 4, 8] {
            let addresses = std::array::from_fn(|lane| 4096_u64.wrapping_add_signed(lane as i64 * step));
            for mask in [u32::MAX, 1, 1 << 31, 0x0ff0, 0xf0f0_0001, 0x8000_0001] {
                let known: Vec<Piece> = Pieces::of(&addresses, mask, 4, Some(step)).collect();
                let lanes = known.iter().fold(0, |lanes, piece| lanes + piece.lanes);
                assert_eq!(lanes as u32, mask.count_ones());
                // Two rows that follow each other are separate pieces only if the step is unknown.
                if mask != u32::MAX || ![0, 4].contains(&step) {
                    assert_eq!(known, pieces(&addresses, mask, 4), "{step} {mask:x}");
                }
            }
        }
    }
}
