//! All steps in software: address mode, conversion and filter are instructions, and texels are loads from global
//! memory.
//!
//! A linear sample of two dimensions is four loads and three weighed means, of three dimensions eight and seven. The
//! weights have all 24 bits of f32, and any type or filter is possible. Rows of samples that run along rows of texels
//! are coalesced; where a picture is turned by 90 degrees, each lane of a warp reads a sector of its own.

use super::by_hand::{Source, sample};
use super::{Byte, Dimensions, Float, Format, Fraction, Line, Map, Plane, Space};
use super::{coordinate, is_inside, place, slot, store};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "borders, conversion and filter in instructions; texels from global memory";

/// Texels in memory: rows without gaps.
struct Memory<'a, F: Format> {
    texels: &'a [F::Element],
    extent: [u32; 3],
    channels: u32,
}

impl<F: Format> Source for Memory<'_, F> {
    #[inline(always)]
    unsafe fn texel(&self, [x, y, z]: [i32; 3]) -> [f32; 4] {
        let row = z as usize * self.extent[1] as usize + y as usize;
        let first = (row * self.extent[0] as usize + x as usize) * self.channels as usize;
        core::array::from_fn(|channel| match channel < self.channels as usize {
            // SAFETY: the index is that of a channel of a texel of the array.
            true => F::number(unsafe { *self.texels.get_unchecked(first + channel) }),
            false => 0.0,
        })
    }
}

/// Samples an array of `D` dimensions on a grid of `size` points that `map` places in it; x varies fastest, and the
/// channels of a sample are neighbours.
///
/// # Safety
/// `texels` has `extent` texels (x, y, z; 1 where there is no such axis) of `channels` (1 to 4) elements, at least one;
/// `how` is a filter, an address mode, and whether coordinates go from 0 to 1; `output` has room for `size` samples and
/// overlaps nothing; a thread for each sample, in blocks as [`super::COLUMNS`] says.
#[kernel(for D in [Line, Plane, Space], for F in [Float, Fraction, Byte])]
pub unsafe fn texture_global<D: Dimensions, F: Format>(
    texels: &[<F as Format>::Element],
    extent: [u32; 3],
    channels: u32,
    how: [u32; 3],
    map: Map,
    size: [u32; 3],
    output: *mut <F as Format>::Result,
) {
    let place = place();
    if is_inside(place, size) {
        let memory = Memory::<F> { texels, extent, channels };
        // SAFETY: the caller upholds this function's contract.
        let values = unsafe { sample::<D>(&memory, how.into(), extent, coordinate::<D>(&map, place)) };
        // SAFETY: the index is that of the thread's own sample.
        unsafe { store(output, slot(place, size, channels), channels, values.map(F::result)) };
    }
}
