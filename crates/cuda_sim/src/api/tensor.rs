//! Tensor maps, in the simulator's encoding.

use crate::code::{Answer, Code};
use crate::entry::{api, get};
use crate::log;
use ptx_sim::TensorMap;
use ptx_sim::tensor::{BYTES, Element, RANK};

/// `CUtensorMap`.
#[repr(C, align(64))]
pub struct Map([u8; BYTES]);

/// The shape of a tensor and of its boxes, as the driver takes it.
struct Shape {
    element: u32,
    rank: u32,
    address: u64,
    sizes: *const u64,
    strides: *const u64,
    block: *const u32,
    steps: *const u32,
}

/// The rest of what the driver takes.
struct Layout {
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

api! {
    cuTensorMapEncodeTiled(
        map: *mut Map, element: u32, rank: u32, address: u64, sizes: *const u64, strides: *const u64,
        block: *const u32, steps: *const u32, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    ) {
        let shape = Shape { element, rank, address, sizes, strides, block, steps };
        write(map, tiled(&shape, &Layout { interleave, swizzle, promotion, fill })?)
    }

    cuTensorMapReplaceAddress(map: *mut Map, address: u64) {
        let bytes = get(place(map)?)?;
        let mut changed = TensorMap::decode(&bytes).ok_or(Code::INVALID_VALUE)?;
        if !address.is_multiple_of(16) {
            return Err(refused("the address is not a multiple of 16"));
        }
        changed.address = address;
        write(map, changed)
    }
}

/// The bytes of a map that may be one.
fn place(map: *mut Map) -> Answer<*mut [u8; BYTES]> {
    match map.is_null() || !map.is_aligned() {
        true => Err(refused("the map is not at a multiple of 64")),
        false => Ok(map.cast()),
    }
}

/// # Safety
/// A pointer that is not null must be valid for a write.
unsafe fn write(map: *mut Map, value: TensorMap) -> Answer {
    let bytes = place(map)?;
    // SAFETY: by contract; the pointer is neither null nor unaligned.
    unsafe { bytes.write(value.encode()) };
    Ok(())
}

/// Refuses an argument, and says why: the driver's code does not.
fn refused(why: &str) -> Code {
    log::once(&format!("{}: {why}", crate::entry::current_call()));
    Code::INVALID_VALUE
}

/// # Safety
/// The pointers that are not null have an element for each dimension, the strides one less.
unsafe fn tiled(shape: &Shape, layout: &Layout) -> Answer<TensorMap> {
    let rank = shape.rank as usize;
    if !(1..=RANK).contains(&rank) {
        return Err(refused("a tensor has 1 to 5 dimensions"));
    }
    if layout.interleave > 2 || layout.swizzle > 6 || layout.promotion > 3 || layout.fill > 1 || shape.element > 15 {
        return Err(Code::INVALID_VALUE);
    }
    let name = crate::entry::current_call();
    let missing = |what: &str| Err(log::unsupported(&format!("{name} with {what}")));
    let swizzle = match (layout.interleave, layout.swizzle) {
        (0, 0) => 0,
        (0, swizzle @ 1..=3) => 16 << swizzle,
        (0, _) => return missing("a swizzle of 32 or 64 bytes at a time"),
        _ => return missing("interleaving"),
    };
    let Some(element) = Element::of(shape.element) else { return missing("elements of 4 or 6 bits") };
    // SAFETY: by contract.
    let (sizes, strides, block, steps) = unsafe {
        (list(shape.sizes, rank)?, list(shape.strides, rank - 1)?, list(shape.block, rank)?, list(shape.steps, rank)?)
    };
    let map = TensorMap::tiled(element, shape.address, &sizes, &strides, &block, &steps, swizzle);
    let map = if layout.fill == 1 { map.and_then(TensorMap::filled_with_nan) } else { map };
    map.map_err(|error| refused(&error.to_string()))
}

/// Reads an array of the caller.
///
/// # Safety
/// A pointer that is not null has this number of elements.
unsafe fn list<T: Copy>(first: *const T, count: usize) -> Answer<Vec<T>> {
    // SAFETY: by contract; a null pointer ends the list at its first element.
    (0..count).map(|i| unsafe { get(if first.is_null() { first } else { first.add(i) }) }).collect()
}
