//! The operations of a texture unit as instructions: the formulas of the CUDA C++ Programming Guide, in f32.

use super::{Dimensions, address, filter};
use cuda_std::math::Float;

/// The source of texels.
pub(super) trait Source {
    /// The channels of a texel, up to four; the value of further ones is not used.
    ///
    /// # Safety
    /// The texel is one of the array's.
    unsafe fn texel(&self, at: [i32; 3]) -> [f32; 4];
}

/// The way of reading: filter, address mode, and whether coordinates go from 0 to 1.
#[derive(Clone, Copy)]
pub(super) struct How {
    filter: u32,
    address: u32,
    normalised: bool,
}

impl From<[u32; 3]> for How {
    #[inline(always)]
    fn from([filter, address, normalised]: [u32; 3]) -> Self {
        Self { filter, address, normalised: normalised != 0 }
    }
}

/// Index of the border, which is 0.
const OUTSIDE: i32 = -1;

/// The texels that a sample reads along an axis, or `OUTSIDE`, and the weight of the second.
struct Taps {
    at: [i32; 2],
    weight: f32,
}

/// The sample at a coordinate.
///
/// # Safety
/// The source has `extent` texels, at least one.
#[inline(always)]
pub(super) unsafe fn sample<D: Dimensions>(
    source: &impl Source,
    how: How,
    extent: [u32; 3],
    coordinate: [f32; 3],
) -> [f32; 4] {
    let axis = |axis: usize| {
        if axis < D::COUNT as usize {
            taps(how, coordinate[axis], extent[axis] as i32)
        } else {
            Taps { at: [0; 2], weight: 0.0 }
        }
    };
    let [x, y, z] = [axis(0), axis(1), axis(2)];
    let texel = |at: [i32; 3]| {
        if at[0] < 0 || at[1] < 0 || at[2] < 0 {
            return [0.0; 4];
        }
        // SAFETY: each index is inside its extent.
        unsafe { source.texel(at) }
    };
    if how.filter == filter::POINT {
        return texel([x.at[0], y.at[0], z.at[0]]);
    }
    let row = |y: i32, z: i32| mean(texel([x.at[0], y, z]), texel([x.at[1], y, z]), x.weight);
    let plane = |z: i32| if D::COUNT > 1 { mean(row(y.at[0], z), row(y.at[1], z), y.weight) } else { row(0, z) };
    if D::COUNT > 2 { mean(plane(z.at[0]), plane(z.at[1]), z.weight) } else { plane(0) }
}

/// The weighted mean of two texels, computed so that nothing can overflow.
#[inline(always)]
fn mean(first: [f32; 4], second: [f32; 4], weight: f32) -> [f32; 4] {
    core::array::from_fn(|c| Float::mul_add(second[c], weight, first[c] * (1.0 - weight)))
}

/// A texel's centre is half a texel after its start, so a filter's two lie around the coordinate less a half.
#[inline(always)]
fn taps(how: How, coordinate: f32, size: i32) -> Taps {
    let scaled = if how.normalised { coordinate * size as f32 } else { coordinate };
    let scaled = if how.filter == filter::LINEAR { scaled - 0.5 } else { scaled };
    let floor = Float::floor(scaled);
    let first = floor as i32;
    let at = [index(how.address, first, size), index(how.address, first.wrapping_add(1), size)];
    Taps { at, weight: scaled - floor }
}

/// Maps an index outside to one inside, by the address mode.
#[inline(always)]
fn index(mode: u32, index: i32, size: i32) -> i32 {
    match mode {
        address::WRAP => remainder(index, size),
        address::MIRROR => {
            let there_and_back = remainder(index, 2 * size);
            there_and_back.min(2 * size - 1 - there_and_back)
        }
        address::CLAMP => index.max(0).min(size - 1),
        _ if (0..size).contains(&index) => index,
        _ => OUTSIDE,
    }
}

/// The remainder of a division, never negative.
#[inline(always)]
fn remainder(index: i32, size: i32) -> i32 {
    // Arrays are not empty; without `max` the compiler would keep a panic for a division by 0.
    let size = size.max(1);
    let rest = index % size;
    if rest < 0 { rest + size } else { rest }
}
