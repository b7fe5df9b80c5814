//! One fetch per sample: the texture unit applies the address mode, finds the texels, converts and weighs them.
//!
//! Its weights are fixed-point numbers with 8 bits after the point, so that a linear sample may be off by 1/512 of the
//! difference between two neighbouring texels per axis, and a little more for their products: enough for pictures. The
//! kernel saves the filter's instructions and their registers.

use super::{Byte, Dimensions, Float, Format, Fraction, Line, Map, Plane, Space};
use super::{coordinate, is_inside, place, slot, store};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "one fetch per sample: the texture unit performs every step, with weights of 8 bits";

/// Samples an array of `D` dimensions on a grid of `size` points that `map` places in it; x varies fastest, and the
/// channels of a sample are neighbours.
///
/// # Safety
/// `texture` has as many dimensions as the kernel and gives floats; `output` has room for `size` samples of `channels`
/// (1 to 4) elements; a thread for each sample, in blocks as [`super::COLUMNS`] says.
#[kernel(for D in [Line, Plane, Space], for F in [Float, Fraction, Byte])]
pub unsafe fn texture_unit<D: Dimensions, F: Format>(
    texture: u64,
    channels: u32,
    map: Map,
    size: [u32; 3],
    output: *mut <F as Format>::Result,
) {
    let place = place();
    if is_inside(place, size) {
        // SAFETY: the caller upholds this function's contract.
        let values = unsafe { D::sample(texture, coordinate::<D>(&map, place)) };
        // SAFETY: the index is that of the thread's own sample.
        unsafe { store(output, slot(place, size, channels), channels, values.map(F::fetched)) };
    }
}
