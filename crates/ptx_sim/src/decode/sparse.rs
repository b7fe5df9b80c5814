//! Products of matrices whose first factor is sparse: `mma.sp`.

use super::decoder::{Decoder, Effect};
use super::matrix::{PRODUCT, consistent, product_of, registers};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::matrix::{Element, Multiply, Sparse, metadata_lanes};
use crate::program::{Matrix, Op};
use crate::syntax::tree::Operand;

/// Rows of this chapter. Products of integers take the facts of an exact product instead.
pub const ROWS: &[Effect] = &[
    Effect {
        name: "mma.sp.sync.aligned",
        facts: PRODUCT,
        decode: |d, words, operands| d.sparse_mma(false, words, operands),
    },
    Effect {
        name: "mma.sp::ordered_metadata.sync.aligned",
        facts: PRODUCT,
        decode: |d, words, operands| d.sparse_mma(true, words, operands),
    },
];

const UNKNOWN: &str = "this form of `mma.sp` is not supported";

impl<'t> Decoder<'_, 't> {
    /// Decodes `mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d, a, b, c, metadata, selector`.
    fn sparse_mma(&mut self, ordered: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let product = product_of(words)?;
        let Multiply { m, n, k, a, c, d, and, .. } = product;
        let known = match a {
            Element::F16 | Element::Bf16 => matches!(k, 16 | 32),
            Element::Tf32 => matches!(k, 8 | 16),
            Element::S8 | Element::U8 => matches!(k, 32 | 64),
            Element::E4m3 | Element::E5m2 => k == 64,
            Element::S4 | Element::U4 => matches!(k, 64 | 128),
            Element::F64 | Element::B1 => false,
        };
        if !known || (m, n) != (16, 8) || c != d || and || !consistent(&product) {
            return unsupported(UNKNOWN);
        }
        let [factors @ .., metadata, Operand::Integer(selector)] = operands else {
            return unsupported("needs metadata and a constant sparsity selector");
        };
        let selectors = 4 / metadata_lanes(&product);
        if *selector >= selectors as u64 {
            return unsupported(format!("has a sparsity selector of {selector}; 0 to {} are possible", selectors - 1));
        }
        let sparse = Some(Sparse { selector: *selector as usize, ordered });
        let matrix = self.multiply(Multiply { sparse, ..product }, factors, registers)?;
        let metadata = Some(self.source(metadata, File::Word)?.0);
        Ok(Matrix { metadata, ..matrix }.into())
    }
}
