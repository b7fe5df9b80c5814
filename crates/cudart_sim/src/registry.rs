//! The code that the program has registered: binaries, and the addresses in the host's code that stand for kernels and
//! variables. A binary is loaded when a symbol of it is first needed, one with managed variables at the first call.

use crate::code::{Answer, Code};
use crate::{driver, log};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A binary that the program has registered.
struct Binary {
    /// Address of the wrapper around the code.
    wrapper: usize,
    /// The driver's library, once it is loaded, or why it is not.
    library: Option<Answer<usize>>,
    /// Managed variables: where the host's code keeps the address, and the name.
    managed: Vec<(usize, CString)>,
    /// Whether the managed variables have their addresses.
    placed: bool,
}

/// A kernel or a variable: its binary, and its name there.
struct Symbol {
    binary: usize,
    name: CString,
}

#[derive(Default)]
struct Registry {
    /// The binaries, by handle.
    binaries: BTreeMap<usize, Binary>,
    last: usize,
    /// Whether a binary has managed variables without addresses.
    waiting: bool,
    kernels: BTreeMap<usize, Symbol>,
    variables: BTreeMap<usize, Symbol>,
    /// The driver's kernels, by address in the host's code.
    loaded: BTreeMap<usize, usize>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
        binaries: BTreeMap::new(),
        last: 0,
        waiting: false,
        kernels: BTreeMap::new(),
        variables: BTreeMap::new(),
        loaded: BTreeMap::new(),
    });
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a binary, by the address of its wrapper, and returns its handle.
pub fn add_binary(wrapper: usize) -> usize {
    let mut registry = registry();
    registry.last += 1;
    let handle = registry.last;
    registry.binaries.insert(handle, Binary { wrapper, library: None, managed: Vec::new(), placed: true });
    handle
}

/// Removes a binary and what is known of it.
pub fn remove_binary(binary: usize) {
    let mut registry = registry();
    let Some(removed) = registry.binaries.remove(&binary) else { return };
    let registry = &mut *registry;
    let loaded = &mut registry.loaded;
    registry.kernels.retain(|host, symbol| {
        symbol.binary != binary || {
            loaded.remove(host);
            false
        }
    });
    registry.variables.retain(|_, symbol| symbol.binary != binary);
    if let Some(Ok(library)) = removed.library {
        // SAFETY: the library was loaded by the driver. A driver that has ended has unloaded it.
        let _ = unsafe { driver::cuLibraryUnload(library) };
    }
}

/// Adds a kernel.
pub fn add_kernel(binary: usize, host: usize, name: &CStr) {
    registry().kernels.insert(host, Symbol { binary, name: name.to_owned() });
}

/// Adds a variable.
pub fn add_variable(binary: usize, host: usize, name: &CStr) {
    registry().variables.insert(host, Symbol { binary, name: name.to_owned() });
}

/// Adds a variable that host and device share; the host's code reads its address at `place`.
pub fn add_managed(binary: usize, place: usize, name: &CStr) {
    let mut registry = registry();
    registry.waiting = true;
    // The host's symbol of the variable is the place of its address.
    registry.variables.insert(place, Symbol { binary, name: name.to_owned() });
    if let Some(binary) = registry.binaries.get_mut(&binary) {
        binary.placed = false;
        binary.managed.push((place, name.to_owned()));
    }
}

impl Registry {
    /// Returns the driver's library of a binary, which is loaded if it is not yet.
    fn library(&mut self, binary: usize) -> Answer<usize> {
        let binary = self.binaries.get_mut(&binary).ok_or(Code::INVALID_HANDLE)?;
        let wrapper = binary.wrapper;
        *binary.library.get_or_insert_with(|| {
            let mut library = 0;
            let (none, no_values) = (std::ptr::null(), std::ptr::null());
            // SAFETY: the host's code registered the wrapper, which lives as long as it is registered.
            unsafe {
                driver::cuLibraryLoadData(&mut library, wrapper as *const u8, none, no_values, 0, none, no_values, 0)
            }
            .inspect_err(|Code(code)| {
                let name = crate::code::name(*code).map_or("?".into(), CStr::to_string_lossy);
                log::once(&format!("code of the program cannot be loaded: {name} (error {code})"));
            })?;
            Ok(library)
        })
    }
}

/// Loads the binaries with managed variables, and writes the variables' addresses to where the host's code reads them.
///
/// # Errors
/// Those of loading.
pub fn load_managed() -> Answer {
    let mut registry = registry();
    if !registry.waiting {
        return Ok(());
    }
    let waiting: Vec<usize> =
        registry.binaries.iter().filter(|(_, binary)| !binary.placed).map(|(handle, _)| *handle).collect();
    for handle in waiting {
        let library = registry.library(handle)?;
        let Registry { binaries, variables, .. } = &mut *registry;
        let Some(binary) = binaries.get_mut(&handle) else { continue };
        for (place, name) in &binary.managed {
            let (mut address, mut bytes) = (0, 0);
            // SAFETY: the pointers are valid, and the host's code registered the place for this write.
            unsafe {
                driver::cuLibraryGetManaged(&mut address, &mut bytes, library, name.as_ptr())?;
                (*place as *mut u64).write(address);
            }
            // In the host's code, `&variable` is the address itself.
            variables.insert(address as usize, Symbol { binary: handle, name: name.clone() });
        }
        binary.placed = true;
    }
    registry.waiting = false;
    Ok(())
}

/// Returns the driver's kernel for an address in the host's code; a kernel of the driver stands for itself.
///
/// # Errors
/// `INVALID_FUNCTION` if there is none; those of loading.
pub fn kernel(host: usize) -> Answer<usize> {
    let mut registry = registry();
    if let Some(kernel) = registry.loaded.get(&host) {
        return Ok(*kernel);
    }
    let Some(symbol) = registry.kernels.get(&host) else {
        let mut function = 0;
        // SAFETY: the driver looks the handle up.
        unsafe { driver::cuKernelGetFunction(&mut function, host) }.map_err(|_| Code::INVALID_FUNCTION)?;
        return Ok(host);
    };
    let (binary, name) = (symbol.binary, symbol.name.clone());
    let library = registry.library(binary)?;
    let mut kernel = 0;
    // SAFETY: the pointers are valid.
    unsafe { driver::cuLibraryGetKernel(&mut kernel, library, name.as_ptr()) }
        .map_err(|code| code.or(Code::NOT_FOUND, Code::INVALID_FUNCTION))?;
    registry.loaded.insert(host, kernel);
    Ok(kernel)
}

/// Returns address and size in bytes of the variable for an address in the host's code.
///
/// # Errors
/// `INVALID_SYMBOL` if there is none; those of loading.
pub fn variable(host: usize) -> Answer<(u64, usize)> {
    let mut registry = registry();
    let symbol = registry.variables.get(&host).ok_or(Code::INVALID_SYMBOL)?;
    let (binary, name) = (symbol.binary, symbol.name.clone());
    let library = registry.library(binary)?;
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the pointers are valid.
    unsafe { driver::cuLibraryGetGlobal(&mut address, &mut bytes, library, name.as_ptr()) }
        .map_err(|code| code.or(Code::NOT_FOUND, Code::INVALID_SYMBOL))?;
    Ok((address, bytes))
}
