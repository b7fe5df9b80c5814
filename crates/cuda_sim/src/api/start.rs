//! Initialisation, version, errors, and the lookup of functions.

use crate::code::{Code, describe};
use crate::entry::{api, put, put_if};
use crate::state::{initialise, state};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

/// The CUDA version of the driver.
const VERSION: i32 = 13_050;

/// Flag of `cuGetProcAddress`: functions whose stream 0 is the thread's own.
const PER_THREAD: u64 = 2;

/// The table that NVIDIA's runtime library, of any version since 11.8, asks for when it starts; NVIDIA's compilers ask
/// for others, and go on without them.
const RUNTIME_TABLE: [u8; 16] =
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9];

/// Results of a lookup: found, not found, or only in a newer version than asked for.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const TOO_OLD: u32 = 2;

api! {
    cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        initialise()
    }

    cuDriverGetVersion(version: *mut i32) { put(version, VERSION) }

    cuGetErrorName(error: u32, text: *mut *const c_char) { put_description(error, text, |(name, _)| name) }

    cuGetErrorString(error: u32, text: *mut *const c_char) { put_description(error, text, |(_, text)| text) }

    cuGetProcAddress(name: *const c_char, function: *mut *mut c_void, version: i32, flags: u64) {
        find(name, function, version, flags, std::ptr::null_mut())
    }

    cuGetProcAddress_v2(name: *const c_char, function: *mut *mut c_void, version: i32, flags: u64, status: *mut u32) {
        find(name, function, version, flags, status)
    }

    // NVIDIA's runtime library asks for tables that are not documented, among them an integrity check: see
    // docs/decisions/driver.md.
    cuGetExportTable(table: *mut *const c_void, id: *const c_void) {
        put_if(table, std::ptr::null());
        crate::log::unsupported("cuGetExportTable");
        if !id.is_null() && id.cast::<[u8; 16]>().read_unaligned() == RUNTIME_TABLE {
            // It may ask before `cuInit`.
            initialise()?;
            state()?.report.nvidia_runtime();
        }
        Err(Code::INVALID_VALUE)
    }

    cuProfilerStart() { state().map(|_| ()) }

    cuProfilerStop() { state().map(|_| ()) }

    cuProfilerInitialize(_config: *const c_char, _output: *const c_char, _mode: u32) {
        Err(crate::log::unsupported("cuProfilerInitialize"))
    }
}

unsafe fn put_description(
    error: u32,
    place: *mut *const c_char,
    part: impl FnOnce((&'static str, &'static str)) -> &'static str,
) -> crate::code::Answer {
    let Some(texts) = describe(error) else {
        // SAFETY: the caller's pointer.
        unsafe { put_if(place, std::ptr::null()) };
        return Err(Code::INVALID_VALUE);
    };
    // SAFETY: the caller's pointer; the texts end with zero bytes.
    unsafe { put(place, part(texts).as_ptr().cast()) }
}

/// One variant of a function: the version of CUDA that brought it, its symbol, and whether stream 0 is the thread's
/// own.
struct Variant {
    version: i32,
    address: *const (),
    per_thread: bool,
}

// SAFETY: the address of a function.
unsafe impl Sync for Variant {}
// SAFETY: as above.
unsafe impl Send for Variant {}

/// All variants, by name without suffix.
fn variants() -> &'static HashMap<&'static str, Vec<Variant>> {
    static VARIANTS: OnceLock<HashMap<&'static str, Vec<Variant>>> = OnceLock::new();
    VARIANTS.get_or_init(|| {
        let symbols: HashMap<&str, *const ()> =
            super::SYMBOLS.iter().copied().flatten().map(|symbol| (symbol.0, symbol.1)).collect();
        let mut all: HashMap<&str, Vec<Variant>> = HashMap::new();
        for line in include_str!("../functions.txt").lines() {
            let mut fields = line.split(' ');
            let (Some(name), Some(version), Some(symbol)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let (Ok(version), Some(address)) = (version.parse(), symbols.get(symbol)) else { continue };
            let per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
            all.entry(name).or_default().push(Variant { version, address: *address, per_thread });
        }
        all
    })
}

unsafe fn find(
    name: *const c_char,
    function: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut u32,
) -> crate::code::Answer {
    if name.is_null() || function.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller's name ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    let known = variants().get(name).map(Vec::as_slice).unwrap_or_default();
    let newest = |per_thread: bool| {
        let fitting = known.iter().filter(|variant| variant.version <= version && variant.per_thread == per_thread);
        fitting.max_by_key(|variant| variant.version)
    };
    let found = (flags & PER_THREAD != 0).then(|| newest(true)).flatten().or_else(|| newest(false));
    let result = match (found, known.is_empty()) {
        (Some(_), _) => FOUND,
        (None, true) => NOT_FOUND,
        (None, false) => TOO_OLD,
    };
    // SAFETY: the caller's pointers.
    unsafe {
        put_if(status, result);
        put(function, found.map_or(std::ptr::null_mut(), |variant| variant.address.cast_mut().cast()))?;
    }
    if found.is_some() { Ok(()) } else { Err(Code::NOT_FOUND) }
}
