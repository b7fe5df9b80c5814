//! The kernel that suits a list of segments.

use super::most_blocks;
use crate::backend::DeviceInfo;
use crate::launch::MAX_GRID;
use kernels_gpu::segreduce::best::{self, pieces};

/// How the work is divided.
#[derive(Debug, PartialEq, Eq)]
pub enum Way {
    /// Equal parts of elements and ends for this number of blocks: any mix of lengths.
    Parts(u32),
    /// A warp per segment; the longest has this number of elements.
    Warps {
        /// Elements of the longest segment.
        longest: u64,
    },
    /// A block per segment; the longest has this number of elements.
    Whole {
        /// Elements of the longest segment.
        longest: u64,
    },
    /// A block per piece of a segment.
    Pieces(Pieces),
}

/// Segments, cut where they are longer than a piece.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Where each piece begins, and the end of the last.
    pub cuts: Vec<u64>,
    /// The segment of each piece.
    pub segments: Vec<u32>,
    /// The first piece of each segment, and the number of pieces.
    pub firsts: Vec<u32>,
    /// Elements of the longest piece.
    pub longest: u64,
    /// Pieces of the segment that has the most.
    pub most: u64,
}

/// Mean length of segments, in bytes, from which a warp per segment is faster than equal parts. (H200, f32: 2^28
/// elements in segments of 128 take 374 us, in parts 395; in segments of 16 they take 2.5 ms, in parts 458 us. 2^22 in
/// segments of 0 to 255 take 13.1 us, in parts 19.5.)
const WARP_BYTES: u64 = 448;

/// Mean length of pieces, in bytes, from which a block for each is faster than a warp per segment. (H200, 2^27 f32 in
/// segments of 2048: 147 us, by warps 135; of 5000: 129 and 132; of 0 to 8192: 126 and 136; of 16384: 125 and 136.)
const PIECE_BYTES: u64 = 12 << 10;

/// Bytes of the longest piece, unless that were more than [`MOST_PIECES`] of a segment: eight rounds of a block.
const LONGEST_PIECE: u64 = 8 * pieces::ROUND as u64;

/// Pieces of a segment whose results its last block combines without a delay that matters.
const MOST_PIECES: u64 = 4096;

/// Blocks per multiprocessor that pieces should fill several times over, so that all of them end at about the same
/// time.
const PIECES_PER_SM: u64 = 16;

/// Warps per multiprocessor that a warp per segment occupies.
const RESIDENT_WARPS: u64 = 64;

/// Bytes of all elements up to which the times of the ways are estimated.
const SMALL: u64 = 16 << 20;

impl Way {
    /// Chooses for elements of `T` in segments with these limits, of which there is at least one.
    pub fn choose<T>(info: &DeviceInfo, offsets: &[u64]) -> Self {
        let (bytes, segments) = (size_of::<T>() as u64, offsets.len() as u64 - 1);
        let inside = offsets[offsets.len() - 1] - offsets[0];
        let longest = lengths(offsets).max().unwrap_or(0);
        let sms = u64::from(info.multiprocessors).max(1);
        let piece = piece(bytes, inside / (sms * PIECES_PER_SM), longest);
        let count: u64 = lengths(offsets).map(|length| length.div_ceil(piece).max(1)).sum();
        // At least two pieces for each of four blocks on a multiprocessor.
        let enough = count >= 8 * sms && inside * bytes >= count.saturating_mul(PIECE_BYTES);
        if enough && count <= MAX_GRID {
            return Self::Pieces(Pieces::cut(offsets, piece));
        }
        if segments > 0 && inside * bytes <= SMALL {
            return Self::of_small(info, (bytes, inside, segments), longest);
        }
        // The mean segment keeps a warp's lanes busy, and the longest is at most the share of one of the warps that run
        // at the same time, so that none of them works alone at the end.
        let busy = segments > 0 && inside * bytes >= segments.saturating_mul(WARP_BYTES);
        if busy && longest <= inside / (sms * RESIDENT_WARPS) {
            return Self::Warps { longest };
        }
        Self::parts(info, (bytes, inside, segments))
    }

    fn parts(info: &DeviceInfo, (bytes, inside, segments): (u64, u64, u64)) -> Self {
        let tiles = (inside + segments).div_ceil(best::tile(bytes as usize).into());
        Self::Parts(tiles.min(u64::from(most_blocks(info))).min(MAX_GRID) as u32)
    }

    /// Chooses the way that is estimated to be the fastest for elements of a size, a number of them, and a number of
    /// segments.
    ///
    /// The estimates are lines through the times of an H200 for 2^10 to 2^22 f32 in segments of 4 to 2048 elements, in
    /// nanoseconds (`docs/results/h200/2026-11-27-segments.txt`): a warp loads 32 elements of its segment at a time, a
    /// block thousands; each block costs eight times as much as a warp; equal parts take a second round over the
    /// blocks.
    fn of_small(info: &DeviceInfo, (bytes, inside, segments): (u64, u64, u64), longest: u64) -> Self {
        let moved = inside * bytes / 8;
        let warps = 4000 + longest * 18 / 5 + segments * 3 / 20 + moved / 1000;
        let whole = 4300 + longest * bytes / 13 + segments * 23 / 20 + moved / 1000;
        let items = inside + segments;
        let parts = 7500 + items.min(1 << 15) / 18 + items / 385;
        match (warps, whole) {
            _ if parts < warps.min(whole) || segments > MAX_GRID => Self::parts(info, (bytes, inside, segments)),
            _ if warps <= whole => Self::Warps { longest },
            _ => Self::Whole { longest },
        }
    }
}

