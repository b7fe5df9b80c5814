//! Libraries that are opened once, and their symbols, which are looked up by name.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// An opened library. It is never closed, since both the driver and NCCL keep threads and state of their own.
pub(crate) struct Library {
    /// The name under which it was found.
    pub name: String,
    handle: libloading::Library,
}

/// Returns a library, or the names that were tried, each with the loader's reason.
pub(crate) type Open = fn() -> Result<&'static Library, &'static [String]>;

/// Returns the driver's library, which the first call opens.
///
/// # Errors
/// The names that were tried, each with the loader's reason.
pub(crate) fn open() -> Result<&'static Library, &'static [String]> {
    static LIBRARY: OnceLock<Result<Library, Vec<String>>> = OnceLock::new();
    // Under WSL the driver's folder may be missing from the loader's configuration; elsewhere it does not exist.
    let wsl = || {
        let path = Some("/usr/lib/wsl/lib/libcuda.so.1").filter(|path| std::path::Path::new(path).exists());
        ["libcuda.so.1"].into_iter().chain(path).map(str::to_owned).collect()
    };
    LIBRARY.get_or_init(|| search("RUSTWARP_LIBCUDA", wsl)).as_ref().map_err(Vec::as_slice)
}

/// Opens the library that the environment variable names, or else the first one with one of these names.
///
/// # Errors
/// The names that were tried, each with the loader's reason.
pub(crate) fn search(variable: &str, names: impl FnOnce() -> Vec<String>) -> Result<Library, Vec<String>> {
    let names = match std::env::var(variable) {
        Ok(name) if !name.is_empty() => vec![name],
        _ => names(),
    };
    let mut tried = Vec::new();
    for name in names {
        // SAFETY: the library's initialisers are meant to run when a program loads it; a library of another name is the
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

/// Why a function cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The library cannot be opened.
    Library,
    /// The library is too old to have the function.
    Symbol,
}

/// One symbol of a library, with its address once it has been looked up.
pub(crate) struct Slot {
    /// With a zero byte at its end.
    name: &'static str,
    open: Open,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// Creates a slot for the symbol `name`, which ends with a zero byte and is looked up on first use.
    pub const fn new(name: &'static str, open: Open) -> Self {
        Self { name, open, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the symbol's address.
    ///
    /// # Errors
    /// What is missing.
    pub fn get(&self) -> Result<*mut c_void, Missing> {
        // Relaxed suffices: every thread stores the same address, and the code there was loaded before.
        let address = self.address.load(Ordering::Relaxed);
        if !address.is_null() {
            return Ok(address);
        }
        let address = self.find()?;
        self.address.store(address, Ordering::Relaxed);
        Ok(address)
    }

    fn find(&self) -> Result<*mut c_void, Missing> {
        let library = (self.open)().map_err(|_| Missing::Library)?;
        // SAFETY: the symbol is kept as an address only; the code that calls it is responsible for its type.
        let symbol = unsafe { library.handle.get::<*mut c_void>(self.name.as_bytes()) };
        match symbol.map(|symbol| *symbol) {
            Ok(address) if !address.is_null() => Ok(address),
            _ => Err(Missing::Symbol),
        }
    }
}
