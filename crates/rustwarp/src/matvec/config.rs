//! How many blocks and threads share a matrix.

use crate::backend::DeviceInfo;
use crate::error::Result;
use crate::launch::require_grid;
use kernels_gpu::matvec::{best, columns};

/// A launch configuration for loads of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// Number of blocks.
    pub grid: u32,
    /// Lanes that load neighbours of a stored line together.
    pub lanes: u32,
    /// Blocks that share sums.
    pub pieces: u32,
    /// Columns of the matrix for each piece.
    pub piece: u32,
    /// Elements of scratch memory for the sums of all pieces.
    pub partials: usize,
    /// Number of tickets: one for each group of rows that blocks share.
    pub tickets: usize,
    /// Upper bound of the products and additions in a chain to an element of the result.
    pub depth: u64,
}

const _: () = assert!(best::BLOCK == columns::BLOCK && best::BLOCKS_PER_SM == columns::BLOCKS_PER_SM);

/// Blocks that the device runs at the same time.
fn resident(info: &DeviceInfo) -> u64 {
    u64::from(info.multiprocessors * best::BLOCKS_PER_SM)
}

/// The launch of `best`, with loads of `width` elements.
pub(super) fn by_rows(info: &DeviceInfo, [rows, columns]: [u64; 2], width: u64) -> Result<Config> {
    const WARP: u64 = 32;
    let block = u64::from(best::BLOCK);
    let (resident, loads) = (resident(info), columns.div_ceil(width).max(1));
    let groups = |team: u64| rows.div_ceil(best::ROWS as u64 * (WARP / team.min(WARP)));
    let blocks = |team: u64| (groups(team) * team.max(WARP)).div_ceil(block);
    // The largest team of whole warps with which all teams run at the same time, and each lane has a load to do. With
    // more rows, as many lanes as have their loads in flight twice, or once where rows are short.
    let at_once = [block, block / 2, block / 4, WARP].into_iter();
    let team = at_once.clone().find(|&team| blocks(team) <= resident && team <= loads);
    let team = team.unwrap_or_else(|| match loads / (2 * best::UNROLL as u64) {
        0..16 => loads.div_ceil(best::UNROLL as u64).next_power_of_two(),
        long => (1 << long.ilog2()).min(block),
    });
    // Rows that are fewer than blocks are shared.
    let most = if team == block { (resident / groups(team).max(1)).clamp(1, loads.div_ceil(block)) } else { 1 };
    let (pieces, piece) = divide(columns, most, 8);
    let grid = require_grid(blocks(team) * pieces, "a matrix", "multiply in parts")?;
    // A lane's columns and those behind its vectors; the trees of the warp and the team; the pieces and their tree.
    let share = piece.div_ceil(team * width) * width + (2 * width).div_ceil(team);
    let tree = |team: u64| u64::from(team.min(WARP).ilog2()) + if team > WARP { team / WARP } else { 0 };
    let of_pieces = if pieces > 1 { pieces.div_ceil(block) + tree(block) } else { 0 };
    Ok(Config {
        grid,
        lanes: team as u32,
        pieces: pieces as u32,
        piece: piece as u32,
        partials: if pieces > 1 { grid as usize * best::ROWS } else { 0 },
        tickets: if pieces > 1 { groups(team) as usize } else { 0 },
        depth: (share + tree(team) + of_pieces).min(columns),
    })
}

