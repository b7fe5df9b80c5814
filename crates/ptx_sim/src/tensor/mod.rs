//! Tensor maps: the shape of a tensor in global memory and of the boxes that `cp.async.bulk.tensor` copies.
//!
//! A map occupies 128 bytes; `encoding` has their meaning.

mod encoding;
mod tile;

pub(crate) use encoding::{Field, Fields};
pub(crate) use tile::Tile;

use std::fmt;

/// Largest number of dimensions.
pub const RANK: usize = 5;
/// Number of bytes of an encoded map.
pub const BYTES: usize = 128;
/// The first bytes of an encoded map.
pub const MAGIC: [u8; 8] = *b"SIMTMAP1";

/// A tensor map for boxes (`cuTensorMapEncodeTiled`), without interleaving. Dimensions are counted from the contiguous
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorMap {
    /// Address of the first element.
    pub address: u64,
    /// Type of the elements.
    pub element: Element,
    /// Number of dimensions, 1 to 5.
    pub rank: usize,
    /// Number of elements of each dimension.
    pub sizes: [u64; RANK],
    /// Bytes between neighbours of each dimension; the first is the size of an element.
    pub strides: [u64; RANK],
    /// Number of elements of the box, counted before steps, in each dimension.
    pub block: [u32; RANK],
    /// Step between the copied elements of each dimension; ignored in the first.
    pub steps: [u32; RANK],
    /// Chunks of 16 bytes of a swizzled row: 1 (none), 2, 4 or 8.
    pub swizzle: u64,
    /// Whether elements outside of the tensor are NaN, and not zero.
    pub nan: bool,
}

/// Type of a tensor's elements, with the numbers of `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    /// `f32` whose subnormal numbers are flushed.
    F32Ftz,
    Tf32,
    /// `tf32` whose subnormal numbers are flushed.
    Tf32Ftz,
}

const ELEMENTS: [(Element, u64, &str); 13] = [
    (Element::U8, 1, "u8"),
    (Element::U16, 2, "u16"),
    (Element::U32, 4, "u32"),
    (Element::S32, 4, "s32"),
    (Element::U64, 8, "u64"),
    (Element::S64, 8, "s64"),
    (Element::F16, 2, "f16"),
    (Element::F32, 4, "f32"),
    (Element::F64, 8, "f64"),
    (Element::Bf16, 2, "bf16"),
    (Element::F32Ftz, 4, "f32"),
    (Element::Tf32, 4, "f32"),
    (Element::Tf32Ftz, 4, "f32"),
];

impl Element {
    /// Returns the element with a number of `CUtensorMapDataType`.
    pub fn of(number: u32) -> Option<Self> {
        ELEMENTS.get(number as usize).map(|(element, ..)| *element)
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        ELEMENTS[self as usize].1
    }

    /// Returns PTX's name of the type that reductions use.
    pub(crate) fn name(self) -> &'static str {
        ELEMENTS[self as usize].2
    }

    fn is_float(self) -> bool {
        self as usize >= Element::F16 as usize
    }
}

/// Why a tensor map cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError(String);

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot make a tensor map: {}", self.0)
    }
}

impl std::error::Error for MapError {}

