//! Launches, as `<<<…>>>` makes them and by the API.

use crate::runtime::{ADD, MISSING, Runtime, STEP, TOTAL, both, of};
use std::ffi::c_void;

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim3(u32, u32, u32);

/// `cudaLaunchKernel`, and `__cudaLaunchKernel`, which takes a kernel of the driver.
type Launch = unsafe extern "C" fn(usize, Dim3, Dim3, *const *const c_void, usize, usize) -> u32;

fn launch(runtime: &Runtime, function: &str, kernel: usize, block: Dim3, parameters: (u64, u32)) -> u32 {
    let pointers = [(&raw const parameters.0).cast(), (&raw const parameters.1).cast()];
    let launch: Launch = runtime.get(function);
    // SAFETY: the kernel takes an address and a word.
    unsafe { launch(kernel, Dim3(1, 1, 1), block, pointers.as_ptr(), 0, 0) }
}

fn words(runtime: &Runtime, address: u64) -> [u32; 32] {
    let mut values = [0_u32; 32];
    let copy: unsafe extern "C" fn(*mut c_void, u64, usize, u32) -> u32 = runtime.get("cudaMemcpy");
    // SAFETY: both sides have 128 bytes.
    runtime.ok(unsafe { copy(values.as_mut_ptr().cast(), address, 128, 2) });
    values
}

fn from_symbol(runtime: &Runtime, symbol: usize) -> u32 {
    let mut value = 0;
    let copy: unsafe extern "C" fn(*mut u32, usize, usize, usize, u32) -> u32 = runtime.get("cudaMemcpyFromSymbol");
    // SAFETY: both sides have four bytes.
    runtime.ok(unsafe { copy(&mut value, symbol, 4, 0, 2) });
    value
}

#[test]
fn a_program_of_nvcc() {
    for runtime in both() {
        let mut address = 0_u64;
        runtime.ok(runtime.call("cudaMalloc", [&raw mut address as usize, 128, 0]));
        let step = 7_u32;
        let to: unsafe extern "C" fn(usize, *const u32, usize, usize, u32) -> u32 = runtime.get("cudaMemcpyToSymbol");
        // SAFETY: both sides have four bytes.
        runtime.ok(unsafe { to(of(&STEP), &step, 4, 0, 1) });
        // The host's code: configure, call the stub, which takes the configuration and launches.
        let push: unsafe extern "C" fn(Dim3, Dim3, usize, usize) -> u32 = runtime.get("__cudaPushCallConfiguration");
        let pop: unsafe extern "C" fn(&mut Dim3, &mut Dim3, &mut usize, &mut usize) -> u32 =
            runtime.get("__cudaPopCallConfiguration");
        let (mut grid, mut block, mut shared, mut stream) = (Dim3(0, 0, 0), Dim3(0, 0, 0), 1, 1);
        let before = from_symbol(runtime, of(&TOTAL));
        // SAFETY: the pointers are valid.
        unsafe {
            runtime.ok(push(Dim3(1, 1, 1), Dim3(16, 1, 1), 3, 0));
            runtime.ok(push(Dim3(1, 1, 1), Dim3(32, 1, 1), 0, 0));
            runtime.ok(pop(&mut grid, &mut block, &mut shared, &mut stream));
            assert_eq!((grid, block, shared, stream), (Dim3(1, 1, 1), Dim3(32, 1, 1), 0, 0));
            runtime.ok(pop(&mut grid, &mut block, &mut shared, &mut stream));
            assert_eq!((block, shared), (Dim3(16, 1, 1), 3));
            assert_eq!(
                runtime.name(pop(&mut grid, &mut block, &mut shared, &mut stream)),
                "cudaErrorMissingConfiguration"
            );
        }
        let mut kernel = 0_usize;
        runtime.ok(runtime.call("__cudaGetKernel", [&raw mut kernel as usize, of(&ADD), 0]));
        runtime.ok(launch(runtime, "__cudaLaunchKernel", kernel, Dim3(32, 1, 1), (address, 2)));
        runtime.ok(runtime.call("cudaDeviceSynchronize", [0; 3]));
        assert_eq!(words(runtime, address), [14; 32]);
        runtime.ok(launch(runtime, "cudaLaunchKernel_ptsz", of(&ADD), Dim3(32, 1, 1), (address, 3)));
        assert_eq!(words(runtime, address), [21; 32]);
        assert_eq!(from_symbol(runtime, of(&TOTAL)), before + 64);
        runtime.ok(runtime.call("cudaFree", [address as usize, 0, 0]));
    }
}

#[test]
fn what_cannot_be_launched() {
    for runtime in both() {
        let fails = |kernel: usize, block: Dim3| {
            runtime.name(launch(runtime, "cudaLaunchKernel", kernel, block, (0, 0))).to_owned()
        };
        let one = Dim3(1, 1, 1);
        assert_eq!(fails(of(&MISSING), one), "cudaErrorInvalidDeviceFunction");
        assert_eq!(fails(0, one), "cudaErrorInvalidDeviceFunction");
        assert_eq!(fails(16, one), "cudaErrorInvalidDeviceFunction");
        assert_eq!(fails(of(&ADD), Dim3(0, 1, 1)), "cudaErrorInvalidConfiguration");
        assert_eq!(fails(of(&ADD), Dim3(64, 32, 1)), "cudaErrorInvalidConfiguration");
        let (mut address, mut size) = (0_u64, 0_usize);
        let code = runtime.call("cudaGetSymbolAddress", [&raw mut address as usize, 16, 0]);
        assert_eq!(runtime.name(code), "cudaErrorInvalidSymbol");
        runtime.ok(runtime.call("cudaGetSymbolSize", [&raw mut size as usize, of(&STEP), 0]));
        assert_eq!(size, 4);
        assert_eq!(runtime.call("cudaGetSymbolSize", [0, of(&STEP), 0]), 1);
        assert_eq!(launch(runtime, "__cudaLaunchKernel", 0, one, (0, 0)), 1, "the error of the last call");
    }
}

#[test]
fn attributes_of_a_kernel() {
    for runtime in both() {
        let mut attributes = [0_u8; 144 + 8];
        attributes[144..].fill(0xab);
        runtime.ok(runtime.call("cudaFuncGetAttributes", [attributes.as_mut_ptr() as usize, of(&ADD), 0]));
        let word = |at: usize| i32::from_ne_bytes(attributes[at..][..4].try_into().expect("four bytes"));
        // maxThreadsPerBlock, ptxVersion.
        assert_eq!((word(24), word(32)), (1024, 80));
        assert_eq!(attributes[144..], [0xab; 8], "the structure has 144 bytes");
    }
}
