//! The CUDA driver API without a CUDA SDK and without a driver: a program that links this crate builds and starts on
//! any machine, and finds out at run time what there is.
//!
//! `cust` leaves the driver's `cu…` symbols to the linker. [`symbols`] defines each of them; the first call looks the
//! symbol up in `libcuda.so.1` and every call goes straight there. Without a driver, or in an old driver that lacks the
//! symbol, the call returns an ordinary CUDA error. [`load`] is for asking first: it says what was looked for, and
//! where.

#[cfg(not(all(target_pointer_width = "64", unix)))]
compile_error!("cuda_driver forwards calls through 64-bit integer registers: 64-bit Unix only");

mod library;
pub mod symbols;

use std::ffi::CStr;

/// The driver that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// The name under which the library was found.
    pub library: String,
    /// Newest CUDA version that the driver knows, e.g. (13, 0). Bounds the PTX ISA version that it accepts.
    pub cuda: (u32, u32),
}

/// Why there is no usable driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// No library of the names could be opened.
    #[error("no NVIDIA driver: could not open {}", tried.join(", "))]
    NotFound {
        /// Names, each with the loader's reason.
        tried: Vec<String>,
    },
    /// The library is there and refused to start.
    #[error("the NVIDIA driver ({library}) does not start: {name} (error {code})")]
    Init {
        /// The name under which the library was found.
        library: String,
        /// `CUresult`.
        code: u32,
        /// The driver's name for it.
        name: String,
    },
}

/// Opens the driver, initialises it, and says which it is.
///
/// Looks for the library that `RUSTWARP_LIBCUDA` names, when set, and nothing else; else for `libcuda.so.1`, then for
/// the place where WSL keeps it.
///
/// # Errors
/// [`DriverError`] with everything that was tried; nothing about the process changes then.
pub fn load() -> Result<DriverInfo, DriverError> {
    // Refers to every symbol, so that a linker that reads each archive once keeps them for crates it reads later.
    std::hint::black_box(symbols::TABLE);
    let library = library::open().map_err(|tried| DriverError::NotFound { tried: tried.to_vec() })?;
    // SAFETY: cuInit takes flags, which must be 0.
    let code = unsafe { symbols::cuInit(0) };
    if code != 0 {
        return Err(DriverError::Init { library: library.name.clone(), code, name: error_name(code) });
    }
    let mut version = 0_i32;
    // SAFETY: the argument is a valid place for one int.
    unsafe { symbols::cuDriverGetVersion((&raw mut version).cast()) };
    let version = version.unsigned_abs();
    Ok(DriverInfo { library: library.name.clone(), cuda: (version / 1000, version % 1000 / 10) })
}

/// The code that the last failing call on this thread returned, before codes that older headers don't know were folded
/// into `CUDA_ERROR_UNKNOWN`.
pub fn last_error() -> u32 {
    library::LAST_ERROR.get()
}

/// The driver's name for a `CUresult`, e.g. `CUDA_ERROR_INVALID_PTX`.
pub fn error_name(code: u32) -> String {
    let mut name: *const std::ffi::c_char = std::ptr::null();
    // SAFETY: the second argument is a valid place for one pointer.
    let result = unsafe { symbols::cuGetErrorName(code, (&raw mut name).cast()) };
    if result != 0 || name.is_null() {
        return format!("CUDA error {code}");
    }
    // SAFETY: on success the driver gives a static zero-terminated string.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True where a driver is installed; the expectations differ.
    fn present() -> bool {
        library::open().is_ok()
    }

    #[test]
    fn load_answers_either_way() {
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
    fn a_call_without_driver_is_an_ordinary_error() {
        if !present() {
            // SAFETY: cuInit takes flags, which must be 0.
            assert_eq!(unsafe { symbols::cuInit(0) }, library::NO_DEVICE);
            assert_eq!(last_error(), library::NO_DEVICE);
        }
    }

    #[test]
    fn names_work_without_driver() {
        assert!(!error_name(100).is_empty());
    }

    #[test]
    fn the_table_is_sorted_and_unique() {
        assert!(symbols::TABLE.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
