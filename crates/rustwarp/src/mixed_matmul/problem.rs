//! Sizes of a batch as the kernels take them.

use crate::error::{Error, Result};
use crate::matmul::{Batch, Sizes, small};

/// Products of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub rows: u32,
    pub columns: u32,
    pub depth: u32,
    /// Number of products.
    pub count: u32,
    /// Elements from one A, B and product to the next.
    pub steps: [u64; 3],
    /// Elements from one row in memory of each to the next.
    pub pitches: [u32; 3],
}

impl Problem {
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, as many products, and leading dimensions that are less than a
    /// row or beyond 2^32 - 1.
    pub fn new(sizes: Sizes, batch: Batch) -> Result<Self> {
        let Sizes { m, n, k, .. } = sizes;
        let fits = |n: usize| u32::try_from(n).ok().filter(|n| *n < (1 << 31) - 512);
        match (fits(m), fits(n), fits(k), fits(batch.count)) {
            (Some(rows), Some(columns), Some(depth), Some(count)) => {
                // Nothing follows a single matrix, and nothing lies in one without elements.
                let used = count > 1 && rows > 0 && columns > 0 && depth > 0;
                let [a, b, product] = batch.steps.map(|step| step as u64);
                let steps = [if used { a } else { 0 }, if used { b } else { 0 }, if count > 1 { product } else { 0 }];
                Ok(Self { rows, columns, depth, count, steps, pitches: small(sizes.pitches()?)? })
            }
            _ => {
                let what = format!("{} of {m}x{n}x{k}", batch.count);
                Err(Error::Argument(format!("sizes and batches are below 2^31 - 512, not {what}: multiply in parts")))
            }
        }
    }

    /// Elements of all products.
    pub fn elements(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns) * u64::from(self.count)
    }

    /// Number and distance of the matrices of factor 0 or 1.
    pub fn matrices(&self, factor: usize) -> (u32, u64) {
        let step = self.steps[factor];
        (if step == 0 { self.count.min(1) } else { self.count }, step)
    }
}
