//! The CUDA driver API without a CUDA SDK or an installed driver: a program that uses this crate builds and starts on
//! any machine.
//!
//! [`load`] opens `libcuda.so.1` and starts it. [`sys`] has the driver's functions under their own names; each looks
//! its symbol up on first use. Without a driver, or with an old driver that lacks the symbol, the call returns an
//! ordinary CUDA error.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the CUDA driver exists for 64-bit systems only");

mod library;
pub mod nccl;
pub mod sys;

use std::ffi::CStr;

/// The driver that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// The name under which the library was found.
    pub library: String,
    /// Newest CUDA version that the driver supports, e.g. (13, 0). It bounds the PTX ISA version that the driver
    /// accepts.
    pub cuda: (u32, u32),
}

/// Why there is no usable driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// None of the candidate libraries could be opened.
    #[error("no NVIDIA driver: could not open {}", tried.join(", "))]
    NotFound {
        /// The names tried, each with the loader's reason.
        tried: Vec<String>,
    },
    /// The library was opened, but `cuInit` failed.
    #[error("the NVIDIA driver ({library}) does not start: {name} (error {code})")]
    Init {
        /// The name under which the library was found.
        library: String,
        /// The `CUresult`.
        code: u32,
        /// The driver's name for the code.
        name: String,
    },
}

/// Opens the driver, initialises it, and returns its name and version.
///
/// If `RUSTWARP_LIBCUDA` is set, only the library that it names is tried; else `libcuda.so.1`, then the path at which
/// WSL installs it.
///
/// # Errors
/// [`DriverError::NotFound`] with every name that was tried, or [`DriverError::Init`] if the driver does not start.
pub fn load() -> Result<DriverInfo, DriverError> {
    let library = library::open().map_err(|tried| DriverError::NotFound { tried: tried.to_vec() })?;
    // SAFETY: cuInit takes flags, which must be 0.
    let sys::CUresult(code) = unsafe { sys::cuInit(0) };
    if code != 0 {
        return Err(DriverError::Init { library: library.name.clone(), code, name: error_name(code) });
    }
    let mut version = 0_i32;
    // SAFETY: the argument points to room for one `int`.
    unsafe { sys::cuDriverGetVersion(&mut version) };
    let version = version.unsigned_abs();
    Ok(DriverInfo { library: library.name.clone(), cuda: (version / 1000, version % 1000 / 10) })
}

/// The driver's name for a `CUresult`, e.g. `CUDA_ERROR_INVALID_PTX`.
pub fn error_name(code: u32) -> String {
    let mut name: *const std::ffi::c_char = std::ptr::null();
    // SAFETY: the second argument points to room for one pointer.
    let result = unsafe { sys::cuGetErrorName(sys::CUresult(code), &mut name) };
    if result != sys::CUresult::CUDA_SUCCESS || name.is_null() {
        return format!("CUDA error {code}");
    }
    // SAFETY: on success the driver returns a static zero-terminated string.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a driver is installed; the expectations differ.
    fn present() -> bool {
        library::open().is_ok()
    }

    #[test]
    fn load_returns_with_and_without_a_driver() {
        match load() {
            Ok(info) => assert!(info.cuda.0 >= 11, "{info:?}"),
            Err(DriverError::NotFound { tried }) => {
                assert!(!present());
                assert!(tried[0].starts_with("libcuda.so.1 ("), "{tried:?}");
            }
            Err(DriverError::Init { code, .. }) => assert_ne!(code, 0),
        }
    }

    #[test]
    fn names_work_without_driver() {
        assert!(!error_name(100).is_empty());
    }
}