/// Largest number of bytes of [`Pieces`] and their results for `n` elements of `T`.
pub fn most_bytes<T>(n: u64) -> u64 {
    let (bytes, numbers) = (size_of::<T>() as u64, (2 * size_of::<u64>() + size_of::<u32>()) as u64);
    (n * bytes / PIECE_BYTES + 1) * (numbers + bytes)
}

/// Elements of a piece: this share, or more if it is less than a round of a block, or if the longest segment would have
/// too many; less if a piece would be too long. It is a number of whole rounds.
fn piece(bytes: u64, share: u64, longest: u64) -> u64 {
    let (round, most) = (pieces::ROUND as u64 / bytes, LONGEST_PIECE / bytes);
    share.min(most).max(longest.div_ceil(MOST_PIECES)).max(1).next_multiple_of(round)
}

fn lengths(offsets: &[u64]) -> impl Iterator<Item = u64> {
    offsets.windows(2).map(|ends| ends[1] - ends[0])
}

impl Pieces {
    /// Cuts the segments after every `piece` elements, counted from the last boundary of 16 bytes before the segment.
    fn cut(offsets: &[u64], piece: u64) -> Self {
        let mut all = Self { cuts: Vec::new(), segments: Vec::new(), firsts: Vec::new(), longest: 0, most: 0 };
        for (segment, ends) in offsets.windows(2).enumerate() {
            let first = all.segments.len();
            all.firsts.push(first as u32);
            let mut begin = ends[0];
            loop {
                let limit = begin / 4 * 4 + piece;
                // A rest of a few elements stays with the piece before it.
                let end = if limit + piece / 4 < ends[1] { limit } else { ends[1] };
                all.cuts.push(begin);
                all.segments.push(segment as u32);
                all.longest = all.longest.max(end - begin);
                begin = end;
                if begin == ends[1] {
                    break;
                }
            }
            all.most = all.most.max((all.segments.len() - first) as u64);
        }
        all.firsts.push(all.segments.len() as u32);
        all.cuts.push(offsets[offsets.len() - 1]);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

    fn of_equal(n: u64, length: u64) -> Way {
        let info = DeviceInfo { multiprocessors: 132, ..simulator() };
        let ends: Vec<u64> = (0..=n / length).map(|k| k * length).collect();
        Way::choose::<f32>(&info, &ends)
    }

    #[test]
    fn each_mix_of_lengths_has_its_kernel() {
        let info = DeviceInfo { multiprocessors: 132, ..simulator() };
        assert_eq!(of_equal(1 << 22, 128), Way::Warps { longest: 128 });
        assert_eq!(of_equal(1 << 28, 1024), Way::Warps { longest: 1024 });
        assert!(matches!(of_equal(1 << 24, 16), Way::Parts(_)), "short ones");
        assert!(matches!(of_equal(1 << 20, 1 << 20), Way::Parts(_)), "too few elements for all multiprocessors");
        assert_eq!(of_equal(1 << 14, 16), Way::Warps { longest: 16 });
        assert_eq!(of_equal(1 << 14, 2048), Way::Whole { longest: 2048 });
        assert_eq!(of_equal(1 << 18, 512), Way::Whole { longest: 512 });
        assert!(matches!(of_equal(1 << 22, 4), Way::Parts(_)), "many short ones");
        let mut power = vec![0, 1 << 22];
        power.extend((1..1 << 16).map(|k| (1 << 22) + k * 64));
        assert!(matches!(Way::choose::<f32>(&info, &power), Way::Parts(_)), "one long segment and many short ones");
        assert!(matches!(Way::choose::<f32>(&info, &[0]), Way::Parts(0)), "no segments");
        for (length, each) in [(4096, 4096), (1 << 20, 32_768), (1 << 28, 65_536)] {
            let Way::Pieces(pieces) = of_equal(1 << 28, length) else { panic!("{length}: not in pieces") };
            assert_eq!(pieces.segments.len() as u64, (1 << 28) / each, "{length}");
            assert_eq!((pieces.longest, pieces.most), (each, length / each), "{length}");
        }
    }

    #[test]
    fn pieces_cover_the_segments_in_order() {
        let ends = [3, 3, 9, 9000, 13_000, 22_000, 22_000];
        let Pieces { cuts, segments, firsts, longest, most } = Pieces::cut(&ends, 4096);
        assert_eq!(cuts, [3, 3, 9, 4104, 9000, 13_000, 17_096, 22_000, 22_000]);
        assert_eq!(segments, [0, 1, 2, 2, 3, 4, 4, 5]);
        assert_eq!(firsts, [0, 1, 2, 4, 5, 7, 8]);
        assert_eq!((longest, most), (4904, 2));
    }

    #[test]
    fn scratch_memory_has_room_for_the_pieces() {
        let Way::Pieces(pieces) = of_equal(1 << 28, 4096) else { panic!("not in pieces") };
        let Pieces { cuts, segments, firsts, .. } = &pieces;
        let lists = size_of_val(&cuts[..]) + size_of_val(&segments[..]) + size_of_val(&firsts[..]);
        let results = segments.len() * size_of::<f32>() + (firsts.len() - 1) * size_of::<u32>();
        assert!((lists + results) as u64 <= most_bytes::<f32>(1 << 28));
    }
}
