//! Arrays.

use super::fill::Extent;
use crate::code::{Answer, Code};
use crate::driver::{self, Array};
use crate::entry::{Handle, get, put};
use crate::exported;

/// `cudaChannelFormatDesc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Channel {
    /// Bits of each channel; 0 where there is none.
    pub bits: [i32; 4],
    /// Signed, unsigned, or floating point.
    pub kind: u32,
}

/// Flags of an array: what the driver calls layered is here what has it.
const LAYERED: u32 = 1;

exported! {
    cudaMallocArray(array: *mut Handle, channel: *const Channel, width: usize, height: usize, flags: u32) {
        create(array, get(channel)?, [width, height, 0], flags)
    }

    cudaMalloc3DArray(array: *mut Handle, channel: *const Channel, extent: Extent, flags: u32) {
        create(array, get(channel)?, [extent.width, extent.height, extent.depth], flags)
    }

    cudaFreeArray(array: Handle) { if array == 0 { Ok(()) } else { driver::cuArrayDestroy(array) } }

    cudaArrayGetInfo(channel: *mut Channel, extent: *mut Extent, flags: *mut u32, array: Handle) {
        let mut described = Array::default();
        driver::cuArray3DGetDescriptor_v2(&mut described, array)?;
        let [width, height, depth] = described.extent;
        if !channel.is_null() {
            put(channel, channel_of(&described))?;
        }
        if !extent.is_null() {
            put(extent, Extent { width, height, depth })?;
        }
        if flags.is_null() { Ok(()) } else { put(flags, described.flags) }
    }

    cudaGetChannelDesc(channel: *mut Channel, array: Handle) {
        let mut described = Array::default();
        driver::cuArray3DGetDescriptor_v2(&mut described, array)?;
        put(channel, channel_of(&described))
    }
}

unsafe fn create(array: *mut Handle, channel: Channel, extent: [usize; 3], flags: u32) -> Answer {
    let (format, channels) = format(channel)?;
    if flags & LAYERED != 0 && extent[2] == 0 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller's pointer.
    unsafe { driver::cuArray3DCreate_v2(array, &Array { extent, format, channels, flags }) }
}

/// The driver's formats: bits of a channel, kind, number.
const FORMATS: [(i32, u32, u32); 8] = [
    (8, 1, 0x01),
    (16, 1, 0x02),
    (32, 1, 0x03),
    (8, 0, 0x08),
    (16, 0, 0x09),
    (32, 0, 0x0a),
    (16, 2, 0x10),
    (32, 2, 0x20),
];

/// The driver's format and number of channels.
///
/// # Errors
/// `INVALID_CHANNEL_DESCRIPTOR` for other sizes, or channels that differ.
pub(super) fn format(channel: Channel) -> Answer<(u32, u32)> {
    let channels = channel.bits.iter().take_while(|bits| **bits != 0).count();
    let alike = channel.bits[..channels].iter().all(|bits| *bits == channel.bits[0]);
    let known = FORMATS.iter().find(|(bits, kind, _)| (*bits, *kind) == (channel.bits[0], channel.kind));
    match known {
        Some((_, _, format)) if alike && matches!(channels, 1 | 2 | 4) => Ok((*format, channels as u32)),
        _ => Err(Code::INVALID_CHANNEL_DESCRIPTOR),
    }
}

pub(super) fn channel_of(array: &Array) -> Channel {
    let known = FORMATS.iter().find(|(_, _, format)| *format == array.format);
    let (bits, kind) = known.map_or((0, 0), |(bits, kind, _)| (*bits, *kind));
    let mut channel = Channel { bits: [0; 4], kind };
    channel.bits.iter_mut().take(array.channels as usize).for_each(|place| *place = bits);
    channel
}

/// `cudaCreateChannelDesc`, which returns its result.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> Channel {
    Channel { bits: [x, y, z, w], kind }
}
