//! Memory and copies.

use crate::runtime::{SHARED, both};
use std::sync::atomic::Ordering;

type Copy = unsafe extern "C" fn(usize, usize, usize, u32) -> u32;
type Plane = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, u32) -> u32;

#[test]
fn directions_of_copies() {
    for runtime in both() {
        let copy: Copy = runtime.get("cudaMemcpy");
        let mut address = 0_usize;
        runtime.ok(runtime.call("cudaMalloc", [&raw mut address as usize, 64, 0]));
        let (from, mut to) = ([7_u8; 64], [0_u8; 64]);
        let (from, back) = (from.as_ptr() as usize, to.as_mut_ptr() as usize);
        // SAFETY: all sides have 64 bytes; where a pointer is not valid, that is the test.
        unsafe {
            runtime.ok(copy(address, from, 64, 1));
            runtime.ok(copy(back, address, 64, 4));
            assert_eq!(runtime.name(copy(back, address, 64, 9)), "cudaErrorInvalidMemcpyDirection");
            assert_eq!(runtime.name(copy(address, 8, 64, 1)), "cudaErrorInvalidValue");
            assert_eq!(runtime.name(copy(8, address, 64, 2)), "cudaErrorInvalidValue");
            runtime.ok(copy(0, 0, 0, 1));
        }
        assert_eq!(to, [7; 64]);
        assert_eq!(runtime.call("cudaFree", [8, 0, 0]), 1);
        runtime.ok(runtime.call("cudaFree", [address, 0, 0]));
        runtime.ok(runtime.call("cudaFree", [0; 3]));
        assert_eq!(runtime.call("cudaMalloc", [0, 64, 0]), 1);
    }
}

#[test]
fn rows_with_a_pitch() {
    for runtime in both() {
        let copy: Plane = runtime.get("cudaMemcpy2D");
        let allocate: unsafe extern "C" fn(*mut usize, *mut usize, usize, usize) -> u32 =
            runtime.get("cudaMallocPitch");
        let (mut address, mut pitch) = (0, 0);
        let from: Vec<u8> = (0..30).collect();
        let mut to = vec![0_u8; 30];
        // SAFETY: the host's sides have three rows of ten bytes.
        unsafe {
            runtime.ok(allocate(&mut address, &mut pitch, 10, 3));
            assert!(pitch > 10, "{pitch}");
            runtime.ok(copy(address, pitch, from.as_ptr() as usize, 10, 10, 3, 1));
            runtime.ok(copy(to.as_mut_ptr() as usize, 10, address, pitch, 10, 3, 2));
            assert_eq!(
                runtime.name(copy(address, 9, from.as_ptr() as usize, 10, 10, 3, 1)),
                "cudaErrorInvalidPitchValue"
            );
        }
        assert_eq!(from, to);
    }
}

#[test]
fn what_an_address_is() {
    for runtime in both() {
        let (mut device, mut pinned, local) = (0_usize, 0_usize, 5_u32);
        runtime.ok(runtime.call("cudaMalloc", [&raw mut device as usize, 64, 0]));
        runtime.ok(runtime.call("cudaMallocHost", [&raw mut pinned as usize, 64, 0]));
        for (address, kind) in [(&raw const local as usize, 0), (pinned, 1), (device, 2)] {
            let mut attributes = [0xab_u8; 96];
            runtime.ok(runtime.call("cudaPointerGetAttributes", [attributes.as_mut_ptr() as usize, address, 0]));
            assert_eq!(attributes[0], kind);
            // The structure has 24 bytes in CUDA 12, and 88 in CUDA 13.
            let size = if runtime.version == 12 { 24 } else { 88 };
            assert!(attributes[size..].iter().all(|byte| *byte == 0xab), "{}", runtime.version);
        }
    }
}

#[test]
fn a_managed_variable_has_its_address() {
    for (runtime, place) in both().iter().zip(&SHARED) {
        runtime.ok(runtime.call("cudaFree", [0; 3]));
        let address = place.load(Ordering::Relaxed);
        assert_ne!(address, 0);
        // SAFETY: the library has placed the variable there for as long as the program runs.
        assert_eq!(unsafe { (address as *const u32).read_volatile() }, 21);
        let (mut found, mut size) = (0_usize, 0_usize);
        runtime.ok(runtime.call("cudaGetSymbolAddress", [&raw mut found as usize, address, 0]));
        runtime.ok(runtime.call("cudaGetSymbolSize", [&raw mut size as usize, address, 0]));
        assert_eq!((found, size), (address, 4));
    }
}
