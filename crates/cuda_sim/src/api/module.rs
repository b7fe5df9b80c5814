//! Modules.

use super::context::finish;
use crate::code::{Answer, Code};
use crate::entry::{api, get, name, put, put_if, put_made};
use crate::host_memory;
use crate::image::{Refused, limit_registers, logged, text};
use crate::model::{Handle, Jit};
use crate::state::{State, state};
use std::ffi::{c_char, c_void};

/// Options of the compiler: the limit on registers, where it writes errors, and the size of that buffer.
const MAX_REGISTERS: u32 = 0;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;
const INFO_LOG_SIZE: u32 = 4;

api! {
    cuModuleLoad(module: *mut Handle, path: *const c_char) {
        let image = read_file(&name(path)?)?;
        put_made(module, || load(image.as_ptr(), Jit::default()))
    }

    cuModuleLoadData(module: *mut Handle, image: *const u8) { put_made(module, || load(image, Jit::default())) }

    cuModuleLoadFatBinary(module: *mut Handle, image: *const u8) { put_made(module, || load(image, Jit::default())) }

    cuModuleLoadDataEx(
        module: *mut Handle, image: *const u8, count: u32, options: *const u32, values: *const *mut c_void,
    ) {
        let jit = compiler_options(count, options, values)?;
        put_made(module, || load(image, jit))
    }

    cuModuleUnload(module: Handle) {
        unload(module)
    }

    cuModuleGetLoadingMode(mode: *mut u32) { put(mode, 1) }

    cuModuleGetFunction(function: *mut Handle, module: Handle, entry: *const c_char) {
        let entry = name(entry)?;
        put(function, state()?.function_named(module, &entry)?)
    }

    cuModuleGetFunctionCount(count: *mut u32, module: Handle) { put(count, entries(&*state()?, module)?.len() as u32) }

    cuModuleEnumerateFunctions(functions: *mut Handle, count: u32, module: Handle) {
        put_functions(functions, count, module)
    }

    cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, symbol: *const c_char) {
        put_global(address, bytes, module, symbol)
    }
}

/// Unloads a module or library.
pub(super) fn unload(module: Handle) -> Answer {
    let guard = state()?;
    let context = guard.modules.get(&module).ok_or(Code::INVALID_HANDLE)?.context;
    // Work that runs its kernels ends first: that of its context, or of all for a library.
    finish(guard, context).unload(module);
    Ok(())
}

/// Writes address and size in bytes of a variable.
pub(super) unsafe fn put_global(address: *mut u64, bytes: *mut usize, module: Handle, symbol: *const c_char) -> Answer {
    // SAFETY: the caller's name and pointers.
    unsafe {
        let symbol = name(symbol)?;
        let (start, size) = state()?.global(module, &symbol)?;
        put_if(address, start);
        put_if(bytes, size as usize);
    }
    Ok(())
}

/// Reads a file and adds a zero byte, which ends a text.
pub(super) fn read_file(path: &str) -> Answer<Vec<u8>> {
    let mut image = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
    image.push(0);
    Ok(image)
}

unsafe fn load(image: *const u8, jit: Jit) -> Answer<Handle> {
    let mut state = state()?;
    let context = state.current()?;
    state.report.show_printed();
    // SAFETY: the caller's image.
    unsafe { load_in(&mut state, image, context, jit) }
}

/// Loads an image into a context, or into all for the handle 0.
///
/// # Errors
/// Those of [`text`] and of the parser, which are also written to the log.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn load_in(state: &mut State, image: *const u8, context: Handle, mut jit: Jit) -> Answer<Handle> {
    let (major, minor) = state.settings.profile.compute_capability;
    // SAFETY: by contract.
    let text = unsafe { text(image, usize::MAX, major * 10 + minor) };
    let text = text.map(|text| match jit.max_registers {
        Some(limit) => limit_registers(&text, limit),
        None => text,
    });
    let parsed = text.and_then(|text| state.programs.parse(&text));
    if let Err(Refused { why, .. }) = &parsed {
        write_log(why, &mut jit);
    }
    let program = logged(parsed, "loading a module")?;
    state.add_module(program, context)
}

/// Adds a message to the program's log, cut off where that ends, and writes how many bytes the log has.
pub(super) fn write_log(text: &str, jit: &mut Jit) {
    let room = jit.room.saturating_sub(jit.written + 1) as usize;
    if jit.address == 0 || jit.room == 0 {
        return;
    }
    let mut bytes = text.as_bytes()[..text.len().min(room)].to_vec();
    bytes.push(0);
    // A log that cannot be written is the program's mistake, and the result says what failed.
    if host_memory::write(jit.address + jit.written, &bytes).is_ok() {
        jit.written += bytes.len() as u64 - 1;
    }
    if jit.count != 0 {
        let _ = host_memory::write(jit.count, &jit.written.to_le_bytes());
    }
}

/// Returns the compiler's options.
pub(super) unsafe fn compiler_options(count: u32, options: *const u32, values: *const *mut c_void) -> Answer<Jit> {
    let mut jit = Jit::default();
    for at in 0..count as usize {
        let place = values.wrapping_add(at);
        // SAFETY: the caller's lists have `count` elements.
        let (option, value) = unsafe { (get(options.wrapping_add(at))?, get(place)?) };
        match option {
            // As below, an unsigned integer in the place of a pointer; 0 is no limit.
            MAX_REGISTERS => jit.max_registers = Some(value as u64 as u32).filter(|limit| *limit != 0),
            ERROR_LOG => jit.address = value as u64,
            // The value is an unsigned integer of 32 bits in the place of a pointer.
            ERROR_LOG_SIZE => (jit.room, jit.count) = (u64::from(value as u64 as u32), place as u64),
            _ => {}
        }
        if matches!(option, ERROR_LOG_SIZE | INFO_LOG_SIZE) {
            // On return the value is the number of bytes written; an unused log has none.
            // SAFETY: the list may be written, as documented.
            unsafe { put(place.cast_mut().cast::<u64>(), 0) }?;
        }
    }
    Ok(jit)
}

/// Returns the names of the kernels.
pub(super) fn entries(state: &State, module: Handle) -> Answer<Vec<String>> {
    let module = state.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
    Ok(module.program.entries().map(|entry| entry.name.clone()).collect())
}

/// Writes the handles of the first `count` kernels.
pub(super) unsafe fn put_functions(place: *mut Handle, count: u32, module: Handle) -> Answer {
    let mut state = state()?;
    for (at, name) in entries(&state, module)?.iter().take(count as usize).enumerate() {
        let function = state.function_named(module, name)?;
        // SAFETY: the caller's list has `count` elements.
        unsafe { put(place.wrapping_add(at), function) }?;
    }
    Ok(())
}
