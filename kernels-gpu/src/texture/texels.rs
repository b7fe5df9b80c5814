//! Texels through the texture's cache, by whole coordinates; address mode and filter in software.
//!
//! The cache keeps texels together that are neighbours in any direction, so a picture may be turned. Conversion is
//! free: u8 arrive as numbers from 0 to 1 or as integers, and all channels of a texel in one fetch. The weights keep
//! all bits of f32, which is why this is the way to an exact filter. In one dimension the texels lie in linear memory,
//! since `tex1Dfetch` does not read CUDA arrays of one dimension.

use super::by_hand::{Source, sample};
use super::{Byte, Dimensions, Float, Format, Fraction, Line, Map, Plane, Space};
use super::{coordinate, is_inside, place, slot, store};
use core::marker::PhantomData;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "the texture unit caches and converts texels; the filter in instructions, exact to f32";

/// A texture that is read texel by texel.
struct Texels<D, F> {
    texture: u64,
    read_as: PhantomData<(D, F)>,
}

impl<D: Dimensions, F: Format> Source for Texels<D, F> {
    #[inline(always)]
    unsafe fn texel(&self, at: [i32; 3]) -> [f32; 4] {
        // SAFETY: by the kernel's contract the handle is that of such a texture.
        unsafe { F::texel::<D>(self.texture, at) }
    }
}

/// Samples an array of `D` dimensions on a grid of `size` points that `map` places in it; x varies fastest, and the
/// channels of a sample are neighbours.
///
/// # Safety
/// `texture` is a texture of `extent` texels (x, y, z; 1 where there is no such axis) as [`Format::texel`] and
/// [`Dimensions::texel`] requires; `how` is a filter, an address mode, and whether coordinates go from 0 to 1; `output`
/// has room for `size` samples of `channels` (1 to 4) elements; a thread for each sample, in blocks as
/// [`super::COLUMNS`] says.
#[kernel(for D in [Line, Plane, Space], for F in [Float, Fraction, Byte])]
pub unsafe fn texture_texels<D: Dimensions, F: Format>(
    texture: u64,
    extent: [u32; 3],
    channels: u32,
    how: [u32; 3],
    map: Map,
    size: [u32; 3],
    output: *mut <F as Format>::Result,
) {
    let place = place();
    if is_inside(place, size) {
        let texels = Texels::<D, F> { texture, read_as: PhantomData };
        // SAFETY: the caller upholds this function's contract.
        let values = unsafe { sample::<D>(&texels, how.into(), extent, coordinate::<D>(&map, place)) };
        // SAFETY: the index is that of the thread's own sample.
        unsafe { store(output, slot(place, size, channels), channels, values.map(F::result)) };
    }
}
