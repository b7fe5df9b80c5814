//! Copies.

use super::array::place;
use crate::code::{Answer, Code};
use crate::entry::{api, get};
use crate::model::{Copy, Descriptor3D, Handle, Kind, Operation, Side};
use crate::state::{State, state, wait_for, wait_until};

/// Memory types of the structures: host, device, array, unified.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// Greatest number of bytes of ordinary memory that are set aside for a copy that runs later.
const STAGED: u64 = 64 << 10;

/// One side of a copy in two dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
struct Plane {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2D {
    from: Plane,
    to: Plane,
    width: usize,
    height: usize,
}

/// One side of a copy in three dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
struct Solid {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    /// Unused, or the side's context.
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3D {
    from: Solid,
    to: Solid,
    width: usize,
    height: usize,
    depth: usize,
}

api! {
    cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) or cuMemcpyHtoD_v2_ptds {
        now(to, Kind::Device, from, Kind::Host, bytes)
    }

    cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) or cuMemcpyDtoH_v2_ptds {
        now(to, Kind::Host, from, Kind::Device, bytes)
    }

    cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) or cuMemcpyDtoD_v2_ptds {
        now(to, Kind::Device, from, Kind::Device, bytes)
    }

    cuMemcpy(to: u64, from: u64, bytes: usize) or cuMemcpy_ptds { now(to, Kind::Unified, from, Kind::Unified, bytes) }

    cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) or cuMemcpyHtoDAsync_v2_ptsz {
        later((to, Kind::Device), (from, Kind::Host), bytes, stream)
    }

    cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) or cuMemcpyDtoHAsync_v2_ptsz {
        later((to, Kind::Host), (from, Kind::Device), bytes, stream)
    }

    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) or cuMemcpyDtoDAsync_v2_ptsz {
        later((to, Kind::Device), (from, Kind::Device), bytes, stream)
    }

    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) or cuMemcpyAsync_ptsz {
        later((to, Kind::Unified), (from, Kind::Unified), bytes, stream)
    }

    cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) or cuMemcpyPeer_ptds {
        now(to, Kind::Device, from, Kind::Device, bytes)
    }

    cuMemcpyPeerAsync(
        to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle,
    ) or cuMemcpyPeerAsync_ptsz {
        later((to, Kind::Device), (from, Kind::Device), bytes, stream)
    }

    cuMemcpy2D_v2(copy: *const Copy2D) or cuMemcpy2D_v2_ptds { plane(get(copy)?, None) }

    cuMemcpy2DUnaligned_v2(copy: *const Copy2D) or cuMemcpy2DUnaligned_v2_ptds { plane(get(copy)?, None) }

    cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Handle) or cuMemcpy2DAsync_v2_ptsz {
        plane(get(copy)?, Some(stream))
    }

    cuMemcpy3D_v2(copy: *const Copy3D) or cuMemcpy3D_v2_ptds { solid(get(copy)?, None) }

    cuMemcpy3DAsync_v2(copy: *const Copy3D, stream: Handle) or cuMemcpy3DAsync_v2_ptsz {
        solid(get(copy)?, Some(stream))
    }

    cuMemcpy3DPeer(copy: *const Copy3D) or cuMemcpy3DPeer_ptds { solid(get(copy)?, None) }

    cuMemcpy3DPeerAsync(copy: *const Copy3D, stream: Handle) or cuMemcpy3DPeerAsync_ptsz {
        solid(get(copy)?, Some(stream))
    }

    cuMemcpyHtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) or cuMemcpyHtoA_v2_ptds {
        let to = in_array(array, offset)?;
        run(Copy::row(to, Side::row(from, Kind::Host), bytes as u64), None)
    }

    cuMemcpyAtoH_v2(to: u64, array: Handle, offset: usize, bytes: usize) or cuMemcpyAtoH_v2_ptds {
        let from = in_array(array, offset)?;
        run(Copy::row(Side::row(to, Kind::Host), from, bytes as u64), None)
    }

    cuMemcpyDtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) or cuMemcpyDtoA_v2_ptds {
        let to = in_array(array, offset)?;
        run(Copy::row(to, Side::row(from, Kind::Device), bytes as u64), None)
    }

    cuMemcpyAtoD_v2(to: u64, array: Handle, offset: usize, bytes: usize) or cuMemcpyAtoD_v2_ptds {
        let from = in_array(array, offset)?;
        run(Copy::row(Side::row(to, Kind::Device), from, bytes as u64), None)
    }

    cuMemcpyAtoA_v2(
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize,
    ) or cuMemcpyAtoA_v2_ptds {
        let (to, from) = (in_array(to, to_offset)?, in_array(from, from_offset)?);
        run(Copy::row(to, from, bytes as u64), None)
    }
}

fn now(to: u64, to_kind: Kind, from: u64, from_kind: Kind, bytes: usize) -> Answer {
    run(Copy::row(Side::row(to, to_kind), Side::row(from, from_kind), bytes as u64), None)
}

fn later(to: (u64, Kind), from: (u64, Kind), bytes: usize, stream: Handle) -> Answer {
    run(Copy::row(Side::row(to.0, to.1), Side::row(from.0, from.1), bytes as u64), Some(stream))
}