impl TensorMap {
    /// Makes the map of a tensor, under the driver's rules. The lengths of `sizes`, `block` and, if not empty, `steps`
    /// are the number of dimensions, and `strides` has one less; `swizzle` is the number of bytes, 0 for none.
    ///
    /// # Errors
    /// [`MapError`] states the rule that is not kept.
    pub fn tiled(
        element: Element,
        address: u64,
        sizes: &[u64],
        strides: &[u64],
        block: &[u32],
        steps: &[u32],
        swizzle: u64,
    ) -> Result<Self, MapError> {
        let rank = sizes.len();
        let fail = |text: String| Err(MapError(text));
        if !(1..=RANK).contains(&rank) || strides.len() + 1 != rank || block.len() != rank {
            return fail(format!("{rank} sizes, {} strides and a box of {}", strides.len(), block.len()));
        }
        if !steps.is_empty() && steps.len() != rank {
            return fail(format!("{} steps for {rank} dimensions", steps.len()));
        }
        if !address.is_multiple_of(16) {
            return fail(format!("the address {address:#x} is not a multiple of 16"));
        }
        if let Some(size) = sizes.iter().find(|size| **size == 0 || **size > 1 << 32) {
            return fail(format!("a dimension of {size} elements: 1 to 2^32 are possible"));
        }
        if let Some(stride) = strides.iter().find(|stride| !stride.is_multiple_of(16) || **stride >= 1 << 40) {
            return fail(format!("a stride of {stride} bytes: multiples of 16 below 2^40 are possible"));
        }
        if let Some(size) = block.iter().find(|size| !(1..=256).contains(*size)) {
            return fail(format!("a box of {size} elements in a dimension: 1 to 256 are possible"));
        }
        if let Some(step) = steps.iter().find(|step| !(1..=8).contains(*step)) {
            return fail(format!("a step of {step} elements: 1 to 8 are possible"));
        }
        let row = u64::from(block[0]) * element.bytes();
        if !row.is_multiple_of(16) {
            return fail(format!("rows of the box have {row} bytes, which is not a multiple of 16"));
        }
        let width = match swizzle {
            0 => 1,
            32 | 64 | 128 if row <= swizzle => swizzle / 16,
            32 | 64 | 128 => {
                return fail(format!("rows of the box have {row} bytes, more than the swizzle's {swizzle}"));
            }
            other => return fail(format!("a swizzle of {other} bytes")),
        };
        let mut map = Self {
            address,
            element,
            rank,
            sizes: [1; RANK],
            strides: [0; RANK],
            block: [1; RANK],
            steps: [1; RANK],
            swizzle: width,
            nan: false,
        };
        map.sizes[..rank].copy_from_slice(sizes);
        map.strides[0] = element.bytes();
        map.strides[1..rank].copy_from_slice(strides);
        map.block[..rank].copy_from_slice(block);
        map.steps[..steps.len()].copy_from_slice(steps);
        Ok(map)
    }

    /// Returns the map with NaN outside of the tensor.
    ///
    /// # Errors
    /// [`MapError`] if the elements are integers.
    pub fn filled_with_nan(self) -> Result<Self, MapError> {
        match self.element.is_float() {
            true => Ok(Self { nan: true, ..self }),
            false => Err(MapError("integers cannot be filled with NaN".to_owned())),
        }
    }

    /// Returns the map's 128 bytes.
    pub fn encode(&self) -> [u8; BYTES] {
        Fields::of_map(self).bytes()
    }

    /// Returns the map that was encoded; `None` for other bytes.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        Fields::of_bytes(bytes)?.map().ok()
    }

    /// Returns the number of elements of the box in each dimension, after steps.
    pub(crate) fn counts(&self) -> [u64; RANK] {
        std::array::from_fn(
            |i| if i == 0 { self.block[0].into() } else { self.block[i].div_ceil(self.steps[i]).into() },
        )
    }

    /// Returns the number of bytes of a box.
    pub(crate) fn box_bytes(&self) -> u64 {
        self.counts().iter().product::<u64>() * self.element.bytes()
    }

    /// Returns the number of bytes of a row of the box.
    pub(crate) fn row_bytes(&self) -> u64 {
        u64::from(self.block[0]) * self.element.bytes()
    }

    /// Returns the distance of two rows of the box in shared memory: swizzled rows are as far apart as the swizzle is
    /// wide, also where they are shorter. (Observed on an H200.)
    pub(crate) fn pitch(&self) -> u64 {
        if self.swizzle > 1 { 16 * self.swizzle } else { self.row_bytes() }
    }

    /// Returns the number of bytes of shared memory from the first row of a box to the end of the last.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.counts()[1..].iter().product::<u64>() * self.pitch()
    }

    /// Calls `row` for each contiguous row of the box at `start` that has elements of the tensor: offset in the box,
    /// address, and number of bytes.
    pub(crate) fn rows(&self, start: [i32; RANK], mut row: impl FnMut(u64, u64, u64)) {
        let counts = self.counts();
        let bytes = self.element.bytes();
        let first = i64::from(start[0]);
        let low = first.clamp(0, self.sizes[0] as i64);
        let high = (first + counts[0] as i64).clamp(0, self.sizes[0] as i64);
        if low >= high {
            return;
        }
        for line in 0..counts[1..].iter().product::<u64>() {
            let (mut rest, mut address, mut inside) = (line, self.address, true);
            for i in 1..RANK {
                let place = i64::from(start[i]) + (rest % counts[i] * u64::from(self.steps[i])) as i64;
                rest /= counts[i];
                inside &= (0..self.sizes[i] as i64).contains(&place);
                address = address.wrapping_add((place as u64).wrapping_mul(self.strides[i]));
            }
            if inside {
                let offset = (line * counts[0] + (low - first) as u64) * bytes;
                row(offset, address + low as u64 * bytes, (high - low) as u64 * bytes);
            }
        }
    }

    /// Returns the bits of an element outside of the tensor.
    pub(crate) fn fill(&self) -> u64 {
        match (self.nan, self.element.bytes(), self.element) {
            (false, ..) => 0,
            (_, 2, Element::Bf16) => 0x7fff,
            (_, 2, _) => 0x7fff,
            (_, 4, _) => 0x7fff_ffff,
            _ => 0x7fff_ffff_ffff_ffff,
        }
    }
}

