//! The element types of files. Those for which no kernel exists are widened to one that holds every value.

use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::element::{Array, Dtype, Element, Value};
use rustwarp::tensor::Tensor;
use std::fmt;

/// The type of a file's elements: one of the kernels' types, or one that only files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A type of which arrays on the host are made.
    Known(Dtype),
    /// Signed integers of 16 bits.
    I16,
    /// Unsigned integers of 16 bits.
    U16,
    /// Truth values, one byte each: 0 or 1.
    Bool,
}

impl Stored {
    /// Bytes of one element in a file.
    pub fn size(self) -> usize {
        match self {
            Self::Known(dtype) => dtype.size(),
            Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
        }
    }

    /// Types that hold every value of this type, the closest one first. A wide type has only itself.
    fn holders(self) -> &'static [Dtype] {
        use Dtype::{Bf16, F8, F16, F32, F64, I8, I32, I64, U8, U32, U64};
        match self {
            Self::Known(F16) => &[F16, F32, F64],
            Self::Known(Bf16) => &[Bf16, F32, F64],
            Self::Known(F8) => &[F8, F16, Bf16, F32, F64],
            Self::Known(I8) => &[I8, I32, I64, F32, F64],
            Self::Known(U8) => &[U8, U32, U64, I32, I64, F32, F64],
            Self::U16 | Self::Bool => &[U32, U64, I32, I64, F32, F64],
            Self::I16 => &[I32, I64, F32, F64],
            Self::Known(F32) => &[F32],
            Self::Known(F64) => &[F64],
            Self::Known(I32) => &[I32],
            Self::Known(U32) => &[U32],
            Self::Known(I64) => &[I64],
            Self::Known(U64) => &[U64],
        }
    }

    /// Whether the type is converted to `dtype` on request, without loss; every type is converted to itself.
    pub fn widens_to(self, dtype: Dtype) -> bool {
        self.holders().contains(&dtype)
    }

    /// The closest one of `dtypes` that holds every value of all of `types`.
    pub fn common(types: &[Self], dtypes: &[Dtype]) -> Option<Dtype> {
        let closest = types.first()?.holders();
        closest.iter().copied().find(|to| dtypes.contains(to) && types.iter().all(|one| one.widens_to(*to)))
    }

    /// The elements of `bytes`, which are little-endian, in the closest type of arrays on the host.
    pub(super) fn array(self, bytes: Vec<u8>) -> Array {
        let pairs = || bytes.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        match self {
            Self::Known(dtype) => {
                let mut array = Array::zeros(dtype, bytes.len() / dtype.size());
                array.bytes_mut().copy_from_slice(&bytes);
                array
            }
            Self::I16 => Array::I32(pairs().map(|pair| i16::from_le_bytes(pair).into()).collect()),
            Self::U16 => Array::U32(pairs().map(|pair| u16::from_le_bytes(pair).into()).collect()),
            Self::Bool => Array::U32(bytes.iter().map(|&x| u32::from(x != 0)).collect()),
        }
    }

    /// Bytes of one element of [`array`](Self::array).
    pub(super) fn size_on_host(self) -> usize {
        match self {
            Self::Known(dtype) => dtype.size(),
            Self::I16 | Self::U16 | Self::Bool => 4,
        }
    }
}

impl From<Dtype> for Stored {
    fn from(dtype: Dtype) -> Self {
        Self::Known(dtype)
    }
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(dtype) => dtype.name(),
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::Bool => "bool",
        })
    }
}

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The file's name, as given.
    pub name: String,
    /// The type of the elements in the file.
    pub stored: Stored,
    /// Whether they are the channels of a picture.
    pub is_picture: bool,
    /// What was left out or changed in reading, each as a sentence that names the file.
    pub notes: Vec<String>,
    /// The elements, in the closest type of arrays on the host.
    pub(super) tensor: Tensor,
}

impl Loaded {
    /// Contents of a kernels' type, without notes.
    pub(super) fn new(name: impl Into<String>, tensor: Tensor) -> Self {
        Self { name: name.into(), stored: tensor.dtype().into(), is_picture: false, notes: Vec::new(), tensor }
    }

    /// Converts the elements to `dtype`, and adds a note if that is another type than the file's.
    ///
    /// # Errors
    /// [`Error::Usage`] if the type does not hold every value of the file's type, or the file's type is one for which
    /// kernels exist.
    pub fn convert(self, dtype: Dtype) -> Result<(Tensor, Vec<String>)> {
        let Self { name, stored, mut notes, tensor, .. } = self;
        if !stored.widens_to(dtype) {
            return Err(wrong_type(&name, stored, dtype));
        }
        if stored != dtype.into() {
            notes.push(format!("{name} holds {stored}: converted to {dtype}, which holds every value of it"));
        }
        Ok((widened(tensor, dtype)?, notes))
    }

