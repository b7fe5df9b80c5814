//! The runtime library as the loader gives it to a program, and a program's code as nvcc registers it.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

/// A library that cargo builds beside the tests.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program").with_file_name(name)
}

/// One of the two libraries, with the program's code registered.
pub struct Runtime {
    library: libloading::Library,
    pub version: i32,
}

/// Addresses that stand for kernels and variables, as functions and shadow variables of the host's code do.
pub static ADD: u8 = 0;
pub static MISSING: u8 = 0;
pub static STEP: u32 = 0;
pub static TOTAL: u32 = 0;

/// Where the host's code of each library keeps the address of a managed variable.
pub static SHARED: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Both libraries.
pub fn both() -> &'static [Runtime; 2] {
    static BOTH: OnceLock<[Runtime; 2]> = OnceLock::new();
    BOTH.get_or_init(|| {
        // The runtime opens `libcuda.so.1`, which is the name of this library.
        // SAFETY: its initialisers only set up the standard library.
        let driver = unsafe { libloading::Library::new(beside("libcuda_sim.so")) }.expect("the driver is built");
        std::mem::forget(driver);
        [12, 13].map(|version| {
            // SAFETY: as above.
            let library = unsafe { libloading::Library::new(beside(&format!("libcudart{version}_sim.so"))) };
            let runtime = Runtime { library: library.expect("the library is built with its tests"), version };
            runtime.register();
            runtime
        })
    })
}

/// The address of a static.
pub fn of<T>(place: &'static T) -> usize {
    std::ptr::from_ref(place) as usize
}

impl Runtime {
    /// A function of the library, as the type that the caller gives it.
    pub fn get<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the tests give each function the type of the header.
        *unsafe { self.library.get::<F>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Calls a function of up to three words.
    pub fn call(&self, name: &str, arguments: [usize; 3]) -> u32 {
        let function: unsafe extern "C" fn(usize, usize, usize) -> u32 = self.get(name);
        let [a, b, c] = arguments;
        // SAFETY: where a pointer is not valid, that is the test.
        unsafe { function(a, b, c) }
    }

    pub fn name(&self, code: u32) -> &str {
        let function: unsafe extern "C" fn(u32) -> *const c_char = self.get("cudaGetErrorName");
        // SAFETY: the names are static.
        unsafe { CStr::from_ptr(function(code)) }.to_str().expect("a name")
    }

    #[track_caller]
    pub fn ok(&self, code: u32) {
        assert_eq!(code, 0, "{} of CUDA {}", self.name(code), self.version);
    }

    /// Does before `main` what the host's code of nvcc does.
    fn register(&self) {
        let wrapper = Box::leak(Box::new(wrapper(include_str!("kernels.ptx"))));
        let binary: unsafe extern "C" fn(*const c_void) -> usize = self.get("__cudaRegisterFatBinary");
        let end: unsafe extern "C" fn(usize) = self.get("__cudaRegisterFatBinaryEnd");
        let kernel: unsafe extern "C" fn(usize, usize, usize, *const c_char, i32) = self.get("__cudaRegisterFunction");
        let variable: unsafe extern "C" fn(usize, usize, usize, *const c_char, i32) = self.get("__cudaRegisterVar");
        let managed: unsafe extern "C" fn(usize, usize, usize, *const c_char, i32) =
            self.get("__cudaRegisterManagedVar");
        // SAFETY: the wrapper and the names live as long as the program.
        unsafe {
            let handle = binary(std::ptr::from_mut(wrapper).cast());
            kernel(handle, of(&ADD), 0, c"add".as_ptr(), -1);
            kernel(handle, of(&MISSING), 0, c"missing".as_ptr(), -1);
            variable(handle, of(&STEP), 0, c"step".as_ptr(), 0);
            variable(handle, of(&TOTAL), 0, c"total".as_ptr(), 0);
            managed(handle, of(&SHARED[(self.version - 12) as usize]), 0, c"shared".as_ptr(), 0);
            end(handle);
        }
    }
}

/// The wrapper around a fat binary, `fatbinary_section.h`.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    other: *const u8,
}

/// A fat binary with one text, not compressed.
fn wrapper(text: &str) -> Wrapper {
    let mut payload = text.as_bytes().to_vec();
    payload.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut entry = vec![0_u8; 64];
    let mut put = |at: usize, bytes: &[u8]| entry[at..][..bytes.len()].copy_from_slice(bytes);
    // Kind PTX, version, size of this header, size of the text, version of the PTX, architecture.
    put(0, &1_u16.to_le_bytes());
    put(2, &0x101_u16.to_le_bytes());
    put(4, &64_u32.to_le_bytes());
    put(8, &(payload.len() as u64).to_le_bytes());
    put(26, &8_u16.to_le_bytes());
    put(28, &80_u32.to_le_bytes());
    let mut binary = Vec::new();
    binary.extend(0xBA55_ED50_u32.to_le_bytes());
    binary.extend(1_u16.to_le_bytes());
    binary.extend(16_u16.to_le_bytes());
    binary.extend(((entry.len() + payload.len()) as u64).to_le_bytes());
    binary.extend(entry);
    binary.extend(payload);
    Wrapper { magic: 0x4662_43B1, version: 1, data: binary.leak().as_ptr(), other: std::ptr::null() }
}