/// The launch of `columns`, with loads of `width` elements.
pub(super) fn by_columns(info: &DeviceInfo, [rows, columns]: [u64; 2], width: u64) -> Result<Config> {
    const WARP: u64 = 32;
    let (block, resident) = (u64::from(columns::BLOCK), resident(info));
    let unroll = if width == 1 { columns::SINGLE_UNROLL } else { columns::UNROLL } as u64;
    let tiles = |lanes: u64| rows.div_ceil(lanes * width);
    let long = tiles(block) >= 2 * resident;
    let lanes = if long { block } else { rows.div_ceil(width).next_power_of_two().clamp(1, WARP) };
    let (tiles, slots) = (tiles(lanes), block / lanes);
    // The fewest pieces with which the rounds of loads that follow each other are fewest; a block's start and its sums
    // take as long as two rounds.
    let most = if long { 1 } else { columns.div_ceil(slots * unroll).clamp(1, resident) };
    let rounds = |most: &u64| {
        let (pieces, piece) = divide(columns, *most, slots);
        (tiles * pieces).div_ceil(resident) * (piece.div_ceil(slots * unroll) + 2)
    };
    let wanted = (1..=most).min_by_key(rounds).unwrap_or(1);
    let (pieces, piece) = divide(columns, wanted, slots);
    let grid = require_grid(tiles * pieces, "a matrix", "multiply in parts")?;
    // A thread's lines; the trees of the warp and the block; the pieces, of which several threads have a row's.
    let tree = if long { 0 } else { u64::from((WARP / lanes).ilog2()) + block / WARP };
    let turns = block / (lanes * width).min(block);
    let of_pieces = if pieces > 1 { pieces.div_ceil(turns) + turns } else { 0 };
    Ok(Config {
        grid,
        lanes: lanes as u32,
        pieces: pieces as u32,
        piece: piece as u32,
        partials: if pieces > 1 { (pieces * rows) as usize } else { 0 },
        tickets: if pieces > 1 { tiles as usize } else { 0 },
        depth: (piece.div_ceil(slots) + tree + of_pieces).min(columns),
    })
}

/// The number of pieces of `columns`, at most `most`, and the columns of each but the last, which are a multiple of
/// `unit` if there are several.
fn divide(columns: u64, most: u64, unit: u64) -> (u64, u64) {
    let piece = columns.div_ceil(most).next_multiple_of(unit);
    if piece >= columns { (1, columns) } else { (columns.div_ceil(piece), piece) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn device(multiprocessors: u32) -> DeviceInfo {
        DeviceInfo { multiprocessors, ..Device::sim().expect("the simulator").info().clone() }
    }

    /// Sizes around powers of two, and some that no unit divides.
    fn lengths() -> impl Iterator<Item = u64> + Clone {
        (0..33)
            .flat_map(|power| [(1_u64 << power) - 1, 1 << power])
            .filter(|n| *n < 1 << 32)
            .chain([5, 100, 11_008, 4097])
    }

    #[test]
    fn plans_uphold_the_contracts_of_the_kernels() {
        for (multiprocessors, width) in [1, 16, 132].into_iter().flat_map(|sms| [1, 2, 4, 8].map(|width| (sms, width)))
        {
            let info = device(multiprocessors);
            for (rows, columns) in lengths().flat_map(|rows| lengths().map(move |columns| (rows, columns))) {
                let both = [by_rows(&info, [rows, columns], width), by_columns(&info, [rows, columns], width)];
                for (config, transposed) in both.into_iter().zip([false, true]) {
                    // A grid that is too large is refused.
                    let Ok(Config { grid, lanes, pieces, piece, partials, tickets, depth }) = config else { continue };
                    let what = format!("{rows}x{columns}, transposed: {transposed}, by {width} on {multiprocessors}");
                    let [lanes, pieces, piece] = [lanes, pieces, piece].map(u64::from);
                    assert!(pieces * piece >= columns && pieces >= 1 && depth <= columns, "{what}");
                    assert!(lanes.is_power_of_two() && lanes <= u64::from(best::BLOCK), "{what}");
                    let groups = if transposed {
                        assert!(lanes <= 32 || lanes == u64::from(columns::BLOCK) && pieces == 1, "{what}");
                        rows.div_ceil(lanes * width)
                    } else {
                        assert!(pieces == 1 || lanes == u64::from(best::BLOCK) && piece % 8 == 0, "{what}");
                        let threads = rows.div_ceil(best::ROWS as u64 * (32 / lanes.min(32))) * lanes.max(32);
                        threads.div_ceil(u64::from(best::BLOCK))
                    };
                    assert_eq!(u64::from(grid), groups * pieces, "{what}");
                    if pieces > 1 {
                        let sums = if transposed { pieces * rows } else { u64::from(grid) * best::ROWS as u64 };
                        assert_eq!((partials as u64, tickets as u64), (sums, groups), "{what}");
                    }
                }
            }
        }
    }
}
