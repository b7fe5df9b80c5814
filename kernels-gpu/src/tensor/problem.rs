//! What a launch of [`best`](super::best) computes, and the order of its tiles: those of one product of a batch follow
//! those of the one before.

use super::ring::{CLUSTER, COLUMNS, ROWS};
use super::{A_TRANSPOSED, B_TRANSPOSED, PIECE};
use cuda_std::math::Float;

/// Clusters along the rows whose tiles are computed together.
const GROUP: u32 = 16;

/// The factors, as they are and in slices, and the shape.
#[derive(Clone, Copy)]
pub struct Problem {
    pub slices: [*const u8; 2],
    pub scales: [*const f32; 2],
    /// Those of the first product, or of the one that [`Problem::of`] chose.
    pub factors: [*const f32; 2],
    pub m: u32,
    pub n: u32,
    pub k: u32,
    /// Number of products of this size.
    pub count: u32,
    /// Elements from one A, one B and one product to the next; 0 for a factor that all products have.
    pub steps: [u64; 3],
    pub pitches: [u32; 3],
    pub stored: u32,
}

/// The block's part of a tile of a cluster.
#[derive(Clone, Copy)]
pub struct Place {
    /// Number of the product.
    pub product: u32,
    /// Row in tiles.
    pub row: u32,
    /// Column in tiles.
    pub column: u32,
}

impl Problem {
    /// Tiles of a product along the rows, counted in clusters, and along the columns.
    #[inline(always)]
    pub fn tiles(&self) -> [u32; 2] {
        [self.m.div_ceil(ROWS * CLUSTER), self.n.div_ceil(COLUMNS)]
    }

    /// Tiles of clusters of all products.
    #[inline(always)]
    pub fn all_tiles(&self) -> u32 {
        let [down, across] = self.tiles();
        down * across * self.count
    }

    /// The number of the matrix A (0) or B (1) of this product.
    #[inline(always)]
    pub fn matrix(&self, factor: usize, product: u32) -> u32 {
        if self.steps[factor] == 0 { 0 } else { product }
    }

    /// Number of the matrices A (0) or B (1).
    #[inline(always)]
    pub fn matrices(&self, factor: usize) -> u32 {
        if self.steps[factor] == 0 { 1 } else { self.count }
    }

    /// The same with the factors of this product.
    #[inline(always)]
    pub fn of(mut self, product: u32) -> Self {
        let ([a, b], [of_a, of_b, _]) = (self.factors, self.steps.map(|step| step as usize * product as usize));
        self.factors = [a.wrapping_add(of_a), b.wrapping_add(of_b)];
        self
    }

    #[inline(always)]
    pub fn pieces(&self) -> u32 {
        self.k.div_ceil(PIECE)
    }

    /// Tile `index` of a cluster, of the block with this rank in it. Tiles that are computed at the same time cover a
    /// region of a product that is about as high as wide.
    #[inline(always)]
    pub fn place(&self, index: u32, rank: u32) -> Place {
        let [down, across] = self.tiles();
        // Without `max` the compiler would keep a panic for a division by 0.
        let each = (down * across).max(1);
        let (product, index) = (index / each, index % each);
        // There is no tile to place if there is none across; without `max` the compiler would keep panics.
        let group = (GROUP * across).max(1);
        let first = index / group * GROUP;
        // This is not `clamp`, after which LLVM cannot prove that the height is not 0.
        let left = (down - first).min(GROUP);
        let height = left.max(1);
        let within = index % group;
        Place { product, row: (first + within % height) * CLUSTER + rank, column: within / height }
    }

    /// An element of the product, by fused multiply-adds in the order of the depth.
    ///
    /// # Safety
    /// Row and column are inside the product, and the factors are its own and have their sizes.
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
            let (x, y) = unsafe { (*self.factors[0].add(a + k * along_a), *self.factors[1].add(b + k * along_b)) };
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
