//! What becomes of a sum of a product before it is stored: scales, an addend, a bias, an activation.

use crate::number::Number;
use crate::unroll::unroll;
use core::f64::consts::LOG2_E;
use core::ops::Mul;
use cuda_std::math::{Float, fast};

/// Bit of `how`: sums are finished as the parameters say.
pub const FINISHED: u32 = 8;

/// Bit of `how`: negative results become 0.
pub const RELU: u32 = 16;

/// Bit of `how`: Gaussian error linear units, with the approximation by tanh.
pub const GELU: u32 = 32;

/// A type in which sums are finished.
pub trait Real: Number + Float + Mul<Output = Self> {
    /// The number 1.
    const ONE: Self;

    /// `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, as `x / (1 + exp(-2 …))`.
    fn gelu(self) -> Self;
}

impl Real for f32 {
    const ONE: Self = 1.0;

    #[inline(always)]
    fn gelu(self) -> Self {
        /// `-2 sqrt(2 / pi)`.
        const FACTOR: f32 = -1.595_769;
        let inner = self * Float::mul_add(0.044_715 * self, self, 1.0);
        self * fast::recip(1.0 + fast::exp(FACTOR * inner))
    }
}

impl Real for f64 {
    const ONE: Self = 1.0;

    #[inline(always)]
    fn gelu(self) -> Self {
        /// `-2 sqrt(2 / pi)`.
        const FACTOR: f64 = -1.595_769_121_605_730_7;
        let inner = self * Float::mul_add(0.044_715 * self, self, 1.0);
        self / (1.0 + exp(FACTOR * inner))
    }
}

/// `e^x` with a relative error below `4 * f64::EPSILON`: `2^n e^r` with `|r|` up to `ln 2 / 2`, of which Taylor's
/// polynomial of degree 13 is within 5e-18.
#[inline(always)]
fn exp(x: f64) -> f64 {
    /// `ln 2` in two parts: the product of the first with `n` is exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    /// `1 / i!` from 13 down to 0.
    const TERMS: [f64; 14] = terms();
    // From here on the result is 0 or infinite.
    let x = Float::max_num(Float::min_num(x, 1400.0), -1400.0);
    let n = Float::round_ties_even(x * LOG2_E);
    let r = Float::mul_add(n, -LN_2[1], Float::mul_add(n, -LN_2[0], x));
    let mut sum = TERMS[0];
    unroll!(i < 13 => { sum = Float::mul_add(sum, r, TERMS[i + 1]) });
    // In two factors, because `n` has up to twice the exponents of a number.
    let n = n as i32;
    let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    sum * power(n / 2) * power(n - n / 2)
}

/// The coefficients of `e^x`, that of the highest power first.
const fn terms<const N: usize>() -> [f64; N] {
    let (mut terms, mut factorial, mut i) = ([1.0; N], 1.0, 1);
    while i < N {
        factorial *= i as f64;
        terms[N - 1 - i] = 1.0 / factorial;
        i += 1;
    }
    terms
}

/// The parameters; pointers to nothing are null.
#[derive(Clone, Copy)]
pub struct Epilogue<S> {
    /// Factor of all sums.
    pub alpha: S,
    /// Factor of the addend.
    pub beta: S,
    /// A matrix of the product's type and size.
    pub addend: *const u8,
    /// A factor for each row.
    pub row_scales: *const S,
    /// A factor for each column.
    pub column_scales: *const S,
    /// A summand for each column.
    pub bias: *const S,
}

/// The parameters of a column.
#[derive(Clone, Copy)]
pub struct Column<S> {
    scale: S,
    bias: S,
}

impl<S: Real> Epilogue<S> {
    /// The factor of a row, `alpha` included.
    ///
    /// # Safety
    /// The row is one of the product's.
    #[inline(always)]
    pub unsafe fn row(&self, row: usize) -> S {
        if self.row_scales.is_null() {
            return self.alpha;
        }
        // SAFETY: the caller upholds this function's contract.
        self.alpha * unsafe { *self.row_scales.add(row) }
    }

    /// The parameters of neighbouring columns from `first` on; of columns from `end` on, which are not there, those of
    /// the last one.
    ///
    /// # Safety
    /// The product has `end` columns.
    #[inline(always)]
    pub unsafe fn columns<const N: usize>(&self, first: usize, end: usize) -> [Column<S>; N] {
        let mut columns = [Column { scale: S::ONE, bias: S::ZERO }; N];
        let at = |i: usize| (first + i).min(end.wrapping_sub(1));
        if !self.column_scales.is_null() {
            // SAFETY: the column is the product's.
            unroll!(i < N => { columns[i].scale = unsafe { *self.column_scales.add(at(i)) } });
        }
        if !self.bias.is_null() {
            // SAFETY: the same.
            unroll!(i < N => { columns[i].bias = unsafe { *self.bias.add(at(i)) } });
        }
        columns
    }

    /// Makes sums results: `activation(row * column.scale * sum + beta * addend + column.bias)`; addends are not used
    /// if there are none.
    #[inline(always)]
    pub fn finish<const N: usize>(
        &self,
        sums: &mut [S; N],
        rows: &[S; N],
        columns: &[Column<S>; N],
        addends: &[S; N],
        how: u32,
    ) {
        unroll!(i < N => { sums[i] = rows[i] * columns[i].scale * sums[i] });
        if !self.addend.is_null() {
            unroll!(i < N => { sums[i] = self.beta.mul_add(addends[i], sums[i]) });
        }
        unroll!(i < N => { sums[i] = sums[i].add(columns[i].bias) });
        if how & RELU != 0 {
            // NaN stays.
            unroll!(i < N => { if sums[i] < S::ZERO { sums[i] = S::ZERO } });
        }
        if how & GELU != 0 {
            unroll!(i < N => { sums[i] = sums[i].gelu() });
        }
    }
}
