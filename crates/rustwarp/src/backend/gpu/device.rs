//! The driver's list of GPUs, and what it says about each.

use super::errors::check;
use crate::backend::info::DeviceInfo;
use crate::error::Result;
use cuda_driver::{DriverInfo, sys};
use std::ffi::CStr;

/// Number of GPUs.
pub(super) fn count() -> Result<u32> {
    let mut count = 0;
    // SAFETY: the argument points to room for an int.
    check(unsafe { sys::cuDeviceGetCount(&mut count) }, || "counting the GPUs".into())?;
    Ok(count.unsigned_abs())
}

/// The GPU of this number, which is below [`count`].
pub(super) fn at(number: u32, attempt: impl Fn() -> String) -> Result<sys::CUdevice> {
    let mut device = 0;
    // SAFETY: the first argument points to room for a device.
    check(unsafe { sys::cuDeviceGet(&mut device, i32::try_from(number).unwrap_or(i32::MAX)) }, attempt)?;
    Ok(device)
}

/// Describes a GPU.
pub(super) fn describe(number: u32, device: sys::CUdevice, driver: &DriverInfo) -> Result<DeviceInfo> {
    let attempt = || format!("querying gpu:{number}");
    let get = |attribute| {
        let mut value = 0;
        // SAFETY: the first argument points to room for an int, and the driver returned the device.
        check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) }, attempt)?;
        Ok(value.unsigned_abs())
    };
    use sys::CUdevice_attribute as Attribute;
    // There are two transfers per clock; a newer driver that does not report the clock gives 0.
    let optional = |attribute| get(attribute).unwrap_or(0);
    let kilohertz = u64::from(optional(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
    let bits = u64::from(optional(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
    let peak = (2 * kilohertz * 1000 * bits / 8) as f64 / 1e9;
    let clock = optional(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    let [major, minor] = [
        get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ];
    Ok(DeviceInfo {
        device: format!("gpu:{number}"),
        name: name(device, attempt)?,
        sm: Some(major * 10 + minor),
        memory: memory(device, attempt)?,
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_shared: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2: u64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        peak_gbps: (peak > 0.0).then_some(peak),
        clock_mhz: (clock > 0).then(|| f64::from(clock) / 1e3),
        driver: Some(format!("CUDA {}.{} ({})", driver.cuda.0, driver.cuda.1, driver.library)),
    })
}

fn name(device: sys::CUdevice, attempt: impl Fn() -> String) -> Result<String> {
    let mut name = [0; 256];
    // SAFETY: the first argument points to room for as many characters as the second says.
    check(unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 256, device) }, attempt)?;
    // SAFETY: the driver has written a text that ends with a zero byte.
    Ok(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
}

fn memory(device: sys::CUdevice, attempt: impl Fn() -> String) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: the first argument points to room for a number.
    check(unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, device) }, attempt)?;
    Ok(bytes as u64)
}
