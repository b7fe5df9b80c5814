//! Products of matrices whose first factor is sparse: `mma.sp`.

use super::decoder::{Decoder, Effect};
use super::matrix::PRODUCT;
use super::product::{consistent, product_of, registers};
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

#[cfg(test)]
mod tests {
    use crate::Program;

    /// Why a sparse product of f16 is refused, given its shape and the operands after the matrices.
    fn refused(shape: &str, rest: &str) -> Option<String> {
        let text = format!(
            ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<20>;\n\
             mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.f32.f16.f16.f32 {{%r0, %r1, %r2, %r3}}, \
             {{%r4, %r5}}, {{%r6, %r7}}, {{%r8, %r9, %r10, %r11}}{rest};\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        program.unsupported().next().map(|(_, why)| why.to_string())
    }

    #[test]
    fn a_product_needs_metadata_and_one_of_its_selectors() {
        assert_eq!(refused("m16n8k16", ", %r12, 0x3"), None);
        let says = |shape, rest, words| refused(shape, rest).is_some_and(|why| why.contains(words));
        assert!(says("m16n8k16", ", %r12, 0x4", "0 to 3 are possible"));
        assert!(says("m16n8k16", ", %r12, %r13", "a constant sparsity selector"));
        assert!(says("m16n8k16", "", "needs metadata"));
        assert!(says("m16n8k8", ", %r12, 0x0", "this form"));
        // The deeper product has twice as many registers of each factor.
        assert!(says("m16n8k32", ", %r12, 0x1", "has 2 registers, but takes 4"));
    }
}
