//! Arrays: memory of textures and surfaces, stored by rows without gaps.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put};
use crate::state::{Handle, Held, Kind, Side, current, state};

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Descriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor3D {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// An array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub descriptor: Descriptor3D,
    pub address: u64,
}

/// Flags: a list of layers, a cube map.
pub const LAYERED: u32 = 1;
const CUBE: u32 = 4;

api! {
    cuArrayCreate_v2(array: *mut Handle, descriptor: *const Descriptor) {
        let Descriptor { width, height, format, channels } = get(descriptor)?;
        put(array, create(Descriptor3D { width, height, depth: 0, format, channels, flags: 0 })?)
    }

    cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Descriptor3D) { put(array, create(get(descriptor)?)?) }

    cuArrayDestroy(array: Handle) {
        let mut state = state()?;
        let address = state.arrays.remove(&array).ok_or(Code::INVALID_HANDLE)?.address;
        state.free_block(address).map(|_| ())
    }

    cuArrayGetDescriptor_v2(descriptor: *mut Descriptor, array: Handle) {
        let state = state()?;
        let Descriptor3D { width, height, format, channels, .. } =
            state.arrays.get(&array).ok_or(Code::INVALID_HANDLE)?.descriptor;
        put(descriptor, Descriptor { width, height, format, channels })
    }

    cuArray3DGetDescriptor_v2(descriptor: *mut Descriptor3D, array: Handle) {
        let state = state()?;
        put(descriptor, state.arrays.get(&array).ok_or(Code::INVALID_HANDLE)?.descriptor)
    }
}

fn create(descriptor: Descriptor3D) -> Answer<Handle> {
    let mut state = state()?;
    let context = current(&state)?;
    let device = state.current_device()?.number;
    let bytes = channel_bytes(descriptor.format).ok_or(Code::INVALID_VALUE)?;
    if !matches!(descriptor.channels, 1 | 2 | 4) || descriptor.width == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if descriptor.flags & CUBE != 0 {
        return Err(Code::NOT_SUPPORTED);
    }
    let extents = [descriptor.height.max(1), descriptor.depth.max(1), descriptor.channels as usize, bytes as usize];
    let total = extents.into_iter().try_fold(descriptor.width, usize::checked_mul).ok_or(Code::OUT_OF_MEMORY)?;
    let address = state.allocate(device, context, total as u64, Held::Array)?;
    let array = state.handle();
    state.arrays.insert(array, Array { descriptor, address });
    Ok(array)
}

/// Returns the bytes of a channel, by the number of `CUarray_format`.
pub fn channel_bytes(format: u32) -> Option<u64> {
    match format {
        1 | 8 => Some(1),
        2 | 9 | 16 => Some(2),
        3 | 10 | 32 => Some(4),
        _ => None,
    }
}

impl Array {
    /// Bytes from a row to the next, and from a plane to the next.
    pub fn strides(&self) -> (u64, u64) {
        let Descriptor3D { width, height, format, channels, .. } = self.descriptor;
        let row = width as u64 * u64::from(channels) * channel_bytes(format).unwrap_or(1);
        (row, row * height.max(1) as u64)
    }
}

/// A side of a copy that begins at an offset: x in bytes, y in rows, z in planes.
pub(super) fn place(start: u64, kind: Kind, (pitch, plane): (u64, u64), [x, y, z]: [usize; 3]) -> Side {
    let address = start.wrapping_add(x as u64).wrapping_add(y as u64 * pitch).wrapping_add(z as u64 * plane);
    Side { address, kind, pitch, plane }
}
