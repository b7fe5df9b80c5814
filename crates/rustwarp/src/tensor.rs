//! Arrays with a shape: operands and results of kernels, and contents of files.

use crate::element::{Array, Dtype, Element, Scalar, Value};
use crate::error::{Error, Result};

/// Elements in row-major order: neighbours along the last axis are neighbours in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Array,
}

impl Tensor {
    /// Gives an array a shape.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shape has another number of elements than the array.
    pub fn new(shape: &[usize], data: Array) -> Result<Self> {
        let len = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        if len != Some(data.len()) {
            return Err(Error::Argument(format!("{} elements do not have the shape {}", data.len(), text(shape))));
        }
        Ok(Self { shape: shape.to_vec(), data })
    }

    /// Lengths of the axes; empty for a single value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements.
    pub fn data(&self) -> &Array {
        &self.data
    }

    /// Returns the elements without the shape.
    pub fn into_data(self) -> Array {
        self.data
    }

    /// Type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The element of a tensor that has only one.
    pub fn single(&self) -> Option<Value> {
        crate::with_dtype!(self.dtype(), T => match T::view(&self.data) {
            Some([value]) => Some(value.value()),
            _ => None,
        }, else => None)
    }

    /// Converts to an integer type.
    ///
    /// # Errors
    /// [`Error::Argument`] that names the operand if it holds a number that is not whole or not in the type's range.
    pub fn whole_numbers(&self, dtype: Dtype, name: &str) -> Result<Self> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let values: Option<Vec<i128>> = crate::with_dtype!(self.dtype(), T => {
            let whole = |x: &T| match x.value() {
                Value::Int(x) => Some(x),
                Value::Float(_) => None,
            };
            T::view(&self.data).and_then(|values| values.iter().map(whole).collect())
        }, else => match &self.data {
            Array::U8(bytes) => Some(bytes.iter().map(|&x| i128::from(x)).collect()),
            Array::I8(bytes) => Some(bytes.iter().map(|&x| i128::from(x)).collect()),
            _ => None,
        });
        let Some(values) = values else {
            return Err(Error::Argument(format!("{name} must hold whole numbers, not {}", self.dtype())));
        };
        crate::with_dtype!(dtype, T => {
            let numbers: Vec<T> = values.iter().map(|&x| <T as Element>::round(Value::Int(x))).collect();
            let same = |(number, &x): (&T, &i128)| matches!(number.value(), Value::Int(y) if x == y);
            match numbers.iter().zip(&values).find(|&pair| !same(pair)) {
                None => Self::new(&self.shape, T::wrap(numbers)),
                Some((_, x)) => Err(Error::Argument(format!("{name} holds {x}, which is not a value of {dtype}"))),
            }
        }, else => Err(Error::Argument(format!("{name} cannot be converted to {dtype}"))))
    }

    /// Converts bytes to numbers of a type, 0 to 255; an array of another type is returned unchanged.
    ///
    /// # Errors
    /// [`Error::Argument`] for a type in which the host does not compute.
    pub fn from_bytes(self, dtype: Dtype) -> Result<Self> {
        let Array::U8(bytes) = &self.data else { return Ok(self) };
        if dtype == Dtype::U8 {
            return Ok(self);
        }
        crate::with_dtype!(dtype, T => {
            let numbers = bytes.iter().map(|&x| <T as Element>::round(Value::Int(x.into()))).collect();
            Self::new(&self.shape, T::wrap(numbers))
        }, else => Err(Error::Argument(format!("bytes cannot be converted to {dtype}"))))
    }

    /// Returns the rows and columns of a matrix.
    ///
    /// # Errors
    /// [`Error::Argument`] that names the operand if it has another number of axes.
    pub fn matrix(&self, name: &str) -> Result<[usize; 2]> {
        match *self.shape {
            [rows, columns] => Ok([rows, columns]),
            _ => Err(Error::Argument(format!("{name} has the shape {}: it must be a matrix", text(&self.shape)))),
        }
    }
}

impl From<Array> for Tensor {
    /// Makes a vector.
    fn from(data: Array) -> Self {
        Self { shape: vec![data.len()], data }
    }
}

/// Formats a shape as in `76x62`; `1` for a single value.
pub fn text(shape: &[usize]) -> String {
    let axes: Vec<_> = shape.iter().map(usize::to_string).collect();
    if axes.is_empty() { "1".to_owned() } else { axes.join("x") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_counts_the_elements() {
        let data = Array::U32((0..6).collect());
        let tensor = Tensor::new(&[2, 3], data.clone()).expect("six elements");
        assert_eq!(tensor.matrix("x").expect("a matrix"), [2, 3]);
        assert_eq!((text(tensor.shape()), text(&[])), ("2x3".to_owned(), "1".to_owned()));
        assert!(Tensor::new(&[2, 2], data.clone()).is_err());
        assert!(Tensor::new(&[usize::MAX, 2], data.clone()).is_err());
        let wide = Tensor::from(data.clone()).whole_numbers(Dtype::U64, "x").expect("they fit");
        assert_eq!(wide.data(), &Array::U64((0..6).collect()));
        let negative = Tensor::from(Array::I64(vec![1, -1]));
        assert!(negative.whole_numbers(Dtype::U32, "x").expect_err("-1").to_string().contains("x holds -1"));
        let bytes = Tensor::new(&[1, 2], Array::U8(vec![0, 255])).expect("two bytes");
        let floats = bytes.from_bytes(Dtype::F32).expect("they fit");
        assert_eq!((floats.shape(), floats.data()), (&[1, 2][..], &Array::F32(vec![0.0, 255.0])));
        assert!(Tensor::from(Array::F32(vec![1.0])).whole_numbers(Dtype::U32, "x").is_err());
        assert!(Tensor::from(data).matrix("x").expect_err("a vector").to_string().contains("x has the shape 6"));
    }
}
