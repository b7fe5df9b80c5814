//! The driver's library: opened once, and its symbols looked up by name.

use crate::sys::CUresult;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

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
    /// With a zero byte at its end.
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// Creates a slot for the symbol `name`, which ends with a zero byte and is looked up on first use.
    pub const fn new(name: &'static str) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the symbol's address.
    ///
    /// # Errors
    /// The result that a call of the symbol returns instead.
    pub fn get(&self) -> Result<*mut c_void, CUresult> {
        // Relaxed suffices: every thread stores the same address, and the code there was loaded before.
        let address = self.address.load(Ordering::Relaxed);
        if !address.is_null() {
            return Ok(address);
        }
        let address = self.find()?;
        self.address.store(address, Ordering::Relaxed);
        Ok(address)
    }

    fn find(&self) -> Result<*mut c_void, CUresult> {
        let library = open().map_err(|_| CUresult::CUDA_ERROR_NO_DEVICE)?;
        // SAFETY: the symbol is kept as an address only; the code that calls it is responsible for its type.
        let symbol = unsafe { library.handle.get::<*mut c_void>(self.name.as_bytes()) };
        match symbol.map(|symbol| *symbol) {
            Ok(address) if !address.is_null() => Ok(address),
            _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    }
}
