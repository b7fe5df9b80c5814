//! Copies.

use super::symbol::place;
use crate::code::{Answer, Code};
use crate::driver::{self, ARRAY, Copy3D, DEVICE, HOST, Side, UNIFIED};
use crate::entry::{Handle, get, on};
use crate::{context, exported};

/// Directions, `cudaMemcpyKind`.
const FROM_HOST: u32 = 1;
const TO_HOST: u32 = 2;
/// On the device.
pub(super) const ON_DEVICE: u32 = 3;
/// By address.
pub(super) const BY_ADDRESS: u32 = 4;

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pitched {
    /// Address.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Width in bytes.
    pub width: usize,
    /// Rows of a plane.
    pub height: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Solid {
    from_array: Handle,
    from_start: [usize; 3],
    from: Pitched,
    to_array: Handle,
    to_start: [usize; 3],
    to: Pitched,
    extent: [usize; 3],
    kind: u32,
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PeerSolid {
    from_array: Handle,
    from_start: [usize; 3],
    from: Pitched,
    from_device: i32,
    to_array: Handle,
    to_start: [usize; 3],
    to: Pitched,
    to_device: i32,
    extent: [usize; 3],
}

exported! {
    cudaMemcpy(to: u64, from: u64, bytes: usize, kind: u32) or cudaMemcpy_ptds {
        row(to, from, bytes, kind, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: u32, stream: Handle) or cudaMemcpyAsync_ptsz {
        row(to, from, bytes, kind, stream)
    }

    cudaMemcpyPeer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) or cudaMemcpyPeer_ptds {
        peer(to, to_device, from, from_device, bytes, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyPeerAsync(
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: Handle,
    ) or cudaMemcpyPeerAsync_ptsz {
        peer(to, to_device, from, from_device, bytes, stream)
    }

    cudaMemcpyToSymbol(symbol: usize, from: u64, bytes: usize, offset: usize, kind: u32) or cudaMemcpyToSymbol_ptds {
        row(place(symbol, offset, bytes)?, from, bytes, kind, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyToSymbolAsync(
        symbol: usize, from: u64, bytes: usize, offset: usize, kind: u32, stream: Handle,
    ) or cudaMemcpyToSymbolAsync_ptsz {
        row(place(symbol, offset, bytes)?, from, bytes, kind, stream)
    }

    cudaMemcpyFromSymbol(to: u64, symbol: usize, bytes: usize, offset: usize, kind: u32) or cudaMemcpyFromSymbol_ptds {
        row(to, place(symbol, offset, bytes)?, bytes, kind, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyFromSymbolAsync(
        to: u64, symbol: usize, bytes: usize, offset: usize, kind: u32, stream: Handle,
    ) or cudaMemcpyFromSymbolAsync_ptsz {
        row(to, place(symbol, offset, bytes)?, bytes, kind, stream)
    }

    cudaMemcpy2D(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32,
    ) or cudaMemcpy2D_ptds {
        plane((to, to_pitch), (from, from_pitch), [width, height], kind, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy2DAsync(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32, stream: Handle,
    ) or cudaMemcpy2DAsync_ptsz {
        plane((to, to_pitch), (from, from_pitch), [width, height], kind, stream)
    }

    cudaMemcpy2DToArray(
        array: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32,
    ) or cudaMemcpy2DToArray_ptds {
        let from = memory(from, pitch, kinds(kind)?.0);
        run(Copy3D { from, to: array_side(array, [x, y, 0]), extent: [width, height, 1] }, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy2DToArrayAsync(
        array: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32,
        stream: Handle,
    ) or cudaMemcpy2DToArrayAsync_ptsz {
        let from = memory(from, pitch, kinds(kind)?.0);
        run(Copy3D { from, to: array_side(array, [x, y, 0]), extent: [width, height, 1] }, stream)
    }

    cudaMemcpy2DFromArray(
        to: u64, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32,
    ) or cudaMemcpy2DFromArray_ptds {
        let to = memory(to, pitch, kinds(kind)?.1);
        run(Copy3D { from: array_side(array, [x, y, 0]), to, extent: [width, height, 1] }, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy2DFromArrayAsync(
        to: u64, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32,
        stream: Handle,
    ) or cudaMemcpy2DFromArrayAsync_ptsz {
        let to = memory(to, pitch, kinds(kind)?.1);
        run(Copy3D { from: array_side(array, [x, y, 0]), to, extent: [width, height, 1] }, stream)
    }

    cudaMemcpy2DArrayToArray(
        to: Handle, to_x: usize, to_y: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, _kind: u32,
    ) or cudaMemcpy2DArrayToArray_ptds {
        let (from, to) = (array_side(from, [x, y, 0]), array_side(to, [to_x, to_y, 0]));
        run(Copy3D { from, to, extent: [width, height, 1] }, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyToArray(
        array: Handle, x: usize, y: usize, from: u64, bytes: usize, kind: u32,
    ) or cudaMemcpyToArray_ptds {
        let from = memory(from, bytes, kinds(kind)?.0);
        run(Copy3D { from, to: array_side(array, [x, y, 0]), extent: [bytes, 1, 1] }, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpyFromArray(
        to: u64, array: Handle, x: usize, y: usize, bytes: usize, kind: u32,
    ) or cudaMemcpyFromArray_ptds {
        let to = memory(to, bytes, kinds(kind)?.1);
        run(Copy3D { from: array_side(array, [x, y, 0]), to, extent: [bytes, 1, 1] }, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy3D(copy: *const Solid) or cudaMemcpy3D_ptds {
        run(described(get(copy)?)?, 0)?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy3DAsync(copy: *const Solid, stream: Handle) or cudaMemcpy3DAsync_ptsz {
        run(described(get(copy)?)?, stream)
    }

    cudaMemcpy3DPeer(copy: *const PeerSolid) or cudaMemcpy3DPeer_ptds {
        driver::cuMemcpy3DPeerAsync(&between(get(copy)?)?, on(0))?;
        driver::cuStreamSynchronize(on(0))
    }

    cudaMemcpy3DPeerAsync(copy: *const PeerSolid, stream: Handle) or cudaMemcpy3DPeerAsync_ptsz {
        driver::cuMemcpy3DPeerAsync(&between(get(copy)?)?, on(stream))
    }
}

unsafe fn row(to: u64, from: u64, bytes: usize, kind: u32, stream: Handle) -> Answer {
    if bytes == 0 {
        return Ok(());
    }
    let copy = match kind {
        FROM_HOST => driver::cuMemcpyHtoDAsync_v2,
        TO_HOST => driver::cuMemcpyDtoHAsync_v2,
        ON_DEVICE => driver::cuMemcpyDtoDAsync_v2,
        0 | BY_ADDRESS => driver::cuMemcpyAsync,
        _ => return Err(Code::INVALID_DIRECTION),
    };
    // SAFETY: the caller's memory.
    unsafe { copy(to, from, bytes, on(stream)) }
}

unsafe fn peer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: Handle) -> Answer {
    let (to_context, from_context) = (context::primary(to_device)?, context::primary(from_device)?);
    // SAFETY: the caller's memory.
    unsafe { driver::cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, on(stream)) }
}

unsafe fn plane(
    to: (u64, usize),
    from: (u64, usize),
    [width, height]: [usize; 2],
    kind: u32,
    stream: Handle,
) -> Answer {
    if height > 1 && (width > to.1 || width > from.1) {
        return Err(Code::INVALID_PITCH);
    }
    let (from_kind, to_kind) = kinds(kind)?;
    let (from, to) = (memory(from.0, from.1, from_kind), memory(to.0, to.1, to_kind));
    // SAFETY: the caller's memory.
    unsafe { run(Copy3D { from, to, extent: [width, height, 1] }, stream) }
}

/// Enqueues a copy; one of nothing does nothing.
unsafe fn run(copy: Copy3D, stream: Handle) -> Answer {
    if copy.extent.contains(&0) {
        return Ok(());
    }
    // SAFETY: the caller's memory.
    unsafe { driver::cuMemcpy3DAsync_v2(&copy, on(stream)) }
}

/// The kinds of memory of source and destination.
fn kinds(kind: u32) -> Answer<(u32, u32)> {
    Ok(match kind {
        0 => (HOST, HOST),
        FROM_HOST => (HOST, DEVICE),
        TO_HOST => (DEVICE, HOST),
        ON_DEVICE => (DEVICE, DEVICE),
        BY_ADDRESS => (UNIFIED, UNIFIED),
        _ => return Err(Code::INVALID_DIRECTION),
    })
}

fn memory(address: u64, pitch: usize, kind: u32) -> Side {
    Side { kind, host: address, device: address, pitch, ..Side::default() }
}

fn array_side(array: Handle, start: [usize; 3]) -> Side {
    Side { kind: ARRAY, array, start, ..Side::default() }
}

/// Bytes of an array's element.
fn element(array: Handle) -> Answer<usize> {
    let mut described = driver::Array::default();
    // SAFETY: the pointer is valid.
    unsafe { driver::cuArray3DGetDescriptor_v2(&mut described, array) }?;
    // Formats of 8, 16 and 32 bits, as in `cuda.h`.
    let bytes = match described.format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        _ => 4,
    };
    Ok(bytes * described.channels as usize)
}

/// Returns the driver's description of a copy.
///
/// # Errors
/// `INVALID_DIRECTION`; `INVALID_HANDLE` for an array that does not exist.
pub(super) fn described(solid: Solid) -> Answer<Copy3D> {
    let (from_kind, to_kind) = kinds(solid.kind)?;
    // Widths and offsets count elements if an array takes part; of memory, an offset counts bytes.
    let of_array = |array: Handle| if array == 0 { Ok(1) } else { element(array) };
    let (from_unit, to_unit) = (of_array(solid.from_array)?, of_array(solid.to_array)?);
    let side = |array: Handle, pitched: Pitched, [x, y, z]: [usize; 3], unit: usize, kind: u32| Side {
        start: [x * unit, y, z],
        height: pitched.height,
        array,
        kind: if array == 0 { kind } else { ARRAY },
        ..memory(pitched.address, pitched.pitch, kind)
    };
    let [width, height, depth] = solid.extent;
    Ok(Copy3D {
        from: side(solid.from_array, solid.from, solid.from_start, from_unit, from_kind),
        to: side(solid.to_array, solid.to, solid.to_start, to_unit, to_kind),
        extent: [width * from_unit.max(to_unit), height, depth],
    })
}

/// Returns the driver's description of a copy between devices.
fn between(peer: PeerSolid) -> Answer<Copy3D> {
    let PeerSolid { from_array, from_start, from, to_array, to_start, to, extent, .. } = peer;
    let solid = Solid { from_array, from_start, from, to_array, to_start, to, extent, kind: ON_DEVICE };
    let mut copy = described(solid)?;
    copy.from.context = context::primary(peer.from_device)?;
    copy.to.context = context::primary(peer.to_device)?;
    Ok(copy)
}

/// The driver's description of a copy of one row, for a node of a graph.
pub(super) fn one_row(to: u64, from: u64, bytes: usize, kind: u32) -> Answer<Copy3D> {
    let (from_kind, to_kind) = kinds(kind)?;
    let (from, to) = (memory(from, bytes, from_kind), memory(to, bytes, to_kind));
    Ok(Copy3D { from, to, extent: [bytes, 1, 1] })
}
