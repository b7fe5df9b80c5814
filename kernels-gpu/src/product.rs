//! What the families of matrix products share: how matrices are stored, and which tile of the product is a block's.

use cuda_std::thread;

/// Bit of `stored`: A is stored transposed, as `k` by `m`.
pub const A_TRANSPOSED: u32 = 1;

/// Bit of `stored`: B is stored transposed, as `n` by `k`.
pub const B_TRANSPOSED: u32 = 2;

/// Row and column of the block's tile of the product, counted in tiles; tiles follow each other along rows. The grid is
/// one-dimensional, since only its first axis can have more than 65535 blocks.
#[inline(always)]
pub(crate) fn tile_of_block(columns: u32, tile: u32) -> [usize; 2] {
    // There is no block if there is no column; without `max` the compiler would keep a panic for a division by 0.
    let across = columns.div_ceil(tile).max(1);
    let index = thread::block_idx_x();
    [(index / across) as usize, (index % across) as usize]
}
