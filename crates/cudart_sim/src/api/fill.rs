//! Filling memory.

use super::copy::Pitched;
use crate::code::{Answer, Code};
use crate::entry::{Handle, on};
use crate::{driver, exported};

exported! {
    cudaMemset(address: u64, value: i32, bytes: usize) or cudaMemset_ptds {
        driver::cuMemsetD8Async(address, value as u8, bytes, on(0))
    }

    cudaMemsetAsync(address: u64, value: i32, bytes: usize, stream: Handle) or cudaMemsetAsync_ptsz {
        driver::cuMemsetD8Async(address, value as u8, bytes, on(stream))
    }

    cudaMemset2D(address: u64, pitch: usize, value: i32, width: usize, height: usize) or cudaMemset2D_ptds {
        driver::cuMemsetD2D8Async(address, pitch, value as u8, width, height, on(0))
    }

    cudaMemset2DAsync(
        address: u64, pitch: usize, value: i32, width: usize, height: usize, stream: Handle,
    ) or cudaMemset2DAsync_ptsz {
        driver::cuMemsetD2D8Async(address, pitch, value as u8, width, height, on(stream))
    }

    cudaMemset3D(place: Pitched, value: i32, extent: Extent) or cudaMemset3D_ptds { solid(place, value, extent, 0) }

    cudaMemset3DAsync(place: Pitched, value: i32, extent: Extent, stream: Handle) or cudaMemset3DAsync_ptsz {
        solid(place, value, extent, stream)
    }
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    /// Width: bytes, or elements of an array.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Planes.
    pub depth: usize,
}

unsafe fn solid(place: Pitched, value: i32, extent: Extent, stream: Handle) -> Answer {
    let plane = place.pitch.checked_mul(place.height).ok_or(Code::INVALID_VALUE)?;
    for at in 0..extent.depth {
        let address = place.address + (at * plane) as u64;
        // SAFETY: the caller's memory.
        unsafe {
            driver::cuMemsetD2D8Async(address, place.pitch, value as u8, extent.width, extent.height, on(stream))?;
        }
    }
    Ok(())
}
