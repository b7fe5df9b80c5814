//! Devices.

use crate::code::{Answer, Code};
use crate::entry::put;
use crate::{context, driver, exported};
use std::ffi::{c_char, c_void};

exported! {
    anywhere:
    cudaGetDeviceCount(count: *mut i32) {
        put(count, 0)?;
        context::start()?;
        driver::cuDeviceGetCount(count)
    }

    cudaGetDevice(device: *mut i32) { put(device, context::device()?) }

    cudaSetDevice(device: i32) { context::select(device) }

    cudaInitDevice(device: i32, flags: u32, _which: u32) {
        context::start()?;
        driver::cuDevicePrimaryCtxSetFlags_v2(device, flags)?;
        context::primary(device).map(|_| ())
    }

    cudaSetDeviceFlags(flags: u32) { driver::cuDevicePrimaryCtxSetFlags_v2(context::device()?, flags) }

    cudaDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32) {
        context::start()?;
        driver::cuDeviceGetAttribute(value, attribute, device)
    }

    cudaDeviceGetPCIBusId(text: *mut c_char, room: i32, device: i32) {
        context::start()?;
        driver::cuDeviceGetPCIBusId(text, room, device)
    }

    cudaDeviceGetByPCIBusId(device: *mut i32, text: *const c_char) {
        context::start()?;
        driver::cuDeviceGetByPCIBusId(device, text)
    }

    cudaDeviceReset() { context::reset() }

    cudaThreadExit() { context::reset() }

    cudaSetValidDevices(_devices: *const i32, _count: i32) { Ok(()) }

    cudaChooseDevice(device: *mut i32, _properties: *const c_void) { put(device, 0) }
}

exported! {
    cudaGetDeviceFlags(flags: *mut u32) { driver::cuCtxGetFlags(flags) }

    cudaDeviceSynchronize() { driver::cuCtxSynchronize() }

    cudaThreadSynchronize() { driver::cuCtxSynchronize() }

    cudaDeviceGetLimit(value: *mut usize, limit: u32) { driver::cuCtxGetLimit(value, limit) }

    cudaDeviceSetLimit(limit: u32, value: usize) { driver::cuCtxSetLimit(limit, value) }

    cudaDeviceGetCacheConfig(config: *mut u32) { driver::cuCtxGetCacheConfig(config) }

    cudaDeviceSetCacheConfig(config: u32) { driver::cuCtxSetCacheConfig(config) }

    cudaDeviceGetSharedMemConfig(config: *mut u32) { driver::cuCtxGetSharedMemConfig(config) }

    cudaDeviceSetSharedMemConfig(config: u32) { driver::cuCtxSetSharedMemConfig(config) }

    cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        driver::cuCtxGetStreamPriorityRange(least, greatest)
    }

    cudaCtxResetPersistingL2Cache() { driver::cuCtxResetPersistingL2Cache() }
}

/// What differs between the versions of the structure `cudaDeviceProp`.
#[derive(Clone, Copy)]
pub enum Layout {
    /// That of CUDA 11 and before, which ends early.
    Eleven,
    /// That of CUDA 12.
    Twelve,
    /// That of CUDA 13.
    Thirteen,
}

impl Layout {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Eleven => 712,
            Self::Twelve => 1032,
            Self::Thirteen => 1008,
        }
    }
}

/// Fields that are not attributes: text and identifiers, then the size of the memory in bytes.
const UUID: usize = 256;
const LUID: usize = 272;
const LUID_MASK: usize = 280;
const TOTAL_MEMORY: usize = 288;

/// Writes a device's properties.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device; `INVALID_VALUE` for a null pointer.
///
/// # Safety
/// A pointer that is not null must have room for the structure of this layout.
pub unsafe fn properties(layout: Layout, place: *mut u8, device: i32) -> Answer {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    context::start()?;
    let mut all = vec![0_u8; layout.size()];
    let start = all.as_mut_ptr();
    let (mut mask, mut memory) = (0, 0);
    // SAFETY: the places are inside the structure, of which the name has the first 256 bytes.
    unsafe {
        driver::cuDeviceGetName(start.cast(), UUID as i32, device)?;
        driver::cuDeviceGetUuid_v2(start.add(UUID), device)?;
        // Only devices of Windows have one.
        let _ = driver::cuDeviceGetLuid(start.add(LUID).cast(), &mut mask, device);
        driver::cuDeviceTotalMem_v2(&mut memory, device)?;
    }
    all[LUID_MASK..][..4].copy_from_slice(&mask.to_ne_bytes());
    all[TOTAL_MEMORY..][..8].copy_from_slice(&memory.to_ne_bytes());
    for (at, bytes, attribute) in fields(layout) {
        let mut value = 0;
        // SAFETY: the pointer is valid. An attribute that the driver lacks is 0.
        let _ = unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, device) };
        all[at..][..bytes].copy_from_slice(&i64::from(value).to_ne_bytes()[..bytes]);
    }
    // SAFETY: by contract.
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), place, all.len()) };
    Ok(())
}

/// The numbers that are attributes of a device: offset, size in bytes, attribute.
fn fields(layout: Layout) -> impl Iterator<Item = (usize, usize, u32)> {
    let rows = include_str!("properties.txt").lines().filter(|line| !line.starts_with('#'));
    rows.flat_map(move |row| {
        let columns: Vec<&str> = row.split(' ').collect();
        let column = if matches!(layout, Layout::Thirteen) { 2 } else { 1 };
        let bytes = columns[3].parse().unwrap_or(4);
        let start: Option<usize> = columns[column].parse().ok();
        let attributes = columns[4].split(',').filter_map(|attribute| attribute.parse().ok());
        let places = attributes.enumerate().filter_map(|(at, attribute)| Some((start? + at * bytes, bytes, attribute)));
        places.filter(|(at, bytes, _)| at + bytes <= layout.size()).collect::<Vec<_>>()
    })
}

exported! {
    cudaDeviceGetTexture1DLinearMaxWidth(width: *mut usize, channel: *const super::array::Channel, device: i32) {
        let (format, channels) = super::array::format(crate::entry::get(channel)?)?;
        driver::cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        for layout in [Layout::Eleven, Layout::Twelve, Layout::Thirteen] {
            let mut taken = vec![false; layout.size()];
            let mut count = 0;
            for (at, bytes, attribute) in fields(layout) {
                assert!(taken[at..at + bytes].iter().all(|taken| !taken), "{attribute} at {at}");
                taken[at..at + bytes].fill(true);
                count += 1;
            }
            assert!(count > 90, "{count}");
        }
    }
}
