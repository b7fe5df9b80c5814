//! The products that two operands describe: one of two matrices, or a batch.
//!
//! An operand of three axes is a batch of matrices of one size. As in NumPy's `matmul`, an operand of two axes beside
//! one of three is a factor of all products.

use crate::error::{Error, Result};
use crate::kernels::settings::{Flag, Setting};
use crate::kernels::spelling::VARIANT;
use crate::kernels::{Problem, Work};
use rustwarp::element::Scalar;
use rustwarp::matmul::{Batch, Sizes};
use rustwarp::tensor::{Tensor, text};

pub(crate) const TRANSPOSE_A: Setting<Flag> =
    Setting { name: "transpose-a", help: "A is stored transposed, as KxM", generated: false, kind: Flag };

pub(crate) const TRANSPOSE_B: Setting<Flag> =
    Setting { name: "transpose-b", help: "B is stored transposed, as NxK", generated: false, kind: Flag };

/// Sizes, number and places of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Products {
    /// Sizes of each product.
    pub sizes: Sizes,
    /// How many products there are, and where their matrices lie. The matrices of a batch follow each other without
    /// gaps.
    pub batch: Batch,
    /// Whether an operand has three axes; the result then has three, too.
    pub is_batch: bool,
}

impl From<Sizes> for Products {
    fn from(sizes: Sizes) -> Self {
        Self { sizes, batch: Batch::SINGLE, is_batch: false }
    }
}

/// Checks that the operands fit together, and returns their products.
///
/// # Errors
/// [`Error::Usage`] for operands that do not fit together.
pub(crate) fn problem_of(problem: &Problem<'_>) -> Result<Products> {
    let [a, b] = problem.inputs else {
        return Err(Error::Usage(format!("matmul takes two operands, A and B, not {}", problem.inputs.len())));
    };
    let transposed = [&TRANSPOSE_A, &TRANSPOSE_B].map(|setting| problem.settings.flag(setting));
    let (count_a, [rows, columns]) = matrices(a, "A")?;
    let (m, k) = if transposed[0] { (columns, rows) } else { (rows, columns) };
    let (count_b, [rows, columns]) = matrices(b, "B")?;
    let (depth, n) = if transposed[1] { (columns, rows) } else { (rows, columns) };
    if k != depth {
        let how = |transposed| if transposed { ", stored transposed" } else { "" };
        return Err(Error::Usage(format!(
            "matmul cannot multiply A ({}{}) by B ({}{}): A has {k} columns and B {depth} rows, and these must be \
             equal \
             ({TRANSPOSE_A} and {TRANSPOSE_B} say how they are stored)",
            text(a.shape()),
            how(transposed[0]),
            text(b.shape()),
            how(transposed[1]),
        )));
    }
    let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
    let batch = match (count_a, count_b) {
        (None, None) => return Ok(sizes.into()),
        (Some(of_a), Some(of_b)) if of_a != of_b => {
            return Err(Error::Usage(format!(
                "matmul cannot multiply A ({}) by B ({}): A is a batch of {of_a} matrices and B of {of_b}; give both \
                 as many, or give one of them two axes: that matrix is then a factor of all products",
                text(a.shape()),
                text(b.shape())
            )));
        }
        (Some(count), Some(_)) => Batch::contiguous(count, sizes)?,
        (Some(count), None) => Batch::contiguous(count, sizes)?.sharing(1),
        (None, Some(count)) => Batch::contiguous(count, sizes)?.sharing(0),
    };
    Ok(Products { sizes, batch, is_batch: true })
}

/// Number of matrices of an operand, if it is a batch, and rows and columns of each.
fn matrices(operand: &Tensor, name: &str) -> Result<(Option<usize>, [usize; 2])> {
    match *operand.shape() {
        [rows, columns] => Ok((None, [rows, columns])),
        [count, rows, columns] => Ok((Some(count), [rows, columns])),
        _ => Err(Error::Usage(format!(
            "operand {name} of matmul has the shape {}: it must be a matrix, or a batch of matrices with three axes",
            text(operand.shape())
        ))),
    }
}

impl Products {
    /// The sizes of the only product, for code that multiplies no batches.
    ///
    /// # Errors
    /// [`Error::Usage`] for a batch.
    pub fn single(&self) -> Result<Sizes> {
        if self.is_batch {
            return Err(Error::Usage(format!(
                "the operands are a batch of {} products, and only one product can be computed this way: use the \
                 command `matmul` with {VARIANT} best, on one device",
                self.batch.count
            )));
        }
        Ok(self.sizes)
    }

    /// Shape of the result.
    pub fn result(&self) -> Vec<usize> {
        self.with_count(&[self.sizes.m, self.sizes.n])
    }

    /// The sizes as `--shape` takes them.
    pub fn size(&self) -> Vec<usize> {
        self.with_count(&[self.sizes.m, self.sizes.n, self.sizes.k])
    }

