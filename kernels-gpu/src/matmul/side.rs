//! One factor in coordinates of the product: `x` counts rows of the product for A and columns for B, `k` the products
//! that are added up.
//!
//! A and B are thereby loaded by the same code, however they are stored; only the direction in which neighbours are
//! contiguous differs.

use super::{A_TRANSPOSED, B_TRANSPOSED, factor::Factor};
use core::slice;

/// A factor, of which element `(x, k)` is needed for row or column `x`.
#[derive(Clone, Copy)]
pub struct Side<'a, T> {
    elements: &'a [T],
    /// Rows or columns of the product.
    pub x: usize,
    /// Products per element.
    pub k: usize,
    along_x: usize,
    along_k: usize,
    /// Whether neighbours in memory are neighbours in `k`.
    turned: bool,
    /// Whether runs of 16 bytes start on 16-byte boundaries.
    wide: bool,
}

impl<'a, T: Factor> Side<'a, T> {
    /// The left factor, of `m` by `k`, or stored as `k` by `m`.
    #[inline(always)]
    pub fn left(elements: &'a [T], m: u32, k: u32, stored: u32) -> Self {
        Self::without_gaps(elements, m, k, stored & A_TRANSPOSED == 0)
    }

    /// The right factor, of `k` by `n`, or stored as `n` by `k`.
    #[inline(always)]
    pub fn right(elements: &'a [T], n: u32, k: u32, stored: u32) -> Self {
        Self::without_gaps(elements, n, k, stored & B_TRANSPOSED != 0)
    }

    /// Not a call of [`Side::new`], for which LLVM would keep a chosen pitch in registers besides the sizes.
    #[inline(always)]
    fn without_gaps(elements: &'a [T], x: u32, k: u32, turned: bool) -> Self {
        let (x, k) = (x as usize, k as usize);
        let (along_x, along_k) = if turned { (k, 1) } else { (1, x) };
        let wide = elements.as_ptr().addr().is_multiple_of(16) && (if turned { k } else { x }).is_multiple_of(T::WIDTH);
        Self { elements, x, k, along_x, along_k, turned, wide }
    }

    /// A factor with neighbours in `k` next to each other in memory if it is `turned`, else with those in `x`; rows in
    /// memory start every `pitch` elements.
    #[inline(always)]
    pub fn new(elements: &'a [T], x: u32, k: u32, turned: bool, pitch: u32) -> Self {
        let (x, k, pitch) = (x as usize, k as usize, pitch as usize);
        let ((along_x, along_k), row) = if turned { ((pitch, 1), k) } else { ((1, pitch), x) };
        let whole = row.is_multiple_of(T::WIDTH) && pitch.is_multiple_of(T::WIDTH);
        let wide = elements.as_ptr().addr().is_multiple_of(16) && whole;
        Self { elements, x, k, along_x, along_k, turned, wide }
    }

    /// The factor from `k = first` on, `depth` deep or to its end.
    #[inline(always)]
    pub fn part(&self, first: usize, depth: usize) -> Self {
        let first = first.min(self.k);
        let k = depth.min(self.k - first);
        let (start, len) = (first * self.along_k, self.elements.len());
        // SAFETY: the part is the rest of the factor, or nothing.
        let elements =
            unsafe { slice::from_raw_parts(self.elements.as_ptr().wrapping_add(start), len.saturating_sub(start)) };
        let wide = elements.as_ptr().addr().is_multiple_of(16) && self.wide;
        Self { elements, k, wide, ..*self }
    }

    /// Whether neighbours in memory are neighbours in `k`.
    #[inline(always)]
    pub fn turned(&self) -> bool {
        self.turned
    }

    /// Whether runs of 16 bytes that start at a multiple of their width lie on 16-byte boundaries.
    #[inline(always)]
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// Elements from one row in memory to the next.
    #[inline(always)]
    pub fn pitch(&self) -> usize {
        if self.turned() { self.along_x } else { self.along_k }
    }

    /// Index of element `(x, k)`, which may be outside.
    #[inline(always)]
    pub fn address(&self, x: usize, k: usize) -> *const T {
        self.elements.as_ptr().wrapping_add(x * self.along_x + k * self.along_k)
    }

    /// Element `(x, k)`.
    ///
    /// # Safety
    /// The element is inside the factor.
    #[inline(always)]
    pub unsafe fn get(&self, x: usize, k: usize) -> T {
        // SAFETY: the caller upholds this function's contract.
        unsafe { *self.elements.get_unchecked(x * self.along_x + k * self.along_k) }
    }

    /// Element `(x, k)`, or 0 outside.
    #[inline(always)]
    pub fn get_or_zero(&self, x: usize, k: usize) -> T {
        // SAFETY: the condition keeps the element inside the factor.
        if x < self.x && k < self.k { unsafe { self.get(x, k) } } else { T::ZERO }
    }

    /// Copies the tile of `X` by `K` elements that starts at `(x, k)`, with zeros outside, to `tile[k * pitch + x]`:
    /// one element per thread and round. Neighbouring threads read neighbours in memory.
    ///
    /// # Safety
    /// `threads` threads call it, numbered by `tid`; the tile has room, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn copy_tile<const X: usize, const K: usize>(
        &self,
        [x, k]: [usize; 2],
        tile: *mut T,
        pitch: usize,
        tid: usize,
        threads: usize,
    ) {
        let mut i = tid;
        while i < X * K {
            let (in_x, in_k) = if self.turned() { (i / K, i % K) } else { (i % X, i / X) };
            // SAFETY: different `i` have different slots of the tile.
            unsafe { tile.add(in_k * pitch + in_x).write(self.get_or_zero(x + in_x, k + in_k)) };
            i += threads;
        }
    }

    /// Place in a tile of `X` by `K` elements of run number `i` of 16 bytes.
    #[inline(always)]
    pub fn run_place<const X: usize, const K: usize>(&self, i: usize) -> [usize; 2] {
        let i = i * T::WIDTH;
        if self.turned() { [i / K, i % K] } else { [i % X, i / X] }
    }

    /// The run of 16 bytes that starts at `(x, k)`, in one load where it is inside and on a boundary; zeros outside.
    #[inline(always)]
    pub fn run(&self, [x, k]: [usize; 2]) -> [T; 4] {
        let mut values = [T::ZERO; 4];
        let (dx, dk) = if self.turned() { (0, 1) } else { (1, 0) };
        let last = T::WIDTH - 1;
        if self.wide && x + last * dx < self.x && k + last * dk < self.k {
            // SAFETY: the whole run is inside, and on a boundary: tiles start at multiples of the width.
            unsafe { T::load_wide(self.elements.as_ptr().add(x * self.along_x + k * self.along_k), &mut values, 0) };
        } else {
            values =
                core::array::from_fn(|j| if j < T::WIDTH { self.get_or_zero(x + j * dx, k + j * dk) } else { T::ZERO });
        }
        values
    }

    /// Writes a run to its place in a tile, in one store or, if the factor is turned, element by element.
    ///
    /// # Safety
    /// The tile has room, starts on a 16-byte boundary as do its rows, and no other thread uses this part of it.
    #[inline(always)]
    pub unsafe fn put_run(&self, values: &[T; 4], [x, k]: [usize; 2], tile: *mut T, pitch: usize) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            if self.turned() {
                let mut j = 0;
                while j < T::WIDTH {
                    tile.add((k + j) * pitch + x).write(values[j]);
                    j += 1;
                }
            } else {
                T::store_wide(tile.add(k * pitch + x), values, 0);
            }
        }
    }
}
