//! Libraries of code that a program loads itself.

use crate::entry::Handle;
use crate::{driver, exported};
use std::ffi::{c_char, c_void};

exported! {
    cudaLibraryLoadData(
        library: *mut Handle, code: *const u8, options: *const u32, values: *const *mut c_void, count: u32,
        library_options: *const u32, library_values: *const *mut c_void, library_count: u32,
    ) {
        driver::cuLibraryLoadData(
            library, code, options, values, count, library_options, library_values, library_count,
        )
    }

    cudaLibraryLoadFromFile(
        library: *mut Handle, path: *const c_char, options: *const u32, values: *const *mut c_void, count: u32,
        library_options: *const u32, library_values: *const *mut c_void, library_count: u32,
    ) {
        driver::cuLibraryLoadFromFile(
            library, path, options, values, count, library_options, library_values, library_count,
        )
    }

    cudaLibraryUnload(library: Handle) { driver::cuLibraryUnload(library) }

    cudaLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) {
        driver::cuLibraryGetKernel(kernel, library, name)
    }

    cudaLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        driver::cuLibraryGetGlobal(address, bytes, library, name)
    }

    cudaLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        driver::cuLibraryGetManaged(address, bytes, library, name)
    }

    cudaLibraryGetKernelCount(count: *mut u32, library: Handle) { driver::cuLibraryGetKernelCount(count, library) }

    cudaLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle) {
        driver::cuLibraryEnumerateKernels(kernels, count, library)
    }
}
