//! Value of a texture at a coordinate. CUDA C++ Programming Guide, appendix "Texture Fetching".
//!
//! The results are compared with an H200 (`tests/textures.rs`). They differ from it in these cases: filtered signed
//! 8-bit integers, at times by 1/32767; filtered elements of three dimensions, because the rounding of the weights of
//! eight elements is unknown; normalised coordinates within 2^-24 of the edge between two elements; and arrays of one
//! dimension read by integer coordinates, which CUDA does not allow and for which a GPU returns zeros.

use super::half::half_to_f32;
use super::soft::{F16, F64, Rounding};
use crate::texture::{AddressMode, Channel, Filter, Texture};

/// Elements that one fetch reads along an axis, and the weight of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taps {
    /// Indices of the elements; `None` is the border.
    pub at: [Option<u64>; 2],
    /// Weight of the second element, in 256ths.
    pub weight: u32,
}

/// Returns the elements of an axis with `size` elements that a floating-point coordinate reads.
pub fn taps(texture: &Texture, axis: usize, coordinate: f32, size: u64, filter: Filter) -> Taps {
    let mode = match texture.address[axis] {
        // Repetition requires normalised coordinates.
        AddressMode::Wrap | AddressMode::Mirror if !texture.normalized_coordinates => AddressMode::Clamp,
        mode => mode,
    };
    // A NaN coordinate, or an infinite one where the texture is repeated, reads the start.
    let repeated = matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    let lost = coordinate.is_nan() || repeated && coordinate.is_infinite();
    let coordinate = if lost { 0.0 } else { f64::from(coordinate) };
    let scaled = if texture.normalized_coordinates { coordinate * size as f64 } else { coordinate };
    // Distant coordinates are clamped, after a repeated texture has been reduced to one period.
    let (size_float, size) = (size as f64, size as i64);
    let scaled = if repeated { scaled % (2.0 * size_float) } else { scaled.clamp(-2.0, size_float + 2.0) };
    let place = |index: i64| match mode {
        AddressMode::Clamp => Some(index.clamp(0, size - 1) as u64),
        AddressMode::Border => u64::try_from(index).ok().filter(|&index| index < size as u64),
        AddressMode::Wrap => Some(index.rem_euclid(size) as u64),
        AddressMode::Mirror => {
            let index = index.rem_euclid(2 * size);
            Some(index.min(2 * size - 1 - index) as u64)
        }
    };
    match filter {
        Filter::Point => {
            let index = place(scaled.floor() as i64);
            Taps { at: [index, index], weight: 0 }
        }
        Filter::Linear => {
            // The position in 256ths of an element, rounded.
            let fixed = ((scaled - 0.5) * 256.0 + 0.5).floor() as i64;
            let index = fixed.div_euclid(256);
            Taps { at: [place(index), place(index + 1)], weight: fixed.rem_euclid(256) as u32 }
        }
    }
}

/// Returns the weights of the eight elements that three axes with two taps each read; x varies fastest. Products of two
/// weights are rounded to 8 bits as well, and the difference goes to the neighbours, so that the sum is 256; measured
/// on an H200.
pub fn weights([x, y, z]: [u32; 3]) -> [u32; 8] {
    // Splits a quantity into two parts.
    let part = |whole: u32, weight: u32| (whole * weight + 128) >> 8;
    let both = part(x, y);
    let plane = [256 + both - x - y, x - both, y - both, both];
    let upper = plane.map(|weight| part(weight, z));
    std::array::from_fn(|i| if i < 4 { plane[i] - upper[i] } else { upper[i - 4] })
}

/// Returns the value of a channel as `f32`, for float and normalised textures.
pub fn float(channel: Channel, bits: u32, normalized: bool) -> f32 {
    match channel {
        Channel::F32 => f32::from_bits(bits),
        Channel::F16 => half_to_f32(bits as u16),
        Channel::U8 if normalized => (f64::from(bits) / 255.0) as f32,
        Channel::I8 if normalized => (f64::from(bits as u8 as i8) / 127.0).max(-1.0) as f32,
        Channel::U16 if normalized => (f64::from(bits) / 65535.0) as f32,
        Channel::I16 if normalized => (f64::from(bits as u16 as i16) / 32767.0).max(-1.0) as f32,
        _ => f32::from_bits(integer(channel, bits)),
    }
}

