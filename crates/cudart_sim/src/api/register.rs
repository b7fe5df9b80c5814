//! What the host's code that nvcc makes calls before `main`, and at the program's end.

use crate::code::Code;
use crate::{context, exported, registry};
use std::ffi::{CStr, c_char, c_void};
use std::panic::catch_unwind;

/// Runs one of these functions, which have no result for an error.
fn run<T: Default>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> T {
    catch_unwind(work).unwrap_or_default()
}

/// Registers the wrapper around a program's code.
///
/// # Safety
/// The wrapper must live until it is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> usize {
    run(|| registry::add_binary(wrapper as usize))
}

/// Ends the registration of a program's code.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_binary: usize) {}

/// Unloads a program's code.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(binary: usize) {
    run(|| registry::remove_binary(binary));
}

/// Registers a kernel. The last arguments, limits of old compilers, are not used.
///
/// # Safety
/// The name must be a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    binary: usize,
    host: usize,
    _device: *const c_char,
    name: *const c_char,
) {
    if !name.is_null() {
        // SAFETY: by contract.
        let name = unsafe { CStr::from_ptr(name) };
        run(|| registry::add_kernel(binary, host, name));
    }
}

/// Registers a variable. The last arguments, its size and what it is, are the code's to say.
///
/// # Safety
/// The name must be a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(binary: usize, host: usize, _device: *const c_char, name: *const c_char) {
    if !name.is_null() {
        // SAFETY: by contract.
        let name = unsafe { CStr::from_ptr(name) };
        run(|| registry::add_variable(binary, host, name));
    }
}

/// Registers a variable that host and device share: the first call of the runtime writes its address to `place`.
///
/// # Safety
/// The name must be a zero-terminated string, and the place a pointer that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    binary: usize,
    place: usize,
    _device: *const c_char,
    name: *const c_char,
) {
    if !name.is_null() && place != 0 {
        // SAFETY: by contract.
        let name = unsafe { CStr::from_ptr(name) };
        run(|| registry::add_managed(binary, place, name));
    }
}

/// Gives the managed variables of a program's code their addresses; the host's code calls it before it reads one.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_binary: usize) -> c_char {
    c_char::from(run(|| context::current().is_ok()))
}

/// Texture references, which no compiler makes any more.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterTexture() {
    crate::log::once("__cudaRegisterTexture is not supported");
}

/// Surface references, which no compiler makes any more.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterSurface() {
    crate::log::once("__cudaRegisterSurface is not supported");
}

exported! {
    __cudaGetKernel(kernel: *mut usize, host: usize) {
        crate::entry::put(kernel, 0)?;
        crate::entry::put(kernel, registry::kernel(host)?)
    }
}

exported! {
    anywhere:
    cudaGetExportTable(_table: *mut *const c_void, _id: *const c_void) { Err(Code::INVALID_VALUE) }
}
