//! What a launch of [`best`](super::best) computes, and the order of its tiles.

use super::ring::{CLUSTER, COLUMNS, ROWS};
use super::{A_TRANSPOSED, B_TRANSPOSED, PIECE};
use cuda_std::math::Float;

/// Clusters along the rows whose tiles are computed together.
const GROUP: u32 = 16;

/// The factors, as they are and in slices, and the shape.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub slices: [*const u8; 2],
    pub scales: [*const f32; 2],
    pub factors: [&'a [f32]; 2],
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub pitches: [u32; 3],
    pub stored: u32,
}

/// Row and column, in tiles, of the block's part of cluster tile `index`.
#[derive(Clone, Copy)]
pub struct Place {
    pub row: u32,
    pub column: u32,
}

impl Problem<'_> {
    /// Tiles along the rows, counted in clusters, and along the columns.
    #[inline(always)]
    pub fn tiles(&self) -> [u32; 2] {
        [self.m.div_ceil(ROWS * CLUSTER), self.n.div_ceil(COLUMNS)]
    }

    #[inline(always)]
    pub fn pieces(&self) -> u32 {
        self.k.div_ceil(PIECE)
    }

    /// Tiles of clusters that run at the same time cover a region that is about as high as wide.
    #[inline(always)]
    pub fn place(&self, index: u32, rank: u32) -> Place {
        let [down, across] = self.tiles();
        // There is no tile to place if there is none across; without `max` the compiler would keep panics.
        let group = (GROUP * across).max(1);
        let first = index / group * GROUP;
        // This is not `clamp`, after which LLVM cannot prove that the height is not 0.
        let left = (down - first).min(GROUP);
        let height = left.max(1);
        let within = index % group;
        Place { row: (first + within % height) * CLUSTER + rank, column: within / height }
    }

    /// An element of the product, by fused multiply-adds in the order of the depth.
    ///
    /// # Safety
    /// Row and column are inside the product, and the factors have their sizes.
    #[inline(always)]
    pub unsafe fn plain(&self, row: u32, column: u32) -> f32 {
        let [a_pitch, b_pitch, _] = self.pitches.map(|pitch| pitch as usize);
        let (row, column) = (row as usize, column as usize);
        // Start, and distance from one of the depth to the next.
        let (a, along_a) = if self.stored & A_TRANSPOSED == 0 { (row * a_pitch, 1) } else { (row, a_pitch) };
        let (b, along_b) = if self.stored & B_TRANSPOSED == 0 { (column, b_pitch) } else { (column * b_pitch, 1) };
        let mut sum = 0.0_f32;
        let mut k = 0;
        while k < self.k as usize {
            // SAFETY: the caller upholds this function's contract.
            let (x, y) = unsafe {
                (*self.factors[0].get_unchecked(a + k * along_a), *self.factors[1].get_unchecked(b + k * along_b))
            };
            sum = Float::mul_add(x, y, sum);
            k += 1;
        }
        sum
    }

    /// Where the product's element is.
    #[inline(always)]
    pub fn element(&self, c: *mut f32, row: u32, column: u32) -> *mut f32 {
        c.wrapping_add(row as usize * self.pitches[2] as usize + column as usize)
    }
}
