//! Page-locked memory of the host.

use crate::entry::put;
use crate::{driver, exported};

exported! {
    cudaMallocHost(pointer: *mut u64, bytes: usize) {
        put(pointer, 0)?;
        if bytes == 0 { Ok(()) } else { driver::cuMemHostAlloc(pointer, bytes, 0) }
    }

    cudaHostAlloc(pointer: *mut u64, bytes: usize, flags: u32) {
        put(pointer, 0)?;
        if bytes == 0 { Ok(()) } else { driver::cuMemHostAlloc(pointer, bytes, flags) }
    }

    cudaFreeHost(pointer: u64) { if pointer == 0 { Ok(()) } else { driver::cuMemFreeHost(pointer) } }

    cudaHostRegister(pointer: u64, bytes: usize, flags: u32) { driver::cuMemHostRegister_v2(pointer, bytes, flags) }

    cudaHostUnregister(pointer: u64) { driver::cuMemHostUnregister(pointer) }

    cudaHostGetDevicePointer(address: *mut u64, pointer: u64, flags: u32) {
        driver::cuMemHostGetDevicePointer_v2(address, pointer, flags)
    }

    cudaHostGetFlags(flags: *mut u32, pointer: u64) { driver::cuMemHostGetFlags(flags, pointer) }
}
