//! What becomes of the sums of a product before they are stored.

use crate::backend::{Handle, View};
use crate::device::Device;
use crate::element::Scalar;
use crate::error::Result;
use crate::launch::Launch;
use cuda_std::launch::Ptr;
use kernels_gpu::epilogue::{FINISHED, GELU, RELU, Real};

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
    /// it, of f64 within `4e-15 * (1 + |x|)`: the approximation that PyTorch calls `tanh`, and cuBLASLt's.
    Gelu,
}

/// How the sums of a product become its elements, in the same launch:
///
/// ```text
/// c[i][j] = activation(alpha * row_scales[i] * column_scales[j] * sum[i][j] + beta * addend[i][j] + bias[j])
/// ```
///
/// computed in `S`, each operation rounded, but for a single rounding of beta's product and its sum, and with one
/// rounding to the type of the product.
pub struct Epilogue<'a, O, H: Handle = Device, S = f32> {
    /// Factor of all sums.
    pub alpha: S,
    /// Factor of the addend; 0 for none.
    pub beta: S,
    /// A matrix of the product's size and leading dimension, in memory that does not overlap the product's; `None`
    /// stands for the product's memory with its old contents. Products of a batch have matrices at the same distances
    /// as the products; they share the other parameters.
    pub addend: Option<View<'a, O, H>>,
    /// A factor for each of the `m` rows.
    pub row_scales: Option<View<'a, S, H>>,
    /// A factor for each of the `n` columns.
    pub column_scales: Option<View<'a, S, H>>,
    /// A summand for each of the `n` columns.
    pub bias: Option<View<'a, S, H>>,
    /// What is applied last.
    pub activation: Activation,
}

impl<O, H: Handle, S: Real> Default for Epilogue<'_, O, H, S> {
    /// The sums themselves.
    fn default() -> Self {
        Self {
            alpha: S::ONE,
            beta: S::ZERO,
            addend: None,
            row_scales: None,
            column_scales: None,
            bias: None,
            activation: Activation::Identity,
        }
    }
}

impl<O, H: Handle, S: Copy> Clone for Epilogue<'_, O, H, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<O, H: Handle, S: Copy> Copy for Epilogue<'_, O, H, S> {}

/// An epilogue's parameters for the kernels.
#[derive(Clone, Copy)]
pub(crate) struct Parameters<'a, S = f32> {
    /// Bits of `kernels_gpu::epilogue`.
    pub how: u32,
    pub alpha: S,
    pub beta: S,
    pub addend: Ptr<'a, u8>,
    /// Scales of the rows, scales of the columns, bias.
    pub vectors: [Ptr<'a, S>; 3],
}

impl<'a, O, H: Handle, S: Scalar + Real> Epilogue<'a, O, H, S> {
    /// Whether the product's elements are the sums.
    pub(crate) fn is_identity(&self) -> bool {
        let Self { alpha, beta, row_scales, column_scales, bias, activation, .. } = self;
        let vectors = [row_scales, column_scales, bias].into_iter().any(Option::is_some);
        *alpha == S::ONE && *beta == S::ZERO && !vectors && *activation == Activation::Identity
    }

    /// Checks the lengths, of which the addend has the product's, and returns the kernels' parameters.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a wrong length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub(crate) fn parameters(&self, product: &View<'a, O, H>, [m, n]: [usize; 2]) -> Result<Parameters<'a, S>> {
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
        let addend = if self.beta == S::ZERO { 0 } else { added };
        let vector = |vector: &Option<View<'a, S, H>>, len: usize, name: &'static str| -> Result<Ptr<'a, S>> {
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

    /// Checks that A, B and the product have these lengths, and that the product overlaps nothing that is read.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if not, [`Error::OtherDevice`](crate::Error::OtherDevice) for memory
    /// of another device.
    pub(crate) fn require<T>(
        &self,
        device: &H,
        [of_a, of_b, of_product]: [usize; 3],
        [a, b]: [View<'_, T, H>; 2],
        product: View<'_, O, H>,
    ) -> Result<()> {
        a.require(device, of_a, "A")?;
        b.require(device, of_b, "B")?;
        let own = self.vectors().map(|view| view.span()).chain(self.addend.iter().map(|view| view.span()));
        product.require_output(device, of_product, &[a.span(), b.span()].into_iter().chain(own).collect::<Vec<_>>())
    }

    /// The launch, which reads the epilogue's memory.
    pub(crate) fn read_by(&self, launch: Launch<'a>) -> Launch<'a> {
        let launch = self.vectors().fold(launch, |launch, view| launch.using([view.reads()]));
        self.addend.iter().fold(launch, |launch, view| launch.using([view.reads()]))
    }

    fn vectors(&self) -> impl Iterator<Item = View<'a, S, H>> {
        [self.row_scales, self.column_scales, self.bias].into_iter().flatten()
    }
}
