//! Modules of the driver.

use super::errors::{check, explain_load};
use crate::error::{Error, Result};
use cuda_driver::sys;
use cuda_std::launch::Call;
use std::ffi::{CStr, CString, c_void};

/// A loaded module, which is unloaded on drop.
pub(super) struct Loaded {
    module: sys::CUmodule,
    /// The name for messages.
    pub name: String,
}

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Loaded {}

impl Loaded {
    /// Loads PTX text or a cubin into the current context, of a driver of this CUDA version.
    ///
    /// # Errors
    /// Those of [`Backend::load`](crate::backend::Backend::load).
    pub fn new(image: &[u8], name: &str, cuda: (u32, u32)) -> Result<Self> {
        // Text ends with a zero byte for the driver; a cubin has its length in its header.
        let mut text = image.to_vec();
        text.push(0);
        let mut log = vec![0_u8; 8192];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is complete, and each option has its value: a buffer that outlives the call, and its size.
        let result = unsafe {
            sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => Ok(Self { module, name: name.to_owned() }),
            sys::CUresult(code) => {
                let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
                Err(explain_load(code, &log, image, name, cuda))
            }
        }
    }

    /// Looks up an entry.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is none of this name.
    pub fn function(&self, entry: &str) -> Result<sys::CUfunction> {
        let none = || Error::Argument(format!("{} has no entry `{entry}`: see its .entry lines", self.name));
        let symbol = CString::new(entry).map_err(|_| none())?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle; the module is loaded, and the name ends with a zero.
        match unsafe { sys::cuModuleGetFunction(&mut function, self.module, symbol.as_ptr()) } {
            sys::CUresult::CUDA_ERROR_NOT_FOUND => Err(none()),
            other => {
                check(other, || format!("looking up `{entry}` in {}", self.name))?;
                Ok(function)
            }
        }
    }

    /// Checks that an entry has the parameters of the call: the driver reads as many bytes as the entry's parameters
    /// have. Drivers before CUDA 12.4 do not say.
    pub fn require_params(&self, function: sys::CUfunction, call: &Call<'_>) -> Result<()> {
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function belongs to this module, and the last arguments point to room for the results.
            match unsafe { sys::cuFuncGetParamInfo(function, sizes.len(), &mut offset, &mut size) } {
                sys::CUresult::CUDA_SUCCESS => sizes.push(size),
                // There are no more.
                sys::CUresult::CUDA_ERROR_INVALID_VALUE => break,
                sys::CUresult::CUDA_ERROR_NOT_SUPPORTED => return Ok(()),
                other => check(other, || format!("querying the parameters of `{}`", call.entry))?,
            }
        }
        if sizes.iter().copied().eq(call.params.iter().map(|bytes| bytes.len())) {
            return Ok(());
        }
        let passed: Vec<usize> = call.params.iter().map(|bytes| bytes.len()).collect();
        Err(Error::BadPtx(format!(
            "`{}` of {} has parameters of {sizes:?} bytes, and {passed:?} are passed: it was built from other sources; \
             build it again",
            call.entry, self.name
        )))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the module is not used again. An error here was left by an earlier launch, which has reported it.
        unsafe { sys::cuModuleUnload(self.module) };
    }
}
