//! Questions about addresses.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put};
use crate::model::Held;
use crate::state::{State, state};
use std::ffi::c_void;

/// Attributes of an address.
const CONTEXT: u32 = 1;
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const P2P_TOKENS: u32 = 5;
const SYNC_MEMOPS: u32 = 6;
const BUFFER_ID: u32 = 7;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
const IS_LEGACY_IPC: u32 = 10;
const RANGE_START: u32 = 11;
const RANGE_SIZE: u32 = 12;
const MAPPED: u32 = 13;
const ALLOWED_HANDLES: u32 = 14;
const IS_GPU_DIRECT: u32 = 15;
const ACCESS_FLAGS: u32 = 16;
const MEMPOOL: u32 = 17;
const MAPPING_SIZE: u32 = 18;
const MAPPING_START: u32 = 19;
const MEMORY_ID: u32 = 20;
const IS_DECOMPRESSED_BY_HARDWARE: u32 = 21;
const LOCALITY_DOMAIN: u32 = 22;

api! {
    cuPointerGetAttribute(data: *mut c_void, attribute: u32, address: u64) {
        let value = value(&*state()?, attribute, address)?.ok_or(Code::INVALID_VALUE)?;
        value.put(data)
    }

    cuPointerGetAttributes(count: u32, attributes: *const u32, data: *const *mut c_void, address: u64) {
        let state = state()?;
        for at in 0..count as usize {
            let (attribute, place) = (get(attributes.wrapping_add(at))?, get(data.wrapping_add(at))?);
            match value(&state, attribute, address)? {
                Some(value) => value.put(place)?,
                // An address that CUDA does not know has attributes without a value.
                None if attribute == DEVICE_ORDINAL => Value::Int(-2).put(place)?,
                None => empty(attribute).put(place)?,
            }
        }
        Ok(())
    }

    cuPointerSetAttribute(_value: *const c_void, attribute: u32, address: u64) {
        let known = state()?.block_at(address).is_some();
        // Copies are always complete when they return here.
        if known && attribute == SYNC_MEMOPS { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }
}

/// A value, by the size that the program reads.
#[derive(Clone, Copy)]
enum Value {
    Byte(u8),
    Int(i32),
    Long(u64),
}

impl Value {
    /// # Safety
    /// The pointer must be null or have room for the attribute.
    unsafe fn put(self, place: *mut c_void) -> Answer {
        // SAFETY: by contract.
        unsafe {
            match self {
                Self::Byte(value) => put(place.cast(), value),
                Self::Int(value) => put(place.cast(), value),
                Self::Long(value) => put(place.cast(), value),
            }
        }
    }
}

/// Tokens are for a module of the Linux kernel, and there is none.
fn no_tokens() -> Code {
    crate::log::unsupported("CU_POINTER_ATTRIBUTE_P2P_TOKENS")
}

/// The value of an attribute that an address does not have.
fn empty(attribute: u32) -> Value {
    match attribute {
        MEMORY_TYPE | ACCESS_FLAGS => Value::Int(0),
        LOCALITY_DOMAIN => Value::Int(-1),
        SYNC_MEMOPS | IS_MANAGED | IS_LEGACY_IPC | MAPPED | IS_GPU_DIRECT | IS_DECOMPRESSED_BY_HARDWARE => {
            Value::Byte(0)
        }
        _ => Value::Long(0),
    }
}

/// Returns an attribute of an address; `None` if the address is not the driver's, or lacks it.
fn value(state: &State, attribute: u32, address: u64) -> Answer<Option<Value>> {
    let device = state.device_of(address);
    let Some((start, block)) = state.block_at(address) else {
        // A module's variable.
        let range = device.and_then(|device| state.devices[device].machine.allocation(address));
        let (Some((start, bytes)), Some(device)) = (range, device) else { return Ok(None) };
        return Ok(Some(match attribute {
            MEMORY_TYPE => Value::Int(2),
            DEVICE_POINTER => Value::Long(address),
            DEVICE_ORDINAL => Value::Int(device as i32),
            RANGE_START | MAPPING_START => Value::Long(start),
            RANGE_SIZE | MAPPING_SIZE => Value::Long(bytes),
            ACCESS_FLAGS => Value::Int(3),
            HOST_POINTER => return Ok(None),
            P2P_TOKENS => return Err(no_tokens()),
            attribute if attribute > LOCALITY_DOMAIN => return Err(Code::INVALID_VALUE),
            MAPPED => Value::Byte(1),
            CONTEXT => Value::Long(state.devices[device].primary.unwrap_or(0) as u64),
            _ => empty(attribute),
        }));
    };
    let on_host = block.held.is_on_host();
    Ok(Some(match attribute {
        CONTEXT => Value::Long(block.context as u64),
        MEMORY_TYPE => Value::Int(if on_host && !block.held.is_managed() { 1 } else { 2 }),
        DEVICE_POINTER => Value::Long(address),
        HOST_POINTER if on_host => Value::Long(address),
        HOST_POINTER => return Ok(None),
        SYNC_MEMOPS => Value::Byte(1),
        BUFFER_ID | MEMORY_ID => Value::Long(block.id),
        IS_MANAGED => Value::Byte(u8::from(block.held.is_managed())),
        DEVICE_ORDINAL => Value::Int(block.device as i32),
        RANGE_START | MAPPING_START => Value::Long(start),
        RANGE_SIZE | MAPPING_SIZE => Value::Long(block.bytes),
        MAPPED => Value::Byte(1),
        ACCESS_FLAGS => Value::Int(3),
        MEMPOOL => match block.held {
            Held::Pool(pool) => Value::Long(pool as u64),
            _ => Value::Long(0),
        },
        IS_LEGACY_IPC | IS_GPU_DIRECT | IS_DECOMPRESSED_BY_HARDWARE | ALLOWED_HANDLES | LOCALITY_DOMAIN => {
            empty(attribute)
        }
        P2P_TOKENS => return Err(no_tokens()),
        _ => return Err(Code::INVALID_VALUE),
    }))
}
