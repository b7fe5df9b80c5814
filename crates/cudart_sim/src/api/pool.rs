//! Pools of memory.

use crate::entry::Handle;
use crate::{driver, exported};
use std::ffi::c_void;

exported! {
    cudaDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) { driver::cuDeviceGetDefaultMemPool(pool, device) }

    cudaDeviceGetMemPool(pool: *mut Handle, device: i32) { driver::cuDeviceGetMemPool(pool, device) }

    cudaDeviceSetMemPool(device: i32, pool: Handle) { driver::cuDeviceSetMemPool(device, pool) }

    cudaMemPoolCreate(pool: *mut Handle, properties: *const c_void) { driver::cuMemPoolCreate(pool, properties) }

    cudaMemPoolDestroy(pool: Handle) { driver::cuMemPoolDestroy(pool) }

    cudaMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        driver::cuMemPoolGetAttribute(pool, attribute, value)
    }

    cudaMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        driver::cuMemPoolSetAttribute(pool, attribute, value)
    }

    cudaMemPoolTrimTo(pool: Handle, bytes: usize) { driver::cuMemPoolTrimTo(pool, bytes) }

    cudaMemPoolSetAccess(pool: Handle, descriptions: *const c_void, count: usize) {
        driver::cuMemPoolSetAccess(pool, descriptions, count)
    }

    cudaMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const c_void) {
        driver::cuMemPoolGetAccess(flags, pool, location)
    }
}
