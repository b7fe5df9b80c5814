//! An access of a warp as few pieces: lanes side by side in memory, or lanes at one address.

use crate::machine::lanes::Spread;
use crate::observe::Touch;
use crate::registers::LANES;

/// Neighbouring lanes whose addresses are the same, or follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub address: u64,
    pub first_lane: usize,
    pub lanes: usize,
    /// All lanes at `address`; otherwise side by side.
    pub same: bool,
}

impl Piece {
    /// Bytes that all lanes cover together.
    #[inline]
    pub fn bytes(&self, per_lane: u64) -> u64 {
        if self.same { per_lane } else { per_lane * self.lanes as u64 }
    }

    /// The lane that byte `offset` of the piece belongs to; the first one when they share it.
    #[inline]
    pub fn lane_at(&self, offset: u64, per_lane: u64) -> usize {
        if self.same { self.first_lane } else { self.first_lane + (offset / per_lane) as usize }
    }
}

/// Calls `each` for every piece of an access, in the order of lanes.
#[inline]
pub(super) fn each(touch: &Touch<'_>, mut each: impl FnMut(Piece)) {
    let bytes = u64::from(touch.bytes);
    let Spread { low, step, .. } = touch.spread;
    let (first_lane, lanes) = (touch.mask.trailing_zeros(), touch.mask.count_ones());
    let neighbours = (touch.mask >> (first_lane & 31)).trailing_ones() == lanes;
    let (first_lane, lanes) = (first_lane as usize, lanes as usize);
    match step {
        Some(0) if neighbours => each(Piece { address: low, first_lane, lanes, same: lanes > 1 }),
        Some(step) if neighbours && step as u64 == bytes => {
            each(Piece { address: low, first_lane, lanes, same: false });
        }
        _ => scattered(touch.addresses, touch.mask, bytes, each),
    }
}

fn scattered(addresses: &[u64; LANES], mask: u32, bytes: u64, mut each: impl FnMut(Piece)) {
    // Blocks that are 16 threads wide: two rows in a warp.
    let (low, high) = addresses.split_at(LANES / 2);
    if mask == u32::MAX
        && let (Some(low_same), Some(high_same)) = (regular(low, bytes), regular(high, bytes))
    {
        each(Piece { address: low[0], first_lane: 0, lanes: LANES / 2, same: low_same });
        each(Piece { address: high[0], first_lane: LANES / 2, lanes: LANES / 2, same: high_same });
        return;
    }
    // Bit per lane that takes part together with the next one, at the same address or right before it.
    let (mut same, mut next) = (0, 0);
    for lane in 0..LANES - 1 {
        let step = addresses[lane + 1].wrapping_sub(addresses[lane]);
        same |= u32::from(step == 0) << lane;
        next |= u32::from(step == bytes) << lane;
    }
    let pairs = mask & mask >> 1;
    (same, next) = (same & pairs, next & pairs);
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let equal = (same >> first).trailing_ones();
        let more = if equal > 0 { equal } else { (next >> first).trailing_ones() };
        let (first_lane, lanes) = (first as usize, more as usize + 1);
        each(Piece { address: addresses[first_lane], first_lane, lanes, same: equal > 0 });
        rest &= u32::MAX.checked_shl(first + more + 1).unwrap_or(0);
    }
}

/// Are all addresses the same (true), or side by side (false)? Written so that the compiler makes vectors of it.
#[inline]
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

    #[test]
    fn half_warps_are_two_pieces() {
        let addresses = std::array::from_fn(|lane| if lane < 16 { 640 } else { 1024 + 8 * lane as u64 });
        let mut pieces = Vec::new();
        scattered(&addresses, u32::MAX, 8, |piece| pieces.push(piece));
        let wanted = [
            Piece { address: 640, first_lane: 0, lanes: 16, same: true },
            Piece { address: 1152, first_lane: 16, lanes: 16, same: false },
        ];
        assert_eq!(pieces, wanted);
    }

    #[test]
    fn neighbours_are_found() {
        let addresses = std::array::from_fn(|lane| if lane < 16 { 64 + lane as u64 * 4 } else { 8 });
        let mut pieces = Vec::new();
        scattered(&addresses, 0xffff_fff7, 4, |piece| pieces.push(piece));
        let wanted = [
            Piece { address: 64, first_lane: 0, lanes: 3, same: false },
            Piece { address: 80, first_lane: 4, lanes: 12, same: false },
            Piece { address: 8, first_lane: 16, lanes: 16, same: true },
        ];
        assert_eq!(pieces, wanted);
        assert_eq!((pieces[0].bytes(4), pieces[2].bytes(4), pieces[1].lane_at(9, 4)), (12, 4, 6));
    }
}