    /// The elements in the closest type of arrays on the host, for operands that are converted to whole numbers.
    pub fn into_tensor(self) -> (Tensor, Vec<String>) {
        (self.tensor, self.notes)
    }
}

/// Converts elements to a type that holds every value of theirs.
fn widened(tensor: Tensor, dtype: Dtype) -> Result<Tensor> {
    if tensor.dtype() == dtype {
        return Ok(tensor);
    }
    fn all<T: rustwarp::element::Scalar>(values: &[T]) -> Vec<Value> {
        values.iter().map(|x| x.value()).collect()
    }
    let values: Vec<Value> = match tensor.data() {
        Array::I32(values) => all(values),
        Array::U32(values) => all(values),
        Array::U8(values) => all(values),
        Array::I8(values) => all(values),
        Array::F8(values) => all(values),
        Array::F16(values) => all(values),
        Array::Bf16(values) => all(values),
        other => return Err(Error::Usage(format!("{} cannot be converted to {dtype}", other.dtype()))),
    };
    rustwarp::with_dtype!(dtype, T => {
        let numbers = values.into_iter().map(<T as Element>::round).collect();
        Ok(Tensor::new(tensor.shape(), <T as rustwarp::element::Scalar>::wrap(numbers))?)
    }, else => Err(Error::Usage(format!("{} cannot be converted to {dtype}", tensor.dtype()))))
}

/// The error for elements that are not converted to the requested type.
pub(super) fn wrong_type(name: &str, stored: Stored, dtype: Dtype) -> Error {
    Error::Usage(format!("{name} holds {stored}, not {dtype}: leave {DTYPE} out, or convert the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(stored: Stored, bytes: &[u8], dtype: Dtype) -> Array {
        let tensor = Tensor::from(stored.array(bytes.to_vec()));
        let loaded = Loaded { stored, ..Loaded::new("x.npy", tensor) };
        loaded.convert(dtype).expect("it holds every value").0.into_data()
    }

    #[test]
    fn every_value_of_a_narrow_type_is_kept() {
        use Stored::{Bool, I16, Known, U16};
        assert_eq!(converted(Known(Dtype::I8), &[0x80, 0xff, 0x7f], Dtype::F32), Array::F32(vec![-128.0, -1.0, 127.0]));
        assert_eq!(converted(I16, &[0, 0x80, 0xff, 0x7f], Dtype::I32), Array::I32(vec![-32768, 32767]));
        assert_eq!(converted(U16, &[0xff, 0xff], Dtype::U64), Array::U64(vec![65535]));
        assert_eq!(converted(Bool, &[0, 1], Dtype::U32), Array::U32(vec![0, 1]));
        assert_eq!(converted(Known(Dtype::F16), &[0, 0xbc, 0xff, 0x7b], Dtype::F32), Array::F32(vec![-1.0, 65504.0]));
        let largest = f32::from_bits(0x7f7f_0000);
        assert_eq!(converted(Known(Dtype::Bf16), &[0x7f, 0x7f], Dtype::F64), Array::F64(vec![largest.into()]));
        assert_eq!(converted(Known(Dtype::U8), &[255], Dtype::F32), Array::F32(vec![255.0]));
    }

    #[test]
    fn what_would_lose_values_is_refused() {
        let load = |stored: Stored| Loaded {
            stored,
            ..Loaded::new("x.npy", Tensor::from(stored.array(vec![0; stored.size()])))
        };
        for (stored, dtype) in [
            (Stored::Known(Dtype::F16), Dtype::I32),
            (Stored::Known(Dtype::I8), Dtype::U32),
            (Stored::U16, Dtype::U8),
            (Stored::Known(Dtype::F32), Dtype::F64),
            (Stored::Known(Dtype::I64), Dtype::F64),
        ] {
            let text = load(stored).convert(dtype).expect_err("refused").to_string();
            assert!(text.contains("x.npy") && text.contains(dtype.name()) && text.contains("--dtype"), "{text}");
        }
        let (_, notes) = load(Stored::Bool).convert(Dtype::F32).expect("it holds 0 and 1");
        assert_eq!(notes, ["x.npy holds bool: converted to f32, which holds every value of it"]);
        assert!(load(Stored::Known(Dtype::F32)).convert(Dtype::F32).expect("the same").1.is_empty());
    }

    #[test]
    fn the_closest_common_type() {
        let narrow = [Dtype::I8.into(), Stored::U16];
        assert_eq!(Stored::common(&narrow, Dtype::NUMBERS), Some(Dtype::I32));
        assert_eq!(Stored::common(&[Dtype::I8.into(), Dtype::F16.into()], Dtype::NUMBERS), Some(Dtype::F32));
        assert_eq!(Stored::common(&[Stored::U16], &[Dtype::F32, Dtype::F64]), Some(Dtype::F32));
        assert_eq!(Stored::common(&[Stored::U16], &[Dtype::U8]), None);
    }
}
