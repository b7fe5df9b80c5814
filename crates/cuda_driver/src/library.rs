//! Opening the driver's library once, and finding symbols in it.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `CUDA_ERROR_NO_DEVICE`: what every call returns when no driver is installed.
pub(crate) const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_NOT_SUPPORTED`: the driver lacks the symbol.
pub(crate) const NOT_SUPPORTED: u32 = 801;
/// `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: u32 = 999;

thread_local! {
    /// See [`crate::last_error`].
    pub(crate) static LAST_ERROR: Cell<u32> = const { Cell::new(0) };
}

/// The opened library. Never closed: the driver keeps threads and state of its own.
pub(crate) struct Library {
    /// The name that worked.
    pub name: String,
    handle: libloading::Library,
}

/// The library, opened on the first call; or the names tried, each with the loader's reason.
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
        // SAFETY: the driver's initialisers are made to run when a program loads it; a file of another name is the
        // user's choice.
        match unsafe { libloading::Library::new(&name) } {
            Ok(handle) => return Ok(Library { name, handle }),
            Err(error) => tried.push(format!("{name} ({})", reason(&error, &name))),
        }
    }
    Err(tried)
}

/// The loader's own words, without the file name that it puts in front.
fn reason(error: &libloading::Error, name: &str) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let text = source.unwrap_or_else(|| error.to_string());
    text.trim_start_matches(name)
        .trim_start_matches(": ")
        .trim_start_matches("cannot open shared object file: ")
        .to_owned()
}

/// One symbol of the driver: its address once it has been looked up.
pub(crate) struct Slot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// A symbol that nobody has looked up yet.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The symbol's address, or the `CUresult` to return instead of calling it.
    pub fn get(&self) -> Result<*mut c_void, u32> {
        // Relaxed: the address is the same whoever stores it, and the code behind it was there before.
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
        // SAFETY: the symbol is only kept as an address here; who calls it vouches for its type.
        let symbol = unsafe { library.handle.get::<*mut c_void>(self.name.to_bytes_with_nul()) };
        match symbol.map(|symbol| *symbol) {
            Ok(address) if !address.is_null() => Ok(address),
            _ => Err(NOT_SUPPORTED),
        }
    }
}

/// A `CUresult` that `cust_raw`'s enum has: the callers see the value as that enum, and a value that it lacks (from a
/// driver newer than its header) would be undefined behaviour. [`LAST_ERROR`] keeps the code as it was.
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