/// Enqueues a copy; without a stream, in the default stream. As documented, only a copy between two places in device
/// memory is not waited for then; and with a stream, a copy to memory that is not page-locked is, and a large copy from
/// such memory is until it has been read.
fn run(copy: Copy, stream: Option<Handle>) -> Answer {
    let mut guard = state()?;
    let enqueued = guard.stream(stream.unwrap_or(0))?;
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(());
    }
    let waits = match stream {
        None => !guard.is_device(copy.from) || !guard.is_device(copy.to),
        Some(_) => !guard.is_known(copy.to),
    };
    let bytes = copy.width.saturating_mul(copy.height).saturating_mul(copy.depth);
    let is_large = bytes > STAGED && !guard.is_known(copy.from);
    if !waits && !is_large {
        return guard.enqueue(enqueued, Operation::Copy(copy));
    }
    guard.enqueue_awaited(enqueued, Operation::Copy(copy))?;
    if waits {
        return wait_for(guard, enqueued).outcome(enqueued);
    }
    // Unlike the waits above, this one is not promised: it orders nothing.
    let last = guard.last(enqueued);
    wait_until(guard, |state| state.has_ended(last)).outcome(enqueued)
}

fn in_array(array: Handle, offset: usize) -> Answer<Side> {
    let state = state()?;
    let array = state.arrays.get(&array).ok_or(Code::INVALID_HANDLE)?;
    Ok(Side::row(array.address.checked_add(offset as u64).ok_or(Code::INVALID_VALUE)?, Kind::Device))
}

fn plane(copy: Copy2D, stream: Option<Handle>) -> Answer {
    let side = |plane: Plane| {
        let Plane { x, y, kind, host, device, array, pitch } = plane;
        Solid { x, y, z: 0, level: 0, kind, host, device, array, context: 0, pitch, height: 0 }
    };
    let Copy2D { from, to, width, height } = copy;
    solid(Copy3D { from: side(from), to: side(to), width, height, depth: 1 }, stream)
}

fn solid(copy: Copy3D, stream: Option<Handle>) -> Answer {
    let copy = described(&*state()?, &copy)?;
    run(copy, stream)
}

/// Returns the copy that a structure describes.
///
/// # Errors
/// `INVALID_VALUE` for a type of memory that does not exist, rows that are longer than the pitch, or a part that an
/// array does not have; `INVALID_HANDLE`
/// for an array that does not exist.
pub(super) fn described(state: &State, copy: &Copy3D) -> Answer<Copy> {
    let side = |solid: &Solid| -> Answer<Side> {
        if solid.level != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let stacked = || solid.pitch.checked_mul(solid.height).ok_or(Code::INVALID_VALUE);
        let (start, kind, pitch, plane) = match solid.kind {
            HOST => (solid.host, Kind::Host, solid.pitch, stacked()?),
            DEVICE => (solid.device, Kind::Device, solid.pitch, stacked()?),
            UNIFIED => (solid.device, Kind::Unified, solid.pitch, stacked()?),
            ARRAY => {
                let array = state.arrays.get(&solid.array).ok_or(Code::INVALID_HANDLE)?;
                let (row, plane) = array.strides();
                let Descriptor3D { height, depth, .. } = array.descriptor;
                let extents = [row as usize, height.max(1), depth.max(1)];
                let firsts = [solid.x, solid.y, solid.z].into_iter().zip([copy.width, copy.height, copy.depth]);
                let is_in = |((first, count), extent): ((usize, usize), usize)| {
                    first.checked_add(count).is_some_and(|end| end <= extent)
                };
                if !firsts.zip(extents).all(is_in) {
                    return Err(Code::INVALID_VALUE);
                }
                (array.address, Kind::Device, row as usize, plane as usize)
            }
            _ => return Err(Code::INVALID_VALUE),
        };
        // A pitch of 0 stands for rows without gaps.
        let pitch = if pitch == 0 { copy.width } else { pitch };
        if solid.kind != ARRAY && (copy.height > 1 || copy.depth > 1) && pitch < copy.width {
            return Err(Code::INVALID_VALUE);
        }
        let plane = if plane == 0 { pitch.checked_mul(copy.height).ok_or(Code::INVALID_VALUE)? } else { plane };
        // Up to the end of the last row.
        let rows = [(plane, solid.z, copy.depth), (pitch, solid.y, copy.height), (1, solid.x, copy.width)];
        let mut end = start as usize;
        for (stride, first, count) in rows {
            let offset = first.checked_add(count).and_then(|last| last.checked_mul(stride));
            end = offset.and_then(|offset| end.checked_add(offset)).ok_or(Code::INVALID_VALUE)?;
        }
        Ok(place(start, kind, (pitch as u64, plane as u64), [solid.x, solid.y, solid.z]))
    };
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        // A copy of nothing has no rows.
        let nothing = Side::row(0, Kind::Host);
        return Ok(Copy { from: nothing, to: nothing, width: 0, height: 0, depth: 0 });
    }
    Ok(Copy {
        from: side(&copy.from)?,
        to: side(&copy.to)?,
        width: copy.width as u64,
        height: copy.height as u64,
        depth: copy.depth as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<Copy2D>(), size_of::<Copy3D>()), (128, 200));
    }
}