    /// Number of elements of the result.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than memory has.
    pub fn elements(&self) -> Result<usize> {
        let len = self.result().iter().try_fold(1_usize, |product, &side| product.checked_mul(side));
        len.ok_or_else(|| self.too_large())
    }

    /// Bytes and operations that the products need at least: the operands are read once, and results of `O` written.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 64 bits can count.
    pub fn work<O: Scalar>(&self, inputs: &[Tensor]) -> Result<Work> {
        let product = (self.elements()? as u64).checked_mul(size_of::<O>() as u64);
        let sizes = inputs.iter().map(|input| (input.len() * input.dtype().size()) as u64);
        let bytes = sizes.fold(product, |sum, bytes| sum?.checked_add(bytes));
        let flops = self.size().iter().try_fold(2_u64, |product, &side| product.checked_mul(side as u64));
        let (Some(bytes), Some(flops)) = (bytes, flops) else { return Err(self.too_large()) };
        Ok(Work { bytes, flops })
    }

    fn too_large(&self) -> Error {
        Error::Usage(format!("a product of {} is too large for 64 bits", text(&self.size())))
    }

    fn with_count(&self, axes: &[usize]) -> Vec<usize> {
        self.is_batch.then_some(self.batch.count).into_iter().chain(axes.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::{Array, Dtype};

    fn products(a: &[usize], b: &[usize], given: &[&str]) -> Result<Products> {
        let zeros = |shape: &[usize]| Tensor::new(shape, Array::zeros(Dtype::F32, shape.iter().product()));
        let inputs = [zeros(a)?, zeros(b)?];
        let settings =
            Settings::new(&[TRANSPOSE_A.listed(), TRANSPOSE_B.listed()], given.iter().map(|name| (*name, "")))?;
        problem_of(&Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings })
    }

    fn refusal(a: &[usize], b: &[usize]) -> String {
        products(a, b, &[]).expect_err("they don't fit").to_string()
    }

    #[test]
    fn sizes_follow_from_shapes_and_storage() {
        let plain = products(&[2, 3], &[3, 4], &[]).and_then(|products| products.single()).expect("they fit");
        assert_eq!((plain.m, plain.n, plain.k), (2, 4, 3));
        let both = products(&[3, 2], &[4, 3], &["transpose-a", "transpose-b"]).expect("they fit").sizes;
        assert_eq!(both, Sizes { m: 2, n: 4, k: 3, transposed: [true; 2], ..Sizes::default() });
        let refusal = refusal(&[2, 3], &[4, 3]);
        assert!(
            refusal.contains("3 columns") && refusal.contains("4 rows") && refusal.contains("--transpose-b"),
            "{refusal}"
        );
    }

    #[test]
    fn three_axes_are_a_batch_and_two_beside_them_are_shared() {
        for (a, b, steps) in [
            (&[5, 2, 3][..], &[5, 3, 4][..], [6, 12, 8]),
            (&[5, 2, 3], &[3, 4], [6, 0, 8]),
            (&[2, 3], &[5, 3, 4], [0, 12, 8]),
        ] {
            let found = products(a, b, &[]).expect("they fit");
            assert_eq!(found.batch, Batch::new(5, steps), "{a:?} by {b:?}");
            assert_eq!((found.result(), found.size()), (vec![5, 2, 4], vec![5, 2, 4, 3]));
            assert!(found.single().expect_err("a batch").to_string().contains("batch of 5"));
        }
        let turned = products(&[5, 3, 2], &[5, 4, 3], &["transpose-a", "transpose-b"]).expect("they fit");
        assert_eq!((turned.sizes.m, turned.sizes.n, turned.sizes.k), (2, 4, 3));
        // A batch of one is a batch.
        assert_eq!(products(&[1, 2, 3], &[3, 4], &[]).expect("they fit").result(), [1, 2, 4]);
    }

    #[test]
    fn operands_that_do_not_fit_are_refused_with_the_reason() {
        let counts = refusal(&[5, 2, 3], &[4, 3, 4]);
        assert!(["batch of 5", "B of 4", "two axes"].iter().all(|words| counts.contains(words)), "{counts}");
        let axes = refusal(&[1, 5, 2, 3], &[3, 4]);
        assert!(["operand A", "1x5x2x3", "three axes"].iter().all(|words| axes.contains(words)), "{axes}");
        assert!(refusal(&[3], &[3, 4]).contains("must be a matrix"));
    }

    #[test]
    fn work_counts_every_product_and_a_shared_factor_once() {
        let zeros = |shape: &[usize]| Tensor::new(shape, Array::zeros(Dtype::F32, shape.iter().product()));
        let inputs = [zeros(&[5, 2, 3]).expect("a batch"), zeros(&[3, 4]).expect("a matrix")];
        let products = products(&[5, 2, 3], &[3, 4], &[]).expect("they fit");
        let work = products.work::<f32>(&inputs).expect("it is small");
        assert_eq!(work, Work { bytes: 4 * (30 + 12 + 40), flops: 2 * 5 * 2 * 4 * 3 });
    }
}