/// As [`float`] for filtering: not rounded, and the smallest integer is below -1.
pub fn exact(channel: Channel, bits: u32) -> f64 {
    match channel {
        Channel::U8 => f64::from(bits) / 255.0,
        Channel::I8 => f64::from(bits as u8 as i8) / 127.0,
        Channel::U16 => f64::from(bits) / 65535.0,
        Channel::I16 => f64::from(bits as u16 as i16) / 32767.0,
        _ => f64::from(float(channel, bits, false)),
    }
}

/// Rounds a filtered value to the precision of its format: 16 bits except for `f32`. Ties are rounded up, those of
/// `f16` away from zero; measured on an H200.
pub fn filtered(channel: Channel, sum: f64) -> f32 {
    // The added amount keeps a tie a tie although the sum is not exact.
    let nearest = |sum: f64| (sum + 0.5 + 1e-6).floor();
    match channel {
        Channel::F16 => half_to_f32(F16.pack(F64.unpack(sum.to_bits()), Rounding::NearestAway) as u16),
        Channel::U8 | Channel::U16 => (nearest(sum * 65535.0) / 65535.0) as f32,
        Channel::I8 | Channel::I16 => (nearest(sum * 32767.0).max(-32767.0) / 32767.0) as f32,
        _ => sum as f32,
    }
}

/// Returns the value of a channel of an integer texture, extended to 32 bits.
pub fn integer(channel: Channel, bits: u32) -> u32 {
    match channel {
        Channel::I8 => i32::from(bits as u8 as i8) as u32,
        Channel::I16 => i32::from(bits as u16 as i16) as u32,
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Format, Layout};

    fn texture(mode: AddressMode, normalized: bool) -> Texture {
        let layout = Layout::Array { address: 0, extent: [4, 1, 1], layered: false };
        let format = Format { channel: Channel::F32, channels: 1 };
        Texture { address: [mode; 3], normalized_coordinates: normalized, ..Texture::new(layout, format) }
    }

    #[test]
    fn coordinates_outside() {
        let point = |mode, coordinate: f32| taps(&texture(mode, true), 0, coordinate / 4.0, 4, Filter::Point).at[0];
        let each = |mode| [-1.5, -0.5, 0.5, 3.5, 4.5, 5.5].map(|x| point(mode, x));
        assert_eq!(each(AddressMode::Wrap), [2, 3, 0, 3, 0, 1].map(Some));
        assert_eq!(each(AddressMode::Mirror), [1, 0, 0, 3, 3, 2].map(Some));
        assert_eq!(each(AddressMode::Clamp), [0, 0, 0, 3, 3, 3].map(Some));
        assert_eq!(each(AddressMode::Border), [None, None, Some(0), Some(3), None, None]);
        let special = |x: f32| taps(&texture(AddressMode::Clamp, false), 0, x, 4, Filter::Point).at[0];
        assert_eq!([f32::NAN, f32::INFINITY, -1e30].map(special), [0, 3, 0].map(Some));
    }

    #[test]
    fn weights_of_eight_bits() {
        let linear = |x: f32| taps(&texture(AddressMode::Clamp, false), 0, x, 4, Filter::Linear);
        assert_eq!(linear(1.75), Taps { at: [Some(1), Some(2)], weight: 64 });
        assert_eq!(linear(0.25), Taps { at: [Some(0), Some(0)], weight: 192 });
        for x in (0..256).step_by(5) {
            for y in (0..256).step_by(7) {
                assert_eq!(weights([x, y, 100]).iter().sum::<u32>(), 256);
            }
        }
        assert_eq!(weights([64, 109, 0]), [110, 37, 82, 27, 0, 0, 0, 0]);
    }
}
