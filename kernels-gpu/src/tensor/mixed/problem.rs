//! What a launch computes: matrices, sizes, bits, and the order of tiles.

use super::accumulator::{Accumulator, Sum};
use super::precision::Precision;
use super::ring::ROWS;
use crate::epilogue::{Column, Epilogue, FINISHED};
use core::ops::Range;
use cuda_std::memory::TensorMap;

/// Bit of `how`: without tensor cores, element by element.
pub const PLAIN: u32 = 1;

/// Bit of `how`: C cannot be stored by its map.
pub const BY_ELEMENTS: u32 = 2;

/// Bit of `how`: sums are stored with 32 bits.
pub const WIDE: u32 = 4;

/// Bit of `how`: on GPUs without tensor maps or with [`PLAIN`], the first factor is stored transposed.
pub const A_ACROSS: u32 = 64;

/// Bit of `how`: there, the second factor is not stored transposed.
pub const B_ACROSS: u32 = 128;

/// Bit of `how`: all products have the same first factor.
pub const A_SHARED: u32 = 256;

/// Bit of `how`: all products have the same second factor.
pub const B_SHARED: u32 = 512;

/// Rows of the region whose tiles are computed together.
const REGION: u32 = 2048;

/// The matrices, with factors of `P`, and their sizes.
#[derive(Clone, Copy)]
pub struct Problem<P> {
    /// The first factor, in boxes.
    pub a: TensorMap<P>,
    /// The second.
    pub b: TensorMap<P>,
    /// The product, in boxes of the type that `how` of `product` says.
    pub c: TensorMap,
    /// Length of the sums.
    pub k: u32,
    /// Elements from one row of the first factor, as it is stored, and of the second to the next.
    pub pitches: [u32; 2],
    /// How many products of this size there are, or how many parts of one.
    pub batch: Batch,
    /// Its parts, if its depth is divided.
    pub parts: Parts,
    /// The first product.
    pub product: Product,
}

/// Products of one size.
#[derive(Clone, Copy)]
pub struct Batch {
    /// Their number.
    pub count: u32,
    /// Elements from one first factor, second factor and product to the next.
    pub steps: [u64; 3],
}

/// How the depth of a product is divided.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Length of the sums of a part; 0 for products that are whole.
    pub depth: u32,
    /// Room for the sums of the parts of all tiles.
    pub sums: *mut u32,
    /// A word for each tile.
    pub words: *mut u32,
}

/// What is computed at a time: a tile of one of the products, or of a part of one.
pub struct Item {
    /// The number of the product, or of the part.
    pub product: u32,
    /// The number of the tile in it.
    pub tile: u32,
    /// First row of the tile.
    pub row: u32,
    /// First column.
    pub column: u32,
    /// The elements of the depth.
    pub depth: Range<u32>,
}

/// The elements of the depth `k` that belong to a product, or to a part of a product, if parts have a length.
#[inline(always)]
pub fn depth(part: u32, product: u32, k: u32) -> Range<u32> {
    if part == 0 {
        return 0..k;
    }
    let start = product * part;
    start..k.min(start + part)
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
    /// Elements from one of its rows, and of the addend's, to the next.
    pub pitch: u32,
    /// How it is computed and stored.
    pub how: u32,
    /// What becomes of the sums.
    pub epilogue: Epilogue<f32>,
}

impl<P> Problem<P> {
    /// Tiles of a product along the rows and along the columns.
    #[inline(always)]
    fn tiles<S: Accumulator>(&self) -> [u32; 2] {
        [self.product.m.div_ceil(ROWS), self.product.n.div_ceil(S::COLUMNS)]
    }

    /// Tiles of all products.
    #[inline(always)]
    pub fn items<S: Accumulator>(&self) -> u32 {
        let [down, across] = self.tiles::<S>();
        down * across * self.batch.count
    }

    /// Tile `index` of all: see [`place`].
    #[inline(always)]
    pub fn item<S: Accumulator>(&self, index: u32) -> Item {
        let [down, across] = self.tiles::<S>();
        // Without `max` the compiler would keep a panic for a division by 0.
        let each = (down * across).max(1);
        let product = index / each;
        let tile = index % each;
        let [row, column] = place(tile, [down, across], [ROWS, S::COLUMNS]);
        Item { product, tile, row, column, depth: depth(self.parts.depth, product, self.k) }
    }

    /// The numbers of the factors of a product in their maps.
    #[inline(always)]
    pub fn factors(&self, product: u32) -> [u32; 2] {
        let of = |shared: u32| if self.product.how & shared != 0 { 0 } else { product };
        [of(A_SHARED), of(B_SHARED)]
    }
}

impl Product {
    /// The product `elements` further on, and its addend.
    #[inline(always)]
    pub fn moved(mut self, elements: u64) -> Self {
        let bytes = elements as usize * if self.how & WIDE != 0 { 4 } else { 2 };
        self.out = self.out.wrapping_byte_add(bytes);
        if !self.epilogue.addend.is_null() {
            self.epilogue.addend = self.epilogue.addend.wrapping_byte_add(bytes);
        }
        self
    }

    /// Elements from the first to the one in this row and column.
    #[inline(always)]
    pub fn index(&self, [row, column]: [u32; 2]) -> usize {
        row as usize * self.pitch as usize + column as usize
    }

    /// What becomes of the sum of element `index`, of a row with this factor.
    ///
    /// # Safety
    /// The element is one of the product's.
    #[inline(always)]
    pub unsafe fn finished<P: Precision>(&self, sum: P::Sum, row: f32, column: Column<f32>, index: usize) -> f32 {
        let addend = self.epilogue.addend;
        let addend = if addend.is_null() {
            0.0
        } else if self.how & WIDE != 0 {
            // SAFETY: the caller upholds this function's contract.
            unsafe { *addend.cast::<f32>().add(index) }
        } else {
            // SAFETY: the same.
            P::unpack(unsafe { *addend.cast::<u16>().add(index) })
        };
        let mut result = [sum.float()];
        self.epilogue.finish(&mut result, &[row], &[column], &[addend], self.how);
        result[0]
    }

    /// Finishes and writes the sum of the element in this row and column.
    ///
    /// # Safety
    /// The element is one of the product's, and no other thread writes it.
    #[inline(always)]
    pub unsafe fn write<P: Precision>(&self, place: [u32; 2], sum: P::Sum) {
        let (mut bits, mut number) = (sum.bits(), sum.float());
        let ([row, column], index) = (place, self.index(place));
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            if self.how & FINISHED != 0 {
                let [of_column] = self.epilogue.columns(column as usize, self.n as usize);
                number = self.finished::<P>(sum, self.epilogue.row(row as usize), of_column, index);
                bits = number.to_bits();
            }
            if self.how & WIDE != 0 {
                self.out.cast::<u32>().add(index).write(bits);
            } else {
                self.out.cast::<u16>().add(index).write(P::pack(number, 0.0) as u16);
            }
        }
    }
}

/// First row and column of tile `index` of `down` by `across` tiles with `rows` by `columns` elements. Tiles that are
/// computed at the same time cover a region about as high as wide, which `rows` divides.
#[inline(always)]
pub fn place(index: u32, [down, across]: [u32; 2], [rows, columns]: [u32; 2]) -> [u32; 2] {
    // There is no tile to place if there is none across; without `max` the compiler would keep panics.
    let high = REGION / rows;
    let group = (high * across).max(1);
    let first = index / group * high;
    let left = (down - first).min(high);
    let height = left.max(1);
    let within = index % group;
    [(first + within % height) * rows, within / height * columns]
}
