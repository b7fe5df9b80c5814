//! The linker: PTX texts in, one text out, which modules and libraries take like any other.

use super::module::{compiler_options, read_file, write_log};
use crate::code::{Answer, Code};
use crate::entry::{api, name, put, put_if, put_made};
use crate::host_memory;
use crate::image::{limit_registers, link, logged, text, with_runtime};
use crate::model::{Handle, Linker};
use crate::state::state;
use std::ffi::{c_char, c_void};

/// Types of inputs: machine code, PTX, fat binary, object, library.
const CUBIN: u32 = 0;
const PTX: u32 = 1;
const FATBIN: u32 = 2;
const OBJECT: u32 = 3;
const LIBRARY: u32 = 4;

api! {
    cuLinkCreate_v2(count: u32, options: *const u32, values: *const *mut c_void, linker: *mut Handle) {
        let jit = compiler_options(count, options, values)?;
        put_made(linker, || {
            let mut state = state()?;
            let context = state.current()?;
            let new = state.handle();
            state.linkers.insert(new, Linker { context, texts: Vec::new(), output: None, runtime: false, jit });
            Ok(new)
        })
    }

    cuLinkAddData_v2(
        linker: Handle, kind: u32, data: *const u8, bytes: usize, _name: *const c_char, _count: u32,
        _options: *const u32, _values: *const *mut c_void,
    ) {
        if data.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let mut image = Vec::new();
        // One more than the image has, for the zero byte that follows it.
        image.try_reserve_exact(bytes.saturating_add(1)).map_err(|_| Code::OUT_OF_MEMORY)?;
        image.resize(bytes, 0);
        host_memory::read(data as u64, &mut image)?;
        add(linker, kind, image)
    }

    cuLinkAddFile_v2(
        linker: Handle, kind: u32, path: *const c_char, _count: u32, _options: *const u32, _values: *const *mut c_void,
    ) {
        add(linker, kind, read_file(&name(path)?)?)
    }

    cuLinkComplete(handle: Handle, output: *mut *const u8, bytes: *mut usize) {
        let mut state = state()?;
        let linker = state.linkers.get_mut(&handle).ok_or(Code::INVALID_HANDLE)?;
        let mut joined = link(&linker.texts);
        if linker.runtime {
            joined = with_runtime(joined);
        }
        if let Some(limit) = linker.jit.max_registers {
            joined = limit_registers(&joined, limit);
        }
        let mut image = joined.clone().into_bytes();
        image.push(0);
        let image = linker.output.insert(image.into_boxed_slice());
        put(output, image.as_ptr())?;
        put_if(bytes, image.len());
        let parsed = state.programs.parse(&joined);
        if let (Err(refused), Some(linker)) = (&parsed, state.linkers.get_mut(&handle)) {
            write_log(&refused.why, &mut linker.jit);
        }
        logged(parsed, "linking").map(|_| ())
    }

    cuLinkDestroy(linker: Handle) { state()?.linkers.remove(&linker).map(|_| ()).ok_or(Code::INVALID_HANDLE) }
}

fn add(linker: Handle, kind: u32, mut image: Vec<u8>) -> Answer {
    let mut state = state()?;
    let (major, minor) = state.settings.profile.compute_capability;
    let linker = state.linkers.get_mut(&linker).ok_or(Code::INVALID_HANDLE)?;
    image.push(0);
    let what = match kind {
        PTX | FATBIN => {
            // SAFETY: the image is a copy that ends with a zero byte.
            let text = unsafe { text(image.as_ptr(), image.len(), major * 10 + minor) };
            let text = logged(text, "adding code to a linker")?;
            linker.texts.push(text);
            return Ok(());
        }
        // The device runtime's library, of which there is one: what else a kernel calls of a library is missing when it
        // is launched.
        LIBRARY => {
            linker.runtime = true;
            return Ok(());
        }
        CUBIN => "machine code",
        OBJECT => "an object file",
        _ => "code of an unknown type",
    };
    let why = format!("cannot link {what}: the simulator's linker takes PTX and fat binaries that contain PTX");
    write_log(&why, &mut linker.jit);
    crate::log::line(&why);
    Err(Code::INVALID_IMAGE)
}
