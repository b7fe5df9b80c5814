//! Texture and surface objects.

use super::array::{LAYERED, channel_bytes};
use crate::code::{Answer, Code};
use crate::entry::{api, get, put};
use crate::state::{Handle, State, current, state};
use ptx_sim::texture::{AddressMode, Channel, Filter, Format, Layout, Texture};

/// Types of resources: array, mipmapped array, linear memory, rows with a pitch.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// Flags of a texture: integers are read as such, coordinates run from 0 to 1.
const READ_AS_INTEGER: u32 = 1;
const NORMALISED: u32 = 2;

/// `CUDA_RESOURCE_DESC`: its type, and the union of the resources as words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    kind: u32,
    /// Array handle, or address.
    first: u64,
    format: u32,
    channels: u32,
    /// Bytes of linear memory, or elements of a row.
    width: usize,
    height: usize,
    pitch: usize,
    rest: [u64; 11],
    flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    address: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    mipmap_filter: u32,
    mipmap_bias: f32,
    mipmap_least: f32,
    mipmap_most: f32,
    border: [f32; 4],
    reserved: [i32; 12],
}

/// Descriptions of an object, as the program gave them.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    resource: Resource,
    sampling: Option<Sampling>,
}

api! {
    cuTexObjectCreate(texture: *mut u64, resource: *const Resource, sampling: *const Sampling, view: *const u8) {
        if !view.is_null() {
            // A view changes the format in which an array is read.
            crate::log::unsupported("cuTexObjectCreate with a resource view");
            return Err(Code::NOT_SUPPORTED);
        }
        let described = Described { resource: get(resource)?, sampling: Some(get(sampling)?) };
        put(texture, create(described)?)
    }

    cuSurfObjectCreate(surface: *mut u64, resource: *const Resource) {
        let resource = get(resource)?;
        if resource.kind != ARRAY {
            return Err(Code::INVALID_VALUE);
        }
        put(surface, create(Described { resource, sampling: None })?)
    }

    cuTexObjectDestroy(texture: u64) { destroy(texture) }

    cuSurfObjectDestroy(surface: u64) { destroy(surface) }

    cuTexObjectGetResourceDesc(resource: *mut Resource, texture: u64) {
        put(resource, state()?.textures.get(&texture).ok_or(Code::INVALID_VALUE)?.resource)
    }

    cuSurfObjectGetResourceDesc(resource: *mut Resource, surface: u64) {
        put(resource, state()?.textures.get(&surface).ok_or(Code::INVALID_VALUE)?.resource)
    }

    cuTexObjectGetTextureDesc(sampling: *mut Sampling, texture: u64) {
        let described = *state()?.textures.get(&texture).ok_or(Code::INVALID_VALUE)?;
        put(sampling, described.sampling.ok_or(Code::INVALID_VALUE)?)
    }
}

fn destroy(object: u64) -> Answer {
    state()?.textures.remove(&object).map(|_| ()).ok_or(Code::INVALID_VALUE)
}

fn create(described: Described) -> Answer<u64> {
    let mut state = state()?;
    current(&state)?;
    let texture = texture(&state, &described)?;
    let device = state.current_device()?;
    let made = device.machine.texture(&texture);
    let handle = made.map_err(|stop| state.report.refusal("creating a texture or surface", &stop))?;
    state.textures.insert(handle, described);
    Ok(handle)
}

fn texture(state: &State, described: &Described) -> Answer<Texture> {
    let resource = &described.resource;
    let (layout, format, channels) = match resource.kind {
        ARRAY => {
            let array = state.arrays.get(&(resource.first as Handle)).ok_or(Code::INVALID_HANDLE)?;
            let descriptor = array.descriptor;
            let extent = [descriptor.width, descriptor.height.max(1), descriptor.depth.max(1)].map(|n| n as u64);
            let layered = descriptor.flags & LAYERED != 0;
            (Layout::Array { address: array.address, extent, layered }, descriptor.format, descriptor.channels)
        }
        LINEAR => {
            let bytes = channel_bytes(resource.format).ok_or(Code::INVALID_VALUE)? * u64::from(resource.channels);
            let elements = (resource.width as u64).checked_div(bytes).ok_or(Code::INVALID_VALUE)?;
            (Layout::Linear { address: resource.first, elements }, resource.format, resource.channels)
        }
        PITCHED => {
            let (width, height, pitch) = (resource.width as u64, resource.height as u64, resource.pitch as u64);
            (Layout::Pitched { address: resource.first, width, height, pitch }, resource.format, resource.channels)
        }
        _ => return Err(Code::NOT_SUPPORTED),
    };
    let channel = match format {
        1 => Channel::U8,
        2 => Channel::U16,
        3 => Channel::U32,
        8 => Channel::I8,
        9 => Channel::I16,
        10 => Channel::I32,
        16 => Channel::F16,
        32 => Channel::F32,
        _ => return Err(Code::INVALID_VALUE),
    };
    let plain = Texture::new(layout, Format { channel, channels });
    let Some(sampling) = described.sampling else { return Ok(plain) };
    let is_float = matches!(channel, Channel::F16 | Channel::F32);
    let mode = |mode: u32| match mode {
        0 => Ok(AddressMode::Wrap),
        1 => Ok(AddressMode::Clamp),
        2 => Ok(AddressMode::Mirror),
        3 => Ok(AddressMode::Border),
        _ => Err(Code::INVALID_VALUE),
    };
    let [x, y, z] = sampling.address;
    Ok(Texture {
        filter: if sampling.filter == 1 { Filter::Linear } else { Filter::Point },
        address: [mode(x)?, mode(y)?, mode(z)?],
        normalized_coordinates: sampling.flags & NORMALISED != 0,
        normalized_reads: !is_float && sampling.flags & READ_AS_INTEGER == 0 && channel.bytes() < 4,
        border: sampling.border,
        ..plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<Resource>(), size_of::<Sampling>()), (144, 104));
    }
}
