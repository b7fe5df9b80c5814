//! The bytes of a tensor map. The driver's encoding is not documented, so the simulator has its own, which starts with
//! [`MAGIC`] and ends with a sum of the bytes: other bytes, such as a map made by NVIDIA's driver, are recognised as
//! such.
//!
//! | bytes | contents, little endian |
//! |---|---|
//! | 0 to 7 | [`MAGIC`] |
//! | 8 to 15 | address of the tensor |
//! | 16, 17, 18, 19 | element, number of dimensions, chunks of 16 bytes of a swizzled row (1: none), fill with NaN |
//! | 20 to 29 | sizes of the box, 16 bits each |
//! | 30 to 34 | steps between elements |
//! | 36 to 55 | sizes of the tensor less one, 32 bits each |
//! | 56 to 87 | strides in bytes of all dimensions but the first, 64 bits each |
//! | 124 to 127 | sum of the bytes before |

use super::{BYTES, Element, MAGIC, MapError, RANK, TensorMap};

/// The fields of an encoded map. While a kernel replaces them one by one, they need not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    address: u64,
    /// Number of an [`Element`].
    element: u8,
    rank: u8,
    chunks: u8,
    nan: bool,
    block: [u16; RANK],
    steps: [u8; RANK],
    /// Sizes less one.
    sizes: [u32; RANK],
    strides: [u64; RANK - 1],
}

/// A field that `tensormap.replace` replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `.global_address`
    Address,
    /// `.rank`
    Rank,
    /// `.box_dim`
    Block,
    /// `.global_dim`
    Size,
    /// `.global_stride`
    Stride,
    /// `.element_stride`
    Step,
    /// `.elemtype`
    Element,
    /// `.swizzle_mode`
    Swizzle,
    /// `.fill_mode`
    Fill,
}

/// The numbers of [`Element`] in the order of `.elemtype`, which is not that of `CUtensorMapDataType`. PTX ISA,
/// "tensormap.replace".
const ELEMENT_TYPES: [Element; 13] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F32Ftz,
    Element::F64,
    Element::Bf16,
    Element::Tf32,
    Element::Tf32Ftz,
];

impl Fields {
    /// The fields of bytes that are all zero, from which a kernel may make a map.
    const BLANK: Self = Self {
        address: 0,
        element: 0,
        rank: 1,
        chunks: 1,
        nan: false,
        block: [0; RANK],
        steps: [1; RANK],
        sizes: [0; RANK],
        strides: [0; RANK - 1],
    };

    /// Returns the fields of a map.
    pub fn of_map(map: &TensorMap) -> Self {
        Self {
            address: map.address,
            element: map.element as u8,
            rank: map.rank as u8,
            chunks: map.swizzle as u8,
            nan: map.nan,
            block: map.block.map(|size| size as u16),
            steps: map.steps.map(|step| step as u8),
            sizes: map.sizes.map(|size| (size - 1) as u32),
            strides: std::array::from_fn(|i| map.strides[i + 1]),
        }
    }

