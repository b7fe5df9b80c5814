//! What becomes of the sums of a product before they are stored.

use crate::backend::{Handle, View};
use crate::device::Device;
use crate::error::Result;
use cuda_std::launch::Ptr;
use kernels_gpu::tensor::mixed::epilogue::{FINISHED, GELU, RELU, WIDE};

/// A function of each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activation {
    /// None.
    #[default]
    Identity,
    /// `max(x, 0)`; NaN stays.
    Relu,
    /// Gaussian error linear unit, `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, within `3e-6 * (1 + |x|)` of
    /// it: the approximation that PyTorch calls `tanh`, and cuBLASLt's.
    Gelu,
}

/// How the sums of a product become its elements, in the same launch:
///
/// ```text
/// c[i][j] = activation(alpha * row_scales[i] * column_scales[j] * sum[i][j] + beta * addend[i][j] + bias[j])
/// ```
///
/// computed in f32, each operation rounded, with one rounding to the type of the product.
pub struct Epilogue<'a, O, H: Handle = Device> {
    /// Factor of all sums.
    pub alpha: f32,
    /// Factor of the addend; 0 for none.
    pub beta: f32,
    /// A matrix of the product's size and leading dimension; `None` stands for the product's memory with its old
    /// contents. Products of a batch have matrices at the same distances as the products; they share the other
    /// parameters.
    pub addend: Option<View<'a, O, H>>,
    /// A factor for each of the `m` rows.
    pub row_scales: Option<View<'a, f32, H>>,
    /// A factor for each of the `n` columns.
    pub column_scales: Option<View<'a, f32, H>>,
    /// A summand for each of the `n` columns.
    pub bias: Option<View<'a, f32, H>>,
    /// What is applied last.
    pub activation: Activation,
}

impl<O, H: Handle> Default for Epilogue<'_, O, H> {
    /// The sums themselves.
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 0.0,
            addend: None,
            row_scales: None,
            column_scales: None,
            bias: None,
            activation: Activation::Identity,
        }
    }
}

impl<O, H: Handle> Clone for Epilogue<'_, O, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<O, H: Handle> Copy for Epilogue<'_, O, H> {}

/// An epilogue's parameters for the kernels.
#[derive(Clone, Copy)]
pub struct Parameters<'a> {
    pub how: u32,
    pub alpha: f32,
    pub beta: f32,
    pub addend: Ptr<'a, u8>,
    /// Scales of the rows, scales of the columns, bias.
    pub vectors: [Ptr<'a, f32>; 3],
}

impl Parameters<'_> {
    /// Those of sums that are stored as they are.
    pub fn of_sums() -> Self {
        // SAFETY: kernels do not read from null.
        let (addend, vectors) = unsafe { (Ptr::new(0), [Ptr::new(0); 3]) };
        Self { how: WIDE, alpha: 1.0, beta: 0.0, addend, vectors }
    }
}

impl<'a, O, H: Handle> Epilogue<'a, O, H> {
    /// Whether the product's elements are the sums.
    pub(super) fn is_identity(&self) -> bool {
        let Self { alpha, beta, row_scales, column_scales, bias, activation, .. } = self;
        let vectors = [row_scales, column_scales, bias].into_iter().any(Option::is_some);
        *alpha == 1.0 && *beta == 0.0 && !vectors && *activation == Activation::Identity
    }

    /// Checks the lengths, of which the addend has the product's, and returns the kernels' parameters.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a wrong length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub(super) fn parameters(&self, product: &View<'a, O, H>, [m, n]: [usize; 2]) -> Result<Parameters<'a>> {
        let device = product.device();
        let activation = match self.activation {
            Activation::Identity => 0,
            Activation::Relu => RELU,
            Activation::Gelu => GELU,
        };
        if let Some(addend) = &self.addend {
            addend.require(device, product.len(), "the addend")?;
        }
        let added = self.addend.as_ref().unwrap_or(product).address();
        let addend = if self.beta == 0.0 { 0 } else { added };
        let vector = |vector: &Option<View<'a, f32, H>>, len: usize, name: &'static str| -> Result<Ptr<'a, f32>> {
            if let Some(vector) = vector {
                vector.require(device, len, name)?;
            }
            // SAFETY: the view borrows the memory; the kernels do not read from null.
            Ok(unsafe { Ptr::new(vector.as_ref().map_or(0, |view| view.address())) })
        };
        Ok(Parameters {
            how: activation | if self.is_identity() { 0 } else { FINISHED },
            alpha: self.alpha,
            beta: self.beta,
            // SAFETY: as above.
            addend: unsafe { Ptr::new(addend) },
            vectors: [
                vector(&self.row_scales, m, "the rows' scales")?,
                vector(&self.column_scales, n, "the columns' scales")?,
                vector(&self.bias, n, "the bias")?,
            ],
        })
    }

    /// The memory that the epilogue reads.
    pub(super) fn views(&self) -> impl Iterator<Item = View<'a, f32, H>> {
        [self.row_scales, self.column_scales, self.bias].into_iter().flatten()
    }
}
