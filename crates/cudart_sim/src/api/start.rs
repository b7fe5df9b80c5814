//! Versions, the driver's functions, and the profiler.

use crate::code::{Answer, Code};
use crate::entry::put;
use crate::{context, driver, exported};
use std::ffi::{c_char, c_void};

exported! {
    anywhere:
    cudaDriverGetVersion(version: *mut i32) {
        // Without a driver, the version is 0.
        put(version, 0)?;
        driver::cuDriverGetVersion(version).or(Ok(()))
    }
}

exported! {
    cudaGetDriverEntryPointByVersion(
        name: *const c_char, function: *mut *mut c_void, version: u32, flags: u64, status: *mut u32,
    ) or cudaGetDriverEntryPointByVersion_ptsz {
        find(name, function, version, flags, status)
    }

    cudaProfilerStart() { driver::cuProfilerStart() }

    cudaProfilerStop() { driver::cuProfilerStop() }
}

/// Looks a driver's function up. What is not found is no error: the status says so.
///
/// # Errors
/// `INVALID_VALUE` for null pointers.
///
/// # Safety
/// The name must be a zero-terminated string, the pointers null or valid for a write.
pub unsafe fn find(
    name: *const c_char,
    function: *mut *mut c_void,
    version: u32,
    flags: u64,
    status: *mut u32,
) -> Answer {
    context::start()?;
    let mut found = 1;
    // SAFETY: by contract.
    unsafe {
        let result = driver::cuGetProcAddress_v2(name, function, version as i32, flags, &mut found);
        if !status.is_null() {
            put(status, found)?;
        }
        match result {
            Err(Code::NOT_FOUND) => Ok(()),
            result => result,
        }
    }
}
