//! Errors.

use crate::entry::last_error;
use crate::{code, driver};
use std::ffi::c_char;
use std::panic::catch_unwind;

/// The thread's last error, which this resets.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    last_error(true)
}

/// The thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    last_error(false)
}

/// The name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: u32) -> *const c_char {
    code::name(error).unwrap_or(c"unrecognized error code").as_ptr()
}

/// The description of an error: the driver's, if it has one.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: u32) -> *const c_char {
    let own = || code::text(error).or_else(|| code::name(error)).unwrap_or(c"unrecognized error code").as_ptr();
    catch_unwind(|| {
        let mut text = std::ptr::null();
        // SAFETY: the pointer is valid.
        let known = unsafe { driver::cuGetErrorString(error, &mut text) };
        if known.is_ok() && !text.is_null() { text } else { own() }
    })
    .unwrap_or_else(|_| own())
}
