//! Facts about addresses.

use crate::code::{Answer, Code};
use crate::driver;
use std::ffi::c_void;

/// `cudaPointerAttributes` of CUDA 12; that of CUDA 13 has 64 bytes more, which are 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Attributes {
    kind: u32,
    device: i32,
    device_address: u64,
    host_address: u64,
}

/// Attributes of the driver.
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const IS_MANAGED: u32 = 8;
const ORDINAL: u32 = 9;

/// Kinds of memory: of the host, of the device, of both.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const MANAGED: u32 = 3;

/// Returns what is known of an address; memory that no call has made is no error.
///
/// # Errors
/// The driver's.
pub fn attributes(address: u64) -> Answer<Attributes> {
    let mut kind = 0;
    // SAFETY: the value is an `unsigned int`.
    match unsafe { get(&mut kind, MEMORY_TYPE, address) } {
        Ok(()) => {}
        Err(Code::INVALID_VALUE) => {
            return Ok(Attributes { device: -2, host_address: address, ..Attributes::default() });
        }
        Err(code) => return Err(code),
    }
    let (mut managed, mut device, mut device_address, mut host_address) = (0_u32, 0_i32, 0_u64, 0_u64);
    // SAFETY: the values have the attributes' types. Memory of one side lacks the other's address.
    unsafe {
        let _ = get(&mut managed, IS_MANAGED, address);
        let _ = get(&mut device, ORDINAL, address);
        let _ = get(&mut device_address, DEVICE_POINTER, address);
        let _ = get(&mut host_address, HOST_POINTER, address);
    }
    let kind = match (managed & 0xff, kind) {
        (1, _) => MANAGED,
        (_, HOST) => HOST,
        _ => DEVICE,
    };
    Ok(Attributes { kind, device, device_address, host_address })
}

unsafe fn get<T>(value: &mut T, attribute: u32, address: u64) -> Answer {
    // SAFETY: the caller passes the attribute's type.
    unsafe { driver::cuPointerGetAttribute(std::ptr::from_mut(value).cast::<c_void>(), attribute, address) }
}
