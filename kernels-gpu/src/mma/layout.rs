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

    #[test]
    fn eight_rows_have_different_banks() {
        for pitch in [64, 128, 256, 512, 1024] {
            for unit in 0..pitch / UNIT {
                let mut banks: [u32; 8] = core::array::from_fn(|row| {
                    let row = row as u32;
                    offset(pitch, row, unit, row % 8) % BANKS / UNIT
                });
                banks.sort_unstable();
                assert_eq!(banks, [0, 1, 2, 3, 4, 5, 6, 7], "{pitch} {unit}");
            }
        }
    }
}
