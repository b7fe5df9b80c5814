//! Texture and surface objects.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_made};
use crate::model::{Described, Handle, Resource, Sampling, channel_bytes};
use crate::state::{State, state};
use ptx_sim::texture::{AddressMode, Channel, Filter, Format, Layout, Texture};

/// Types of resources: array, mipmapped array, linear memory, rows with a pitch.
const ARRAY: u32 = 0;
const MIPMAPPED: u32 = 1;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// Flag of an array: the third extent is a number of layers.
const LAYERED: u32 = 1;

/// Flags of a texture: integers are read as such, coordinates run from 0 to 1.
const READ_AS_INTEGER: u32 = 1;
const NORMALISED: u32 = 2;

api! {
    cuTexObjectCreate(texture: *mut u64, resource: *const Resource, sampling: *const Sampling, view: *const u8) {
        if !view.is_null() {
            // A view changes the format in which an array is read.
            return Err(crate::log::unsupported("cuTexObjectCreate with a resource view"));
        }
        put_made(texture, || create(get(resource)?, Some(get(sampling)?)))
    }

    cuSurfObjectCreate(surface: *mut u64, resource: *const Resource) {
        let resource = get(resource)?;
        if resource.kind != ARRAY {
            return Err(Code::INVALID_VALUE);
        }
        put_made(surface, || create(resource, None))
    }

    cuTexObjectDestroy(texture: u64) { destroy(texture) }

    cuSurfObjectDestroy(surface: u64) { destroy(surface) }

    cuTexObjectGetResourceDesc(resource: *mut Resource, texture: u64) {
        put(resource, known(texture)?.resource)
    }

    cuSurfObjectGetResourceDesc(resource: *mut Resource, surface: u64) {
        put(resource, known(surface)?.resource)
    }

    cuTexObjectGetTextureDesc(sampling: *mut Sampling, texture: u64) {
        put(sampling, known(texture)?.sampling.ok_or(Code::INVALID_VALUE)?)
    }
}

/// Returns an object of the current device: each device numbers its own.
fn known(object: u64) -> Answer<Described> {
    let mut state = state()?;
    let device = state.current_device()?.number;
    state.textures.get(&(device, object)).copied().ok_or(Code::INVALID_VALUE)
}

fn destroy(object: u64) -> Answer {
    let mut state = state()?;
    let device = state.current_device()?.number;
    state.textures.remove(&(device, object)).map(|_| ()).ok_or(Code::INVALID_VALUE)
}

fn create(resource: Resource, sampling: Option<Sampling>) -> Answer<u64> {
    let mut state = state()?;
    let described = Described { context: state.current()?, resource, sampling };
    let texture = texture(&state, &described)?;
    let device = state.current_device()?;
    let (number, made) = (device.number, device.machine.texture(&texture));
    let handle = made.map_err(|stop| state.report.refusal("creating a texture or surface", &stop))?;
    state.textures.insert((number, handle), described);
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
        MIPMAPPED => {
            return Err(crate::log::unsupported("an object of a mipmapped array"));
        }
        _ => return Err(Code::INVALID_VALUE),
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
