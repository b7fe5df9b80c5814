//! Memory of the device.

use super::copy::Pitched;
use super::fill::Extent;
use crate::code::{Answer, Code};
use crate::entry::{Handle, on, put};
use crate::{driver, exported};

/// Size in bytes that [`cudaMallocPitch`] assumes of an element.
const ELEMENT: u32 = 4;

exported! {
    cudaMalloc(address: *mut u64, bytes: usize) {
        put(address, 0)?;
        if bytes == 0 { Ok(()) } else { driver::cuMemAlloc_v2(address, bytes) }
    }

    cudaMallocManaged(address: *mut u64, bytes: usize, flags: u32) {
        driver::cuMemAllocManaged(address, bytes, flags)
    }

    cudaMallocPitch(address: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        allocate(address, pitch, width, height)
    }

    cudaMalloc3D(place: *mut Pitched, extent: Extent) {
        let Extent { width, height, depth } = extent;
        let (mut address, mut pitch) = (0, 0);
        allocate(&mut address, &mut pitch, width, height.checked_mul(depth).ok_or(Code::INVALID_VALUE)?)?;
        put(place, Pitched { address, pitch, width, height })
    }

    cudaFree(address: u64) { if address == 0 { Ok(()) } else { driver::cuMemFree_v2(address) } }

    cudaMallocAsync(address: *mut u64, bytes: usize, stream: Handle) or cudaMallocAsync_ptsz {
        put(address, 0)?;
        if bytes == 0 { Ok(()) } else { driver::cuMemAllocAsync(address, bytes, on(stream)) }
    }

    cudaMallocFromPoolAsync(
        address: *mut u64, bytes: usize, pool: Handle, stream: Handle,
    ) or cudaMallocFromPoolAsync_ptsz {
        driver::cuMemAllocFromPoolAsync(address, bytes, pool, on(stream))
    }

    cudaFreeAsync(address: u64, stream: Handle) or cudaFreeAsync_ptsz {
        if address == 0 { Ok(()) } else { driver::cuMemFreeAsync(address, on(stream)) }
    }

    cudaMemGetInfo(free: *mut usize, total: *mut usize) { driver::cuMemGetInfo_v2(free, total) }
}

unsafe fn allocate(address: *mut u64, pitch: *mut usize, width: usize, height: usize) -> Answer {
    // SAFETY: the caller's pointers.
    unsafe {
        put(address, 0)?;
        put(pitch, 0)?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        driver::cuMemAllocPitch_v2(address, pitch, width, height, ELEMENT)
    }
}
