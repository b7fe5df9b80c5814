//! Texture and surface objects.

use super::array::{Channel, channel_of, format};
use crate::code::{Answer, Code};
use crate::driver::{self, Array};
use crate::entry::{get, put};
use crate::exported;
use crate::resource::{Resource, Sampling, View};

/// Types of resources: array, linear memory, rows with a pitch. The fourth, a mipmapped array, cannot be made.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// `cudaResourceDesc` of CUDA 12; that of CUDA 13 has 80 bytes more, which are 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Described {
    kind: u32,
    /// The array, or the address of the memory.
    first: u64,
    channel: Channel,
    /// Bytes of linear memory, or the width of rows.
    width: usize,
    height: usize,
    pitch: usize,
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Texture {
    address: [u32; 3],
    filter: u32,
    read: u32,
    srgb: i32,
    border: [f32; 4],
    normalised: i32,
    anisotropy: u32,
    mipmap_filter: u32,
    mipmap_bias: f32,
    mipmap_levels: [f32; 2],
    plain_trilinear: i32,
    seamless: i32,
}

/// Flags of the driver, and the fields that they stand for.
const READ_AS_INTEGER: u32 = 1;
const NORMALISED: u32 = 2;
const SRGB: u32 = 0x10;
const PLAIN_TRILINEAR: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// The read mode that returns integers as such; the other one scales them.
const AS_ELEMENTS: u32 = 0;
const SCALED: u32 = 1;

exported! {
    cudaCreateTextureObject(
        texture: *mut u64, described: *const Described, sampling: *const Texture, view: *const [u32; 12],
    ) {
        let view = if view.is_null() { None } else { Some(viewed(get(view)?)) };
        let pointer = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        driver::cuTexObjectCreate(texture, &resource(get(described)?)?, &for_driver(get(sampling)?), pointer)
    }

    cudaDestroyTextureObject(texture: u64) { driver::cuTexObjectDestroy(texture) }

    cudaGetTextureObjectTextureDesc(sampling: *mut Texture, texture: u64) {
        let mut known = Sampling::default();
        driver::cuTexObjectGetTextureDesc(&mut known, texture)?;
        put(sampling, for_runtime(known))
    }

    cudaCreateSurfaceObject(surface: *mut u64, described: *const Described) {
        driver::cuSurfObjectCreate(surface, &resource(get(described)?)?)
    }

    cudaDestroySurfaceObject(surface: u64) { driver::cuSurfObjectDestroy(surface) }
}

/// The memory of a texture.
///
/// # Errors
/// `INVALID_VALUE` if there is no such texture.
pub fn of_texture(texture: u64) -> Answer<Described> {
    let mut known = Resource::default();
    // SAFETY: the pointer is valid.
    unsafe { driver::cuTexObjectGetResourceDesc(&mut known, texture) }?;
    Ok(described(known))
}

/// The memory of a surface.
///
/// # Errors
/// `INVALID_VALUE` if there is no such surface.
pub fn of_surface(surface: u64) -> Answer<Described> {
    let mut known = Resource::default();
    // SAFETY: the pointer is valid.
    unsafe { driver::cuSurfObjectGetResourceDesc(&mut known, surface) }?;
    Ok(described(known))
}

fn resource(described: Described) -> Answer<Resource> {
    let Described { kind, first, channel, width, height, pitch } = described;
    let plain = Resource { kind, first, ..Resource::default() };
    match kind {
        ARRAY if first == 0 => Err(Code::INVALID_HANDLE),
        ARRAY => Ok(plain),
        LINEAR | PITCHED => {
            let (format, channels) = format(channel)?;
            let (height, pitch) = if kind == PITCHED { (height, pitch) } else { (0, 0) };
            Ok(Resource { format, channels, width, height, pitch, ..plain })
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

fn described(resource: Resource) -> Described {
    let Resource { kind, first, format, channels, width, height, pitch, .. } = resource;
    let array = Array { format, channels, ..Array::default() };
    let channel = if kind == ARRAY { Channel::default() } else { channel_of(&array) };
    Described { kind, first, channel, width, height, pitch }
}

fn for_driver(texture: Texture) -> Sampling {
    let flags = [
        (READ_AS_INTEGER, texture.read == AS_ELEMENTS),
        (NORMALISED, texture.normalised != 0),
        (SRGB, texture.srgb != 0),
        (PLAIN_TRILINEAR, texture.plain_trilinear != 0),
        (SEAMLESS, texture.seamless != 0),
    ];
    Sampling {
        address: texture.address,
        filter: texture.filter,
        flags: flags.iter().filter(|(_, on)| *on).map(|(flag, _)| flag).sum(),
        anisotropy: texture.anisotropy,
        mipmap_filter: texture.mipmap_filter,
        mipmap_bias: texture.mipmap_bias,
        mipmap_levels: texture.mipmap_levels,
        border: texture.border,
        reserved: [0; 12],
    }
}

fn for_runtime(sampling: Sampling) -> Texture {
    let on = |flag: u32| i32::from(sampling.flags & flag != 0);
    Texture {
        address: sampling.address,
        filter: sampling.filter,
        read: if on(READ_AS_INTEGER) == 1 { AS_ELEMENTS } else { SCALED },
        srgb: on(SRGB),
        border: sampling.border,
        normalised: on(NORMALISED),
        anisotropy: sampling.anisotropy,
        mipmap_filter: sampling.mipmap_filter,
        mipmap_bias: sampling.mipmap_bias,
        mipmap_levels: sampling.mipmap_levels,
        plain_trilinear: on(PLAIN_TRILINEAR),
        seamless: on(SEAMLESS),
    }
}

/// `cudaResourceViewDesc` of CUDA 12 as the driver's, which has 64 bytes more; that of CUDA 13 has them, too.
fn viewed(view: [u32; 12]) -> View {
    let mut all = [0; 28];
    all[..12].copy_from_slice(&view);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_there_and_back() {
        assert_eq!((size_of::<Described>(), size_of::<Texture>(), size_of::<Resource>()), (64, 72, 144));
        let texture =
            Texture { address: [1, 2, 3], read: SCALED, normalised: 1, border: [0.5; 4], ..Texture::default() };
        let sampling = for_driver(texture);
        assert_eq!((sampling.flags, sampling.address), (NORMALISED, [1, 2, 3]));
        let back = for_runtime(sampling);
        assert_eq!((back.read, back.normalised, back.srgb, back.border), (SCALED, 1, 0, [0.5; 4]));
        assert_eq!(for_driver(Texture::default()).flags, READ_AS_INTEGER);
    }

    #[test]
    fn memory_there_and_back() {
        let channel = Channel { bits: [8, 8, 8, 8], kind: 1 };
        let rows = Described { kind: PITCHED, first: 64, channel, width: 5, height: 3, pitch: 32 };
        let there = resource(rows).expect("a resource");
        assert_eq!((there.format, there.channels, there.width, there.pitch), (1, 4, 5, 32));
        let back = described(there);
        assert_eq!((back.channel.bits, back.height, back.first), ([8; 4], 3, 64));
        assert_eq!(resource(Described { kind: 1, ..rows }).err(), Some(Code::INVALID_VALUE));
        assert_eq!(resource(Described::default()).err(), Some(Code::INVALID_HANDLE));
    }
}
