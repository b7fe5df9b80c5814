//! Several products of one size, whose matrices lie in memory at equal distances.

use super::sizes::{Sizes, elements};
use crate::error::{Error, Result};

/// How many products of one size there are, and where they lie. Factors and products of a batch are each one array, in
/// which matrix `i` starts at element `i * step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// Number of products.
    pub count: usize,
    /// Elements from the start of one A, one B and one product to the start of the next. 0 of A or B: all products have
    /// the same.
    pub steps: [usize; 3],
}

impl Batch {
    /// One product.
    pub const SINGLE: Self = Self { count: 1, steps: [0; 3] };

    /// `count` products at these distances.
    pub fn new(count: usize, steps: [usize; 3]) -> Self {
        Self { count, steps }
    }

    /// `count` products that follow each other without gaps.
    ///
    /// # Errors
    /// [`Error::Argument`] if a matrix has more elements than memory has.
    pub fn contiguous(count: usize, sizes: Sizes) -> Result<Self> {
        let [a, b, product] = matrices(sizes)?;
        Ok(Self { count, steps: [a, b, product] })
    }

    /// The same with one A (`0`) or one B (`1`) for all products.
    ///
    /// # Panics
    /// If `factor` is neither.
    #[must_use]
    pub fn sharing(mut self, factor: usize) -> Self {
        assert!(factor < 2, "a factor is 0 or 1, not {factor}");
        self.steps[factor] = 0;
        self
    }

    /// Elements from the first of each array to the last that belongs to a matrix: of A, B and the product.
    ///
    /// # Errors
    /// [`Error::Argument`] if these are more than memory has, and if products overlap.
    pub fn spans(&self, sizes: Sizes) -> Result<[usize; 3]> {
        let matrices = matrices(sizes)?;
        if self.count > 1 && self.steps[2] < matrices[2] {
            let (step, len) = (self.steps[2], matrices[2]);
            return Err(Error::Argument(format!(
                "products of {len} elements that start every {step} elements overlap: choose steps of {len} or more"
            )));
        }
        let span = |i: usize| match (self.count, matrices[i]) {
            (0, _) | (_, 0) => Some(0),
            (count, len) => (count - 1).checked_mul(self.steps[i]).and_then(|before| before.checked_add(len)),
        };
        let too_large = || Error::Argument(format!("{} matrices are too large for memory", self.count));
        Ok([span(0).ok_or_else(too_large)?, span(1).ok_or_else(too_large)?, span(2).ok_or_else(too_large)?])
    }

    /// Elements of all products, which follow each other.
    ///
    /// # Errors
    /// Those of [`Batch::spans`], and [`Error::Argument`] if there are gaps between products, which a new buffer would
    /// leave uninitialised.
    pub(crate) fn without_gaps(&self, sizes: Sizes) -> Result<usize> {
        let ([.., len], [.., span]) = (matrices(sizes)?, self.spans(sizes)?);
        let step = self.steps[2];
        if self.count > 1 && step != len {
            return Err(Error::Argument(format!(
                "products of {len} elements that start every {step} elements have gaps between them, which a new \
                 buffer cannot have: choose a step of {len}, or write into memory of yours"
            )));
        }
        Ok(span)
    }
}

/// Elements of A, B and a product.
fn matrices(Sizes { m, n, k, .. }: Sizes) -> Result<[usize; 3]> {
    Ok([elements(m, k)?, elements(k, n)?, elements(m, n)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { m: 2, n: 3, k: 4, transposed: [false, true] };

    #[test]
    fn spans_end_with_the_last_matrix() {
        let batch = Batch::contiguous(5, SIZES).expect("it is small");
        assert_eq!(batch.steps, [8, 12, 6]);
        assert_eq!(batch.spans(SIZES).expect("no overlap"), [40, 60, 30]);
        assert_eq!(batch.sharing(1).spans(SIZES).expect("no overlap"), [40, 12, 30]);
        assert_eq!(Batch::new(3, [10, 0, 7]).spans(SIZES).expect("no overlap"), [28, 12, 20]);
        assert_eq!(Batch::new(0, [10, 0, 7]).spans(SIZES).expect("no product"), [0; 3]);
        assert_eq!(Batch::SINGLE.spans(SIZES).expect("one product"), [8, 12, 6]);
    }

    #[test]
    fn a_new_buffer_has_no_gaps() {
        let len = |batch: Batch| batch.without_gaps(SIZES);
        assert_eq!(len(Batch::contiguous(5, SIZES).expect("it is small")).expect("no gap"), 30);
        assert_eq!(len(Batch::SINGLE).expect("one product"), 6);
        assert_eq!(len(Batch::new(0, [0, 0, 9])).expect("no product"), 0);
        let refusal = len(Batch::new(2, [8, 12, 9])).expect_err("there is a gap").to_string();
        assert!(refusal.contains("every 9 elements"), "{refusal}");
    }

    #[test]
    fn overlapping_products_are_refused() {
        let refusal = Batch::new(2, [8, 12, 5]).spans(SIZES).expect_err("they overlap").to_string();
        assert!(refusal.contains("every 5 elements"), "{refusal}");
        assert!(Batch::new(usize::MAX, [8, 12, 6]).spans(SIZES).is_err());
    }
}