/// Applies a swizzle of rows of `width` chunks of 16 bytes to an address in shared memory: the bits 4 to 6 are combined
/// with the bits 7 to 9 by exclusive or (128 bytes); 4 and 5 with 7 and 8 (64 bytes); 4 with 7 (32 bytes).
pub(crate) fn swizzled(address: u64, width: u64) -> u64 {
    address ^ (address >> 7 & (width - 1)) << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        let (sizes, strides) = ([100, 7, 3], [256, 4096]);
        TensorMap::tiled(Element::Bf16, 4096, &sizes, &strides, &[64, 4, 2], &[1, 2, 1], 128).expect("a valid map")
    }

    #[test]
    fn bytes_say_what_they_are() {
        let (map, mut bytes) = (map(), map().encode());
        assert_eq!(TensorMap::decode(&bytes), Some(map));
        let nan = map.filled_with_nan().expect("floats");
        assert_eq!(TensorMap::decode(&nan.encode()), Some(nan));
        bytes[40] ^= 1;
        assert_eq!(TensorMap::decode(&bytes), None);
        assert_eq!(TensorMap::decode(&[0; BYTES]), None);
    }

    #[test]
    fn the_drivers_rules_are_kept() {
        let make = |address, size, stride, block, step, swizzle| {
            TensorMap::tiled(Element::F16, address, &[size, 64], &[stride], &[block, 8], &[1, step], swizzle)
        };
        assert!(make(16, 64, 128, 64, 1, 128).is_ok());
        for wrong in [
            make(8, 64, 128, 64, 1, 128),
            make(16, 0, 128, 64, 1, 128),
            make(16, 64, 120, 64, 1, 128),
            make(16, 64, 1 << 40, 64, 1, 128),
            make(16, 64, 128, 257, 1, 0),
            make(16, 64, 128, 60, 1, 0),
            make(16, 64, 128, 128, 1, 128),
            make(16, 64, 128, 64, 9, 128),
            make(16, 64, 128, 64, 1, 48),
        ] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
        assert!(TensorMap::tiled(Element::U8, 16, &[64; 6], &[64; 5], &[16; 6], &[], 0).is_err());
        assert!(
            TensorMap::tiled(Element::U8, 16, &[64], &[], &[16], &[], 0).expect("bytes").filled_with_nan().is_err()
        );
    }

    #[test]
    fn a_box_at_the_edge_has_the_tensors_rows() {
        let mut rows = Vec::new();
        map().rows([60, 5, -1, 0, 0], |offset, address, bytes| rows.push((offset, address, bytes)));
        // Two of every four rows are copied; of the first plane, none; of the second plane, row 5, and not row 7.
        assert_eq!(map().box_bytes(), 2 * 64 * 2 * 2);
        assert_eq!(rows, [(256, 4096 + 120 + 5 * 256, 80)]);
    }
}
