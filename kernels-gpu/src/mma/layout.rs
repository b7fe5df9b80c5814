//! Where the bytes of a tile lie in shared memory: rows in units of 16 bytes, which are exchanged (the swizzle) so that
//! eight lanes that load a matrix with `ldmatrix` find its rows in different banks.

/// Bytes of a unit: an asynchronous copy, or a row of a matrix.
pub const UNIT: u32 = 16;

/// Bytes of all banks.
const BANKS: u32 = 128;

/// Offset of unit `unit` of row `row`, for rows of `pitch` bytes. `turn` is a number below 8 that differs among the
/// eight rows that are loaded together; where two rows fill the banks, only among every second.
#[inline(always)]
pub const fn offset(pitch: u32, row: u32, unit: u32, turn: u32) -> u32 {
    let turn = if pitch < BANKS { turn / (BANKS / pitch) } else { turn };
    row * pitch + (unit ^ turn) * UNIT
}

/// Offset from which the lane loads its part of the 16 lines from `line` on, a multiple of 8, that lie along the depth:
/// for the registers of a left factor, or of two right ones, for which the two in the middle are exchanged.
#[inline(always)]
pub const fn start_along<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32 {
    let [first, second] = [lane / 16, lane / 8 % 2];
    let [half, unit] = if RIGHT { [first, second] } else { [second, first] };
    offset(pitch, line + half * 8 + lane % 8, unit, lane % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mma::{F16, Factor, S8, Tf32};

    #[test]
    fn eight_rows_have_different_banks() {
        for pitch in [64, 128, 256, 512, 1024] {
            for unit in 0..pitch / UNIT {
                let banks = (0..8).map(|row| offset(pitch, row, unit, row % 8));
                assert_eq!(all_units(banks), 0xff, "{pitch} {unit}");
            }
        }
    }

    /// A bit for each unit of the banks that an access of eight lanes needs.
    fn all_units(offsets: impl Iterator<Item = u32>) -> u32 {
        offsets.fold(0, |units, offset| units | 1 << (offset % BANKS / UNIT))
    }

    #[test]
    fn lines_across_the_depth_have_different_banks() {
        for (line, pitch) in [(0, 64), (0, 256), (32, 256), (64, 512)] {
            for matrix in [0, 8, 16, 24] {
                let lanes = |lane: u32| F16::start_across::<false>(pitch, line, matrix + lane);
                assert_eq!(all_units((0..8).map(lanes)), 0xff, "f16 {line} {matrix}");
            }
            // All lanes read an element of four bytes each.
            let lanes = |lane: u32| Tf32::start_across::<false>(2 * pitch, line, lane);
            assert_eq!(all_units((0..32).map(lanes)), 0xff, "tf32 {line}");
        }
        for (line, pitch) in [(0, 64), (32, 64), (0, 128), (64, 128), (64, 256)] {
            for matrix in [0, 8, 16, 24] {
                let lanes = |lane: u32| S8::start_across::<false>(pitch, line, matrix + lane);
                assert_eq!(all_units((0..8).map(lanes)), 0xff, "s8 {pitch} {line} {matrix}");
            }
        }
        // Rows of 32 bytes: two passes.
        assert_eq!(all_units((0..8).map(|lane| S8::start_across::<false>(32, 0, lane))).count_ones(), 4);
    }
}
