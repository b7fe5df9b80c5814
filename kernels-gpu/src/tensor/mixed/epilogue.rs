//! What becomes of a sum before it is stored: scales, an addend, a bias, an activation.

use super::accumulator::Sum;
use super::precision::Precision;
use cuda_std::math::{Float, fast};

/// Bit of `how`: sums are stored with 32 bits.
pub const WIDE: u32 = 4;

/// Bit of `how`: sums are finished as the parameters say.
pub const FINISHED: u32 = 8;

/// Bit of `how`: negative results become 0.
pub const RELU: u32 = 16;

/// Bit of `how`: Gaussian error linear units, with the approximation by tanh.
pub const GELU: u32 = 32;

/// The parameters; pointers to nothing are null.
#[derive(Clone, Copy)]
pub struct Epilogue {
    /// Factor of all sums.
    pub alpha: f32,
    /// Factor of the addend.
    pub beta: f32,
    /// A matrix of the product's type and size.
    pub addend: *const u8,
    /// A factor for each row.
    pub row_scales: *const f32,
    /// A factor for each column.
    pub column_scales: *const f32,
    /// A summand for each column.
    pub bias: *const f32,
}

/// The parameters of a column.
#[derive(Clone, Copy)]
pub struct Column {
    scale: f32,
    bias: f32,
}

impl Epilogue {
    /// The factor of a row, `alpha` included.
    ///
    /// # Safety
    /// The row is one of the product's.
    #[inline(always)]
    pub unsafe fn row(&self, row: u32) -> f32 {
        if self.row_scales.is_null() {
            return self.alpha;
        }
        // SAFETY: the caller upholds this function's contract.
        self.alpha * unsafe { *self.row_scales.add(row as usize) }
    }

    /// The parameters of a column.
    ///
    /// # Safety
    /// The column is one of the product's.
    #[inline(always)]
    pub unsafe fn column(&self, column: u32) -> Column {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            Column {
                scale: if self.column_scales.is_null() { 1.0 } else { *self.column_scales.add(column as usize) },
                bias: if self.bias.is_null() { 0.0 } else { *self.bias.add(column as usize) },
            }
        }
    }

    /// The result for the sum of element `index` of the product: `activation(row * column.scale * sum + beta * addend +
    /// column.bias)`.
    ///
    /// # Safety
    /// The element is one of the product's.
    #[inline(always)]
    pub unsafe fn finish<P: Precision>(&self, sum: P::Sum, row: f32, column: Column, index: usize, how: u32) -> f32 {
        let mut x = row * column.scale * sum.float();
        if !self.addend.is_null() {
            // SAFETY: the caller upholds this function's contract.
            let addend = unsafe {
                if how & WIDE != 0 {
                    *self.addend.cast::<f32>().add(index)
                } else {
                    P::unpack(*self.addend.cast::<u16>().add(index))
                }
            };
            x = Float::mul_add(self.beta, addend, x);
        }
        x += column.bias;
        if how & RELU != 0 {
            // NaN stays.
            x = if x < 0.0 { 0.0 } else { x };
        }
        if how & GELU != 0 {
            x = gelu(x);
        }
        x
    }
}

/// `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, as `x / (1 + exp(-2 …))`.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    /// `-2 sqrt(2 / pi)`.
    const FACTOR: f32 = -1.595_769;
    let inner = x * Float::mul_add(0.044_715 * x, x, 1.0);
    x * fast::recip(1.0 + fast::exp(FACTOR * inner))
}
