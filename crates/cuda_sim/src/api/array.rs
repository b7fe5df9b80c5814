//! Arrays: memory of textures and surfaces, stored by rows without gaps.

use super::context::finish;
use crate::code::{Answer, Code};
use crate::entry::{api, get, put, put_made};
use crate::model::{Array, Descriptor3D, Handle, Held, Kind, Side, channel_bytes};
use crate::state::state;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Descriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// Flag: a cube map.
const CUBE: u32 = 4;

api! {
    cuArrayCreate_v2(array: *mut Handle, descriptor: *const Descriptor) {
        let Descriptor { width, height, format, channels } = get(descriptor)?;
        put_made(array, || create(Descriptor3D { width, height, depth: 0, format, channels, flags: 0 }))
    }

    cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Descriptor3D) {
        put_made(array, || create(get(descriptor)?))
    }

    cuArrayDestroy(array: Handle) {
        let guard = state()?;
        let address = guard.arrays.get(&array).ok_or(Code::INVALID_HANDLE)?.address;
        let context = guard.block_at(address).ok_or(Code::INVALID_HANDLE)?.1.context;
        // Work that uses it ends first.
        let mut state = finish(guard, context);
        state.arrays.remove(&array).ok_or(Code::INVALID_HANDLE)?;
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
    let context = state.current()?;
    let device = state.current_device()?.number;
    let bytes = channel_bytes(descriptor.format).ok_or(Code::INVALID_VALUE)?;
    if !matches!(descriptor.channels, 1 | 2 | 4) || descriptor.width == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if descriptor.flags & CUBE != 0 {
        return Err(crate::log::unsupported("cuArray3DCreate of a cube map"));
    }
    let extents = [descriptor.height.max(1), descriptor.depth.max(1), descriptor.channels as usize, bytes as usize];
    let total = extents.into_iter().try_fold(descriptor.width, usize::checked_mul).ok_or(Code::OUT_OF_MEMORY)?;
    let address = state.allocate(device, context, total as u64, Held::Array)?;
    let array = state.handle();
    state.arrays.insert(array, Array { descriptor, address });
    Ok(array)
}

/// A side of a copy that begins at an offset: x in bytes, y in rows, z in planes.
pub(super) fn place(start: u64, kind: Kind, (pitch, plane): (u64, u64), [x, y, z]: [usize; 3]) -> Side {
    let address = start.wrapping_add(x as u64).wrapping_add(y as u64 * pitch).wrapping_add(z as u64 * plane);
    Side { address, kind, pitch, plane }
}
