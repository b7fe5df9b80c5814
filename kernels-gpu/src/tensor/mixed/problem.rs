//! What a launch computes: matrices, sizes, bits, and the order of tiles.

use super::accumulator::Accumulator;
use super::epilogue::Epilogue;
use super::ring::ROWS;
use cuda_std::memory::TensorMap;

/// Bit of `how`: without tensor cores, element by element.
pub const PLAIN: u32 = 1;

/// Bit of `how`: C cannot be stored by its map.
pub const BY_ELEMENTS: u32 = 2;

/// Bit of `how`: on GPUs without tensor maps or with [`PLAIN`], the first factor is stored transposed.
pub const A_ACROSS: u32 = 64;

/// Bit of `how`: there, the second factor is not stored transposed.
pub const B_ACROSS: u32 = 128;

/// Rows of tiles that are computed together.
const GROUP: u32 = 16;

/// The matrices and their sizes.
#[derive(Clone, Copy)]
pub struct Problem {
    /// The first factor, in boxes.
    pub a: TensorMap,
    /// The second.
    pub b: TensorMap,
    /// The product, in boxes.
    pub c: TensorMap,
    /// Length of the sums.
    pub k: u32,
    /// The product.
    pub product: Product,
}

/// A product in memory, and how sums become its elements.
#[derive(Clone, Copy)]
pub struct Product {
    /// Its elements.
    pub out: *mut u8,
    /// Its rows.
    pub m: u32,
    /// Its columns.
    pub n: u32,
    /// How it is computed and stored.
    pub how: u32,
    /// What becomes of the sums.
    pub epilogue: Epilogue,
}

impl Problem {
    /// Tiles along the rows and along the columns.
    #[inline(always)]
    pub fn tiles<S: Accumulator>(&self) -> [u32; 2] {
        [self.product.m.div_ceil(ROWS), self.product.n.div_ceil(S::COLUMNS)]
    }

    /// First row and column of tile `index`: see [`place`].
    #[inline(always)]
    pub fn place<S: Accumulator>(&self, index: u32) -> [u32; 2] {
        place(index, self.tiles::<S>(), [ROWS, S::COLUMNS])
    }
}

/// First row and column of tile `index` of `down` by `across` tiles with `rows` by `columns` elements. Tiles that are
/// computed at the same time cover a region about as high as wide.
#[inline(always)]
pub fn place(index: u32, [down, across]: [u32; 2], [rows, columns]: [u32; 2]) -> [u32; 2] {
    // There is no tile to place if there is none across; without `max` the compiler would keep panics.
    let group = (GROUP * across).max(1);
    let first = index / group * GROUP;
    let left = (down - first).min(GROUP);
    let height = left.max(1);
    let within = index % group;
    [(first + within % height) * rows, within / height * columns]
}
