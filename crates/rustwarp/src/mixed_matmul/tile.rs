//! The choice of the part of a product that a block computes.

use crate::backend::DeviceInfo;
use kernels_gpu::tensor::mixed::product::Size;

/// A size of the part, with its relative speed on a multiprocessor that has enough of them.
pub type Tile = (Size, f64);

/// Whether a device has the shared memory for all of them.
pub fn fit(tiles: &[Tile], info: &DeviceInfo) -> bool {
    tiles.iter().all(|(size, _)| size.shared <= info.max_shared)
}

/// Parts of a product.
pub fn count(rows: u32, columns: u32, size: Size) -> u64 {
    u64::from(rows.div_ceil(size.rows)) * u64::from(columns.div_ceil(size.columns))
}

/// The number of the size with which the busiest multiprocessor finishes first; `tiles` has one at least.
pub fn fastest(tiles: &[Tile], rows: u32, columns: u32, multiprocessors: u32) -> usize {
    let time = |number: usize| -> f64 {
        let (size, speed) = tiles[number];
        let rounds = count(rows, columns, size).div_ceil(multiprocessors.into());
        rounds as f64 * f64::from(size.rows * size.columns) / speed
    };
    (1..tiles.len()).fold(0, |best, number| if time(number) < time(best) { number } else { best })
}

#[cfg(test)]
mod tests {
    use super::super::factor::{TILES, WARP_TILES};
    use super::*;

    #[test]
    fn tiles_fill_the_device() {
        let columns = |n: u32| TILES[fastest(&TILES, n, n, 132)].0.columns;
        assert_eq!([8192, 4096, 3072, 2048, 1280, 1024, 512].map(columns), [256, 256, 192, 256, 128, 64, 64]);
        let columns = |n: u32| WARP_TILES[fastest(&WARP_TILES, n, n, 132)].0.columns;
        assert_eq!([8192, 4096, 2048, 1024, 512].map(columns), [256, 256, 256, 64, 64]);
    }
}
