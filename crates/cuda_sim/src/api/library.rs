//! Libraries, which are modules of all contexts, and their kernels.

use super::module::{compiler_options, entries, load_in, put_functions, put_global, read_file, unload};
use crate::code::Code;
use crate::entry::{api, name, put, put_if, put_made};
use crate::model::Handle;
use crate::state::state;
use std::ffi::{c_char, c_void};

api! {
    cuLibraryLoadData(
        library: *mut Handle, code: *const u8, options: *const u32, values: *const *mut c_void, count: u32,
        _library_options: *const u32, _library_values: *const *mut c_void, _library_count: u32,
    ) {
        let jit = compiler_options(count, options, values)?;
        put_made(library, || load_in(&mut *state()?, code, 0, jit))
    }

    cuLibraryLoadFromFile(
        library: *mut Handle, path: *const c_char, options: *const u32, values: *const *mut c_void, count: u32,
        _library_options: *const u32, _library_values: *const *mut c_void, _library_count: u32,
    ) {
        let image = read_file(&name(path)?)?;
        let jit = compiler_options(count, options, values)?;
        put_made(library, || load_in(&mut *state()?, image.as_ptr(), 0, jit))
    }

    cuLibraryUnload(library: Handle) {
        unload(library)
    }

    cuLibraryGetKernel(kernel: *mut Handle, library: Handle, entry: *const c_char) {
        let entry = name(entry)?;
        put(kernel, state()?.function_named(library, &entry)?)
    }

    cuLibraryGetModule(module: *mut Handle, library: Handle) {
        if !state()?.modules.contains_key(&library) {
            return Err(Code::INVALID_HANDLE);
        }
        put(module, library)
    }

    cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Handle, symbol: *const c_char) {
        put_global(address, bytes, library, symbol)
    }

    cuLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: Handle, symbol: *const c_char) {
        let (start, size) = state()?.managed(library, &name(symbol)?)?;
        put_if(address, start);
        put_if(bytes, size as usize);
        Ok(())
    }

    cuLibraryGetKernelCount(count: *mut u32, library: Handle) {
        put(count, entries(&*state()?, library)?.len() as u32)
    }

    cuLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle) {
        put_functions(kernels, count, library)
    }

    cuKernelGetFunction(function: *mut Handle, kernel: Handle) {
        if !state()?.functions.contains_key(&kernel) {
            return Err(Code::INVALID_HANDLE);
        }
        put(function, kernel)
    }

    cuKernelGetLibrary(library: *mut Handle, kernel: Handle) {
        put(library, state()?.functions.get(&kernel).ok_or(Code::INVALID_HANDLE)?.module)
    }
}