    /// Returns the fields of encoded bytes; `None` for other bytes.
    pub fn of_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let number = |at: usize, count: usize| {
            bytes[at..at + count].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
        };
        if bytes[..8] != MAGIC || number(124, 4) != u64::from(sum(bytes)) {
            return None;
        }
        Some(Self {
            address: number(8, 8),
            element: bytes[16],
            rank: bytes[17],
            chunks: bytes[18],
            nan: bytes[19] != 0,
            block: std::array::from_fn(|i| number(20 + 2 * i, 2) as u16),
            steps: std::array::from_fn(|i| bytes[30 + i]),
            sizes: std::array::from_fn(|i| number(36 + 4 * i, 4) as u32),
            strides: std::array::from_fn(|i| number(56 + 8 * i, 8)),
        })
    }

    /// Returns the fields of encoded bytes, or of bytes that are all zero.
    pub fn of_bytes_or_zeros(bytes: &[u8; BYTES]) -> Option<Self> {
        if *bytes == [0; BYTES] { Some(Self::BLANK) } else { Self::of_bytes(bytes) }
    }

    /// Returns the 128 bytes.
    pub fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.address.to_le_bytes());
        bytes[16..20].copy_from_slice(&[self.element, self.rank, self.chunks, u8::from(self.nan)]);
        for i in 0..RANK {
            bytes[20 + 2 * i..22 + 2 * i].copy_from_slice(&self.block[i].to_le_bytes());
            bytes[30 + i] = self.steps[i];
            bytes[36 + 4 * i..40 + 4 * i].copy_from_slice(&self.sizes[i].to_le_bytes());
        }
        for (i, stride) in self.strides.iter().enumerate() {
            bytes[56 + 8 * i..64 + 8 * i].copy_from_slice(&stride.to_le_bytes());
        }
        let sum = sum(&bytes);
        bytes[124..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Returns the map, under the driver's rules.
    ///
    /// # Errors
    /// [`MapError`] states the rule that the fields do not keep together.
    pub fn map(&self) -> Result<TensorMap, MapError> {
        let rank = usize::from(self.rank);
        let Some(element) = Element::of(self.element.into()).filter(|_| (1..=RANK).contains(&rank)) else {
            return Err(MapError(format!("the element {} and {rank} dimensions", self.element)));
        };
        let swizzle = if self.chunks == 1 { 0 } else { u64::from(self.chunks) * 16 };
        let sizes = self.sizes.map(|size| u64::from(size) + 1);
        let (block, steps) = (self.block.map(u32::from), self.steps.map(u32::from));
        let (address, strides) = (self.address, &self.strides[..rank - 1]);
        let map = TensorMap::tiled(element, address, &sizes[..rank], strides, &block[..rank], &steps[..rank], swizzle)?;
        if self.nan { map.filled_with_nan() } else { Ok(map) }
    }

    /// Replaces a field, of the dimension `ordinal` where there is one for each.
    ///
    /// # Errors
    /// A description of the values that the field can have.
    pub fn replace(&mut self, field: Field, ordinal: usize, value: u64) -> Result<(), String> {
        let wanted = |fits: bool, text: &str| if fits { Ok(()) } else { Err(format!("{text}, not {value}")) };
        match field {
            Field::Address => {
                wanted(value.is_multiple_of(16), "`.global_address` takes a multiple of 16")?;
                self.address = value;
            }
            Field::Rank => {
                wanted(value < RANK as u64, "`.rank` takes the number of dimensions less one, 0 to 4")?;
                self.rank = value as u8 + 1;
            }
            Field::Block => {
                wanted((1..=256).contains(&value), "`.box_dim` takes 1 to 256 elements")?;
                self.block[ordinal] = value as u16;
            }
            Field::Size => {
                wanted((1..1 << 32).contains(&value), "`.global_dim` takes 1 to 2^32 - 1 elements")?;
                self.sizes[ordinal] = (value - 1) as u32;
            }
            Field::Stride => {
                let fits = value.is_multiple_of(16) && value < 1 << 40;
                wanted(fits, "`.global_stride` takes a multiple of 16 bytes below 2^40")?;
                let stride = self.strides.get_mut(ordinal);
                *stride.ok_or("`.global_stride` has the ordinals 0 to 3, for the dimensions 1 to 4")? = value;
            }
            Field::Step => {
                wanted((1..=8).contains(&value), "`.element_stride` takes 1 to 8 elements")?;
                self.steps[ordinal] = value as u8;
            }
            Field::Element => {
                let element = ELEMENT_TYPES.get(value as usize);
                self.element = *element.ok_or_else(|| format!("`.elemtype` takes 0 to 12, not {value}"))? as u8;
            }
            Field::Swizzle => {
                wanted(value <= 3, "`.swizzle_mode` takes 0 to 3")?;
                self.chunks = 1 << value;
            }
            Field::Fill => {
                wanted(value <= 1, "`.fill_mode` takes 0 or 1")?;
                self.nan = value != 0;
            }
        }
        Ok(())
    }
}

fn sum(bytes: &[u8; BYTES]) -> u32 {
    bytes[..124].iter().fold(1, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blank() -> Fields {
        Fields::of_bytes_or_zeros(&[0; BYTES]).expect("zeros")
    }

    #[test]
    fn fields_make_a_map() {
        let mut fields = blank();
        assert!(fields.map().is_err() && Fields::of_bytes(&[0; BYTES]).is_none());
        for (field, ordinal, value) in [
            (Field::Swizzle, 0, 3),
            (Field::Address, 0, 4096),
            (Field::Rank, 0, 2),
            (Field::Element, 0, 10),
            (Field::Block, 0, 64),
            (Field::Block, 1, 4),
            (Field::Block, 2, 2),
            (Field::Size, 0, 100),
            (Field::Size, 1, 7),
            (Field::Size, 2, 3),
            (Field::Stride, 0, 256),
            (Field::Stride, 1, 4096),
            (Field::Step, 1, 2),
            (Field::Fill, 0, 1),
        ] {
            fields.replace(field, ordinal, value).expect("a value that fits");
            fields = Fields::of_bytes(&fields.bytes()).expect("encoded");
        }
        let (sizes, strides) = ([100, 7, 3], [256, 4096]);
        let map = TensorMap::tiled(Element::Bf16, 4096, &sizes, &strides, &[64, 4, 2], &[1, 2, 1], 128);
        assert_eq!(fields.map(), map.expect("a map").filled_with_nan());
        // Fields that do not fit each other are an error of the map, and not of its bytes.
        fields.replace(Field::Element, 0, 0).expect("bytes");
        assert!(fields.map().expect_err("integers").to_string().contains("NaN"));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (field, ordinal, value) in [
            (Field::Address, 0, 8),
            (Field::Rank, 0, 5),
            (Field::Block, 0, 0),
            (Field::Block, 4, 257),
            (Field::Size, 0, 0),
            (Field::Size, 0, 1 << 32),
            (Field::Stride, 0, 24),
            (Field::Stride, 0, 1 << 40),
            (Field::Stride, 4, 16),
            (Field::Step, 0, 0),
            (Field::Step, 0, 9),
            (Field::Element, 0, 13),
            (Field::Swizzle, 0, 4),
            (Field::Fill, 0, 2),
        ] {
            let mut fields = blank();
            let error = fields.replace(field, ordinal, value).expect_err("out of range");
            assert!(error.starts_with("`."), "{error}");
            assert_eq!(fields, blank());
        }
    }

    #[test]
    fn element_types_have_other_numbers_than_the_drivers() {
        let numbers = ELEMENT_TYPES.map(|element| element as u8);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12]);
    }
}
