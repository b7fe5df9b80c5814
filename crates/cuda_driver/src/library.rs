//! The driver's library: opened once, and its symbols looked up by name.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `CUDA_ERROR_NO_DEVICE`, which every call returns if no driver is installed.
pub(crate) const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_NOT_SUPPORTED`, which a call returns if the driver lacks its symbol.
pub(crate) const NOT_SUPPORTED: u32 = 801;
/// `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: u32 = 999;

thread_local! {
    /// The value of [`crate::last_error`].
    pub(crate) static LAST_ERROR: Cell<u32> = const { Cell::new(0) };
}

/// The opened library. It is never closed, since the driver keeps threads and state of its own.
pub(crate) struct Library {
    /// The name under which it was found.
    pub name: String,
    handle: libloading::Library,
}

/// Returns the library, which the first call opens.
///
/// # Errors
/// The names that were tried, each with the loader's reason.
pub(crate) fn open() -> Result<&'static Library, &'static [String]> {
    static LIBRARY: OnceLock<Result<Library, Vec<String>>> = OnceLock::new();
    LIBRARY.get_or_init(search).as_ref().map_err(Vec::as_slice)
}

fn search() -> Result<Library, Vec<String>> {
    let names = match std::env::var("RUSTWARP_LIBCUDA") {
        Ok(name) if !name.is_empty() => vec![name],
        _ => {
            // Under WSL the driver's folder may be missing from the loader's configuration; elsewhere it does not
            // exist.
            let wsl =
                Some("/usr/lib/wsl/lib/libcuda.so.1".to_owned()).filter(|path| std::path::Path::new(path).exists());
            ["libcuda.so.1".to_owned()].into_iter().chain(wsl).collect()
        }
    };
    let mut tried = Vec::new();
    for name in names {
        // SAFETY: the driver's initialisers are meant to run when a program loads it; a library of another name is the
        // user's choice.
        match unsafe { libloading::Library::new(&name) } {
            Ok(handle) => return Ok(Library { name, handle }),
            Err(error) => tried.push(format!("{name} ({})", reason(&error, &name))),
        }
    }
    Err(tried)
}

/// The loader's message, without the file name at its start.
fn reason(error: &libloading::Error, name: &str) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let text = source.unwrap_or_else(|| error.to_string());
    text.trim_start_matches(name)
        .trim_start_matches(": ")
        .trim_start_matches("cannot open shared object file: ")
        .to_owned()
}

/// One symbol of the driver, with its address once it has been looked up.
pub(crate) struct Slot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// Creates a slot for the symbol `name`, which is looked up on first use.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the symbol's address.
    ///
    /// # Errors
    /// The `CUresult` that a call of the symbol returns instead.
    pub fn get(&self) -> Result<*mut c_void, u32> {
        // Relaxed suffices: every thread stores the same address, and the code there was loaded before.
        let address = self.address.load(Ordering::Relaxed);
        if !address.is_null() {
            return Ok(address);
        }
        let address = self.find().inspect_err(|&code| LAST_ERROR.set(code))?;
        self.address.store(address, Ordering::Relaxed);
        Ok(address)
    }

    fn find(&self) -> Result<*mut c_void, u32> {
        let library = open().map_err(|_| NO_DEVICE)?;
        // SAFETY: the symbol is kept as an address only; the code that calls it is responsible for its type.
        let symbol = unsafe { library.handle.get::<*mut c_void>(self.name.to_bytes_with_nul()) };
        match symbol.map(|symbol| *symbol) {
            Ok(address) if !address.is_null() => Ok(address),
            _ => Err(NOT_SUPPORTED),
        }
    }
}

/// Maps `code` to a `CUresult` that `cust_raw`'s enum has. Callers read the value as that enum, so one that it lacks
/// (from a driver newer than its header) would be undefined behaviour. [`LAST_ERROR`] keeps the original code.
pub(crate) fn known(code: u32) -> u32 {
    if code == 0 {
        return 0;
    }
    LAST_ERROR.set(code);
    let known = matches!(
        code,
        1..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600 | 700..=705 | 708..=720
            | 800..=809 | 900..=911
    );
    if known { code } else { UNKNOWN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_newer_drivers_become_unknown() {
        assert_eq!(known(0), 0);
        assert_eq!(known(218), 218);
        assert_eq!(known(226), UNKNOWN);
        assert_eq!(LAST_ERROR.get(), 226);
        assert_eq!(known(912), UNKNOWN);
    }
}
