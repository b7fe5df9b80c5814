//! The choice of the part of a product that a block computes at a time, and of the number of parts of the depth.

use super::problem::Problem;
use crate::backend::DeviceInfo;
use kernels_gpu::tensor::mixed::product::Size;

/// A size of the part, with its relative speed on a multiprocessor that has enough of them.
pub type Tile = (Size, f64);

/// Whether a device has the shared memory for all of them.
pub fn fit(tiles: &[Tile], info: &DeviceInfo) -> bool {
    tiles.iter().all(|(size, _)| size.shared <= info.max_shared)
}

/// Parts of all products.
pub fn count(problem: &Problem, size: Size) -> u64 {
    let Problem { rows, columns, count, .. } = *problem;
    u64::from(rows.div_ceil(size.rows)) * u64::from(columns.div_ceil(size.columns)) * u64::from(count)
}

/// The number of a tile, and the elements of the depth that are summed at a time: 0 for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub tile: usize,
    pub part: u32,
}

/// Nanoseconds for an element of a tile and 128 bytes of its depth on a multiprocessor of an H200, at the speed 1.0.
const ELEMENT: f64 = 0.017;

/// Nanoseconds for a byte of the factors, which no choice can avoid.
const BYTE: f64 = 1.0 / 3100.0;

/// Share of the products' time that does not overlap with memory's.
const APART: f64 = 0.125;

/// Nanoseconds for adding the sums of parts, and for a sum that is written and read.
pub type Join = [f64; 2];

/// By a launch of its own.
pub const LAUNCH: Join = [2500.0, 0.006];

/// By blocks that wait for each other. Both numbers were fitted, not measured: with them the products of
/// `docs/results/h200/2026-11-30-parts.txt` have the parts that were fastest, and smaller ones stay whole.
pub const WAIT: Join = [2500.0, 0.0022];

/// Least number of stages of 128 bytes of the depth for which another part pays.
const LEAST: u32 = 4;

/// The tile and the parts with which the busiest multiprocessor finishes first; `tiles` has one at least. Batches are
/// not divided, and neither are products whose tiles fill the device. `stage` is the number of elements of 128 bytes.
pub fn fastest(tiles: &[Tile], join: Join, problem: &Problem, stage: u32, multiprocessors: u32) -> Choice {
    let stages = problem.depth.div_ceil(stage).max(1);
    let lines = u64::from(problem.rows) + u64::from(problem.columns);
    let least = lines as f64 * f64::from(stages) * 128.0 * f64::from(problem.count) * BYTE;
    let time = |tile: usize, part: u32| -> f64 {
        let (size, speed) = tiles[tile];
        let parts = stages.div_ceil(part);
        let rounds = (count(problem, size) * u64::from(parts)).div_ceil(multiprocessors.into());
        let sums = f64::from(problem.rows) * f64::from(problem.columns) * f64::from(parts);
        let join = if parts > 1 { join[0] + join[1] * sums } else { 0.0 };
        let products = rounds as f64 * f64::from(size.rows * size.columns) * ELEMENT / speed * f64::from(part);
        products.max(least) + products * APART + join
    };
    let mut best = (0, stages);
    for (tile, (size, _)) in tiles.iter().enumerate() {
        let most = if problem.count == 1 { stages / LEAST } else { 1 };
        let free = u64::from(multiprocessors) / count(problem, *size).max(1);
        for parts in 1..=free.min(most.into()).max(1) as u32 {
            let part = stages.div_ceil(parts);
            if time(tile, part) < time(best.0, best.1) {
                best = (tile, part);
            }
        }
    }
    let (tile, part) = best;
    Choice { tile, part: if part < stages { part * stage } else { 0 } }
}

#[cfg(test)]
mod tests {
    use super::super::factor::{TILES, WARP_TILES};
    use super::*;

    fn problem(rows: u32, columns: u32, depth: u32, count: u32) -> Problem {
        Problem { rows, columns, depth, count, steps: [0; 3], pitches: [depth, columns, columns] }
    }

    #[test]
    fn tiles_fill_the_device() {
        let columns = |tiles: &[Tile], join: Join, n: u32| {
            let choice = fastest(tiles, join, &problem(n, n, n, 1), 64, 132);
            assert_eq!(choice.part, 0, "{n}");
            tiles[choice.tile].0.columns
        };
        assert_eq!(
            [8192, 4096, 3072, 2048, 1280, 1024, 512].map(|n| columns(&TILES, WAIT, n)),
            [256, 256, 192, 256, 128, 64, 64]
        );
        let warps = |n| columns(&WARP_TILES, LAUNCH, n);
        assert_eq!([8192, 4096, 2048, 1024, 512, 64].map(warps), [256, 256, 256, 64, 32, 32]);
    }

    #[test]
    fn the_depth_is_divided_where_tiles_do_not_fill_the_device() {
        let parts = |rows, columns, depth, count| {
            let problem = problem(rows, columns, depth, count);
            let Choice { tile, part } = fastest(&TILES, WAIT, &problem, 64, 132);
            let parts = if part == 0 { 1 } else { depth.div_ceil(part) };
            assert!(parts == 1 || count == 1 && super::count(&problem, TILES[tile].0) * u64::from(parts) <= 132);
            parts
        };
        assert!(parts(16, 4096, 16384, 1) > 1);
        assert_eq!(parts(128, 4096, 4096, 1), 1, "memory takes as long");
        assert_eq!(parts(512, 512, 512, 1), 1, "adding the sums takes as long");
        assert!(parts(64, 64, 16384, 1) > 16);
        assert_eq!(parts(64, 64, 256, 1), 1);
        assert_eq!(parts(64, 64, 16384, 2), 1, "batches are not divided");
        assert_eq!(parts(4096, 4096, 16384, 1), 1, "tiles fill the device");
        assert_eq!(parts(64, 64, 0, 1), 1);
    }

    /// Those of `tests/tests/schedules.rs`, on the simulator.
    #[test]
    fn long_products_of_single_warps_have_parts() {
        for (depth, stage) in [(2000, 32), (4000, 64), (8000, 128)] {
            let choice = fastest(&WARP_TILES, LAUNCH, &problem(33, 34, depth, 1), stage, 16);
            assert!(choice.part > 0 && choice.part < depth, "{depth}: {choice:?}");
        }
        let columns =
            |m, n, depth| WARP_TILES[fastest(&WARP_TILES, LAUNCH, &problem(m, n, depth, 1), 64, 16).tile].0.columns;
        assert_eq!([columns(129, 130, 100), columns(257, 258, 40)], [32, 64]);
    }

    /// The fastest of those that were measured.
    #[test]
    fn skinny_products_have_the_parts_that_were_fastest() {
        let chosen = |rows, columns| {
            let Choice { tile, part } = fastest(&TILES, WAIT, &problem(rows, columns, 16384, 1), 64, 132);
            (TILES[tile].0.columns, 16384 / part)
        };
        assert_eq!([chosen(16, 4096), chosen(64, 4096)], [(128, 4), (64, 2)]);
        assert_eq!([chosen(4096, 16), chosen(4096, 64)], [(64, 4); 2]);
    }
}
