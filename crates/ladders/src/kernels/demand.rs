//! The operands to generate when no file is given.

use super::settings::Settings;
use crate::error::{Error, Result};
use crate::input::generate::{generate, generate_with};
use crate::input::normal::normals;
use rustwarp::backend::require_host_memory;
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;

/// The distribution of generated elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Floats uniform in [-1, 1), integers over their whole range; see [`generate`].
    Uniform,
    /// Standard normal floats, and i8 of standard deviation 32; see [`normals`].
    Normal,
}

/// A request for generated operands. The same request gives the same numbers on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The number of `--n`, or the numbers of `--shape`; the family defines their meaning.
    pub size: &'a [u64],
    /// Type of the elements.
    pub dtype: Dtype,
    /// The seed; see [`generate`].
    pub seed: u64,
    /// The family's settings.
    pub settings: &'a Settings,
}

impl Demand<'_> {
    /// Returns the size as `N` numbers; a single number stands for `N` equal ones.
    ///
    /// # Errors
    /// [`Error::Usage`] with the form that `axes` describes, and for numbers beyond this machine's address space.
    pub fn axes<const N: usize>(&self, axes: &str) -> Result<[usize; N]> {
        let all: Vec<u64> = match self.size {
            [one] => vec![*one; N],
            several => several.to_vec(),
        };
        let fits: Option<Vec<usize>> = all.iter().map(|&n| n.try_into().ok()).collect();
        fits.and_then(|all| all.try_into().ok()).ok_or_else(|| {
            let have: Vec<_> = self.size.iter().map(u64::to_string).collect();
            Error::Usage(format!("the size must be {axes}, not {}", have.join("x")))
        })
    }

    /// Generates operand number `operand` with this shape; each operand has different numbers.
    ///
    /// # Errors
    /// [`Error::Usage`] if the operand does not fit into this machine's memory.
    pub fn tensor(&self, operand: u64, shape: &[usize]) -> Result<Tensor> {
        self.tensor_of(Distribution::Uniform, operand, shape)
    }

    /// [`Demand::tensor`] with elements of a distribution.
    ///
    /// # Errors
    /// Those of [`Demand::tensor`], and [`Error::Usage`] for a type without normal numbers.
    pub fn tensor_of(&self, distribution: Distribution, operand: u64, shape: &[usize]) -> Result<Tensor> {
        let what = || format!("an operand of {} elements of {}", rustwarp::tensor::text(shape), self.dtype);
        let len = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        let bytes = len.and_then(|len| len.checked_mul(self.dtype.size()));
        let (Some(len), Some(bytes)) = (len, bytes) else {
            return Err(Error::Usage(format!(
                "{} has more bytes than 64 bits can represent: use a smaller size",
                what()
            )));
        };
        require_host_memory(bytes as u64, &what(), "use a smaller size")?;
        let seed = self.seed.wrapping_add(operand);
        let elements = match distribution {
            Distribution::Uniform => random(self.dtype, len, seed),
            Distribution::Normal => normals(self.dtype, len, seed)?,
        };
        Ok(Tensor::new(shape, elements)?)
    }

    /// Generates `count` vectors of the requested length.
    ///
    /// # Errors
    /// Those of [`Demand::axes`] and [`Demand::tensor`].
    pub fn vectors(&self, count: u64) -> Result<Vec<Tensor>> {
        let n = self.axes::<1>("one number")?;
        (0..count).map(|operand| self.tensor(operand, &n)).collect()
    }
}

/// The generator's numbers. Bytes are the low bytes of u64; narrow floats are rounded from f32.
fn random(dtype: Dtype, len: usize, seed: u64) -> Array {
    with_dtype!(dtype, T => <T as rustwarp::element::Scalar>::wrap(generate::<T>(len, seed)), else => match dtype {
        Dtype::F16 => Array::F16(generate(len, seed).into_iter().map(half::f16::from_f32).collect()),
        Dtype::Bf16 => Array::Bf16(generate(len, seed).into_iter().map(half::bf16::from_f32).collect()),
        Dtype::F8 => Array::F8(generate(len, seed).into_iter().map(float8::F8E4M3::from_f32).collect()),
        Dtype::I8 => Array::I8(generate_with(len, seed, |x| x as i8)),
        _ => Array::U8(generate_with(len, seed, |x| x as u8)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_stands_for_a_square() {
        let settings = Settings::default();
        let demand = |size| Demand { size, dtype: Dtype::F32, seed: 1, settings: &settings };
        assert_eq!(demand(&[5]).axes::<2>("HxW").expect("a square"), [5, 5]);
        assert_eq!(demand(&[5, 7]).axes::<2>("HxW").expect("two"), [5, 7]);
        assert!(demand(&[5, 7, 9]).axes::<2>("HxW").expect_err("three").to_string().contains("HxW, not 5x7x9"));
        assert!(demand(&[u64::MAX]).tensor(0, &[usize::MAX, 2]).is_err());
    }

    #[test]
    fn operands_differ_and_every_type_can_be_made() {
        let settings = Settings::default();
        let two = Demand { size: &[100], dtype: Dtype::U8, seed: 1, settings: &settings }.vectors(2).expect("made");
        assert_ne!(two[0], two[1]);
        for dtype in [Dtype::F32, Dtype::U8, Dtype::F16, Dtype::Bf16, Dtype::I64] {
            let made = Demand { size: &[9], dtype, seed: 1, settings: &settings }.vectors(1).expect("made");
            assert_eq!((made[0].dtype(), made[0].len()), (dtype, 9));
        }
    }
}
