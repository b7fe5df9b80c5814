//! Attributes of kernels.

use crate::code::{Answer, Code};
use crate::entry::{Handle, put};
use crate::{driver, exported, registry};
use std::ffi::c_char;

/// `cudaFuncAttributes`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode: i32,
    max_dynamic_shared: i32,
    carveout: i32,
    cluster_must_be_set: i32,
    cluster: [i32; 3],
    cluster_scheduling: i32,
    non_portable_cluster: i32,
    reserved: [i32; 16],
}

exported! {
    cudaFuncGetAttributes(attributes: *mut Attributes, host: Handle) {
        let function = function(host)?;
        // The numbers are those of `CUfunction_attribute`, whose order the structure has.
        let get = |attribute: u32| -> Answer<i32> {
            let mut value = 0;
            driver::cuFuncGetAttribute(&mut value, attribute, function)?;
            Ok(value)
        };
        let bytes = |attribute: u32| get(attribute).map(|value| usize::try_from(value).unwrap_or(0));
        put(attributes, Attributes {
            shared: bytes(1)?,
            constant: bytes(2)?,
            local: bytes(3)?,
            max_threads: get(0)?,
            registers: get(4)?,
            ptx_version: get(5)?,
            binary_version: get(6)?,
            cache_mode: get(7).unwrap_or(0),
            max_dynamic_shared: get(8)?,
            carveout: get(9)?,
            cluster_must_be_set: get(10)?,
            cluster: [get(11)?, get(12)?, get(13)?],
            non_portable_cluster: get(14)?,
            cluster_scheduling: get(15)?,
            reserved: [0; 16],
        })
    }

    cudaFuncSetAttribute(host: Handle, attribute: u32, value: i32) {
        driver::cuFuncSetAttribute(function(host)?, attribute, value)
    }

    cudaFuncSetCacheConfig(host: Handle, config: u32) { driver::cuFuncSetCacheConfig(function(host)?, config) }

    cudaFuncSetSharedMemConfig(host: Handle, config: u32) { driver::cuFuncSetSharedMemConfig(function(host)?, config) }

    cudaFuncGetName(name: *mut *const c_char, host: Handle) { driver::cuFuncGetName(name, function(host)?) }

    cudaFuncGetParamInfo(host: Handle, index: usize, offset: *mut usize, bytes: *mut usize) {
        driver::cuFuncGetParamInfo(function(host)?, index, offset, bytes)
    }

    cudaFuncGetParamCount(host: Handle, count: *mut usize) {
        let function = function(host)?;
        let (mut offset, mut bytes) = (0, 0);
        let exists = |index: &usize| driver::cuFuncGetParamInfo(function, *index, &mut offset, &mut bytes).is_ok();
        put(count, (0..).take_while(exists).count())
    }

    cudaGetFuncBySymbol(result: *mut Handle, host: Handle) { put(result, function(host)?) }

    cudaGetKernel(kernel: *mut Handle, host: Handle) { put(kernel, registry::kernel(host)?) }

    cudaKernelSetAttributeForDevice(kernel: Handle, attribute: u32, value: i32, device: i32) {
        driver::cuKernelSetAttribute(attribute, value, kernel, device)
    }
}

/// The driver's function for an address in the host's code.
///
/// # Errors
/// `INVALID_FUNCTION` if there is none; those of loading.
pub(super) fn function(host: Handle) -> Answer<Handle> {
    if host == 0 {
        return Err(Code::INVALID_FUNCTION);
    }
    let mut function = 0;
    // SAFETY: the pointer is valid.
    unsafe { driver::cuKernelGetFunction(&mut function, registry::kernel(host)?) }?;
    Ok(function)
}
