//! What a texture gives at a coordinate. CUDA C++ Programming Guide, appendix "Texture Fetching".

use super::half::half_to_f32;
use crate::texture::{AddressMode, Channel, Filter, Texture};

/// Elements that one fetch reads along an axis, and the weight of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taps {
    /// Elements; `None` is the border.
    pub at: [Option<u64>; 2],
    /// Of the second, in 256ths.
    pub weight: u32,
}

/// Which elements of an axis with `size` elements a float coordinate reads.
pub fn taps(texture: &Texture, axis: usize, coordinate: f32, size: u64, filter: Filter) -> Taps {
    let mode = match texture.address[axis] {
        // Repetition needs normalised coordinates.
        AddressMode::Wrap | AddressMode::Mirror if !texture.normalized_coordinates => AddressMode::Clamp,
        mode => mode,
    };
    let coordinate = if coordinate.is_nan() { 0.0 } else { coordinate };
    let coordinate = match mode {
        AddressMode::Wrap => coordinate - coordinate.floor(),
        AddressMode::Mirror => {
            let (whole, fraction) = (coordinate.floor(), coordinate - coordinate.floor());
            if whole.rem_euclid(2.0) == 0.0 { fraction } else { 1.0 - fraction }
        }
        AddressMode::Clamp | AddressMode::Border => coordinate,
    };
    let scaled =
        if texture.normalized_coordinates { f64::from(coordinate) * size as f64 } else { f64::from(coordinate) };
    // Far outside is outside.
    let limit = size as f64 + 2.0;
    let scaled = if scaled.is_nan() { 0.0 } else { scaled.clamp(-2.0, limit) };
    let last = size as i64 - 1;
    let place = |index: i64| match mode {
        AddressMode::Clamp => Some(index.clamp(0, last) as u64),
        AddressMode::Border => u64::try_from(index).ok().filter(|&index| index < size),
        AddressMode::Wrap => Some(index.rem_euclid(size as i64) as u64),
        AddressMode::Mirror => Some(index.clamp(0, last) as u64),
    };
    match filter {
        Filter::Point => {
            let index = place(scaled.floor() as i64);
            Taps { at: [index, index], weight: 0 }
        }
        Filter::Linear => {
            // In 256ths of an element, rounded.
            let fixed = ((scaled - 0.5) * 256.0).round_ties_even() as i64;
            let index = fixed.div_euclid(256);
            Taps { at: [place(index), place(index + 1)], weight: fixed.rem_euclid(256) as u32 }
        }
    }
}

/// An integer coordinate.
pub fn element(texture: &Texture, axis: usize, coordinate: i32, size: u64) -> Option<u64> {
    match texture.address[axis] {
        AddressMode::Border => u64::try_from(coordinate).ok().filter(|&index| index < size),
        _ => Some(i64::from(coordinate).clamp(0, size as i64 - 1) as u64),
    }
}

/// The value of a channel as `f32`: what float and normalised textures give.
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

/// The value of a channel of an integer texture, extended to 32 bits.
pub fn integer(channel: Channel, bits: u32) -> u32 {
    match channel {
        Channel::I8 => i32::from(bits as u8 as i8) as u32,
        Channel::I16 => i32::from(bits as u16 as i16) as u32,
        _ => bits,
    }
}

/// What channels that the format lacks give: zero, and one for the last.
pub fn missing(channel: usize, floats: bool) -> u32 {
    match (channel, floats) {
        (3, true) => 1.0f32.to_bits(),
        (3, false) => 1,
        _ => 0,
    }
}
