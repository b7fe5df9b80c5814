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

    /// `count` products that follow each other, the first row of each after the last of the one before.
    ///
    /// # Errors
    /// [`Error::Argument`] if a matrix has more elements than memory has, and for a leading dimension that is less than
    /// a row.
    pub fn contiguous(count: usize, sizes: Sizes) -> Result<Self> {
        let (pitches, stored) = (sizes.pitches()?, sizes.stored());
        let step = |i: usize| elements(stored[i][0], pitches[i]);
        Ok(Self { count, steps: [step(0)?, step(1)?, step(2)?] })
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
    /// [`Error::Argument`] if these are more than memory has, if products overlap, and for a leading dimension that is
    /// less than a row.
    pub fn spans(&self, sizes: Sizes) -> Result<[usize; 3]> {
        let matrices = sizes.spans()?;
        if self.count > 1 && self.steps[2] < matrices[2] && !self.are_side_by_side(sizes)? {
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

    /// Whether the rows of all products lie beside each other in the rows of one matrix.
    fn are_side_by_side(&self, sizes: Sizes) -> Result<bool> {
        let ([.., pitch], step) = (sizes.pitches()?, self.steps[2]);
        let end = (self.count - 1).checked_mul(step).and_then(|before| before.checked_add(sizes.n));
        Ok(step >= sizes.n && end.is_some_and(|end| end <= pitch))
    }

    /// Elements of all products, which follow each other.
    ///
    /// # Errors
    /// Those of [`Batch::spans`], and [`Error::Argument`] if there are gaps between products or their rows, which a new
    /// buffer would leave uninitialised.
    pub(crate) fn without_gaps(&self, sizes: Sizes) -> Result<usize> {
        sizes.require_no_gaps()?;
        let ([.., len], [.., span], step) = (sizes.spans()?, self.spans(sizes)?, self.steps[2]);
        if self.count > 1 && step != len {
            return Err(Error::Argument(format!(
                "products of {len} elements that start every {step} elements have gaps between them, which a new \
                 buffer cannot have: choose a step of {len}, or write into memory of yours"
            )));
        }
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { m: 2, n: 3, k: 4, transposed: [false, true], leading_dimensions: [0; 3] };

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
    fn products_may_lie_side_by_side() {
        let sizes = Sizes { leading_dimensions: [0, 0, 10], ..SIZES };
        assert_eq!(Batch::new(3, [8, 12, 3]).spans(sizes).expect("columns 0 to 8"), [24, 36, 2 * 3 + 13]);
        assert!(Batch::new(4, [8, 12, 3]).spans(sizes).is_err(), "the last one would reach into the next row");
        assert!(Batch::new(2, [8, 12, 2]).spans(sizes).is_err(), "a column of both");
        assert_eq!(Batch::contiguous(2, sizes).expect("it is small").steps, [8, 12, 20]);
        assert!(Batch::new(2, [8, 12, 20]).without_gaps(sizes).is_err());
    }

    #[test]
    fn overlapping_products_are_refused() {
        let refusal = Batch::new(2, [8, 12, 5]).spans(SIZES).expect_err("they overlap").to_string();
        assert!(refusal.contains("every 5 elements"), "{refusal}");
        assert!(Batch::new(usize::MAX, [8, 12, 6]).spans(SIZES).is_err());
    }
}
