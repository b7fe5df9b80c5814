//! Work: the arithmetic operations of an instruction, from its row.

use crate::isa::facts::{Facts, Work};
use crate::program::{MatrixKind, Op, Warpgroup};

/// The kind of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `f16`, `bf16` and narrower formats.
    F16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Matrix instructions, in any type.
    Tensor,
    /// Integer arithmetic, logic, shifts.
    Integer,
}

/// Returns the operations of one lane; `None` for an instruction that only moves, compares, converts or controls.
pub(super) fn of(facts: &Facts, op: &Op) -> Option<(Kind, u64)> {
    let (kind, operations) = match facts.work {
        Work::None => return None,
        Work::F16(operations) => (Kind::F16, operations),
        Work::F32(operations) => (Kind::F32, operations),
        Work::F64(operations) => (Kind::F64, operations),
        Work::Integer(operations) => (Kind::Integer, operations),
        Work::Product => return product(op),
    };
    Some((kind, u64::from(operations)))
}

/// A product multiplies an m×k by a k×n matrix and adds: 2mnk operations for the 32 lanes together.
fn product(op: &Op) -> Option<(Kind, u64)> {
    let shape = match op {
        Op::Matrix(matrix) => match matrix.kind {
            MatrixKind::Multiply(shape) => shape,
            _ => return None,
        },
        Op::Warpgroup(Warpgroup::Multiply(product)) => product.shape,
        _ => return None,
    };
    Some((Kind::Tensor, 2 * (shape.m * shape.n * shape.depth()) as u64 / 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;

    /// The work of a statement.
    fn work(statement: &str) -> Option<(Kind, u64)> {
        let text = format!(
            ".version 8.7\n.target sm_100\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<4>;\n\
             .reg .b16 %h<4>;\n.reg .b32 %r<20>;\n.reg .b64 %d<4>;\n{statement}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let function = &program.functions[0];
        assert!(!matches!(function.code[0].op, Op::Unsupported(_)), "{statement}");
        of(function.facts(0), &function.code[0].op)
    }

    #[test]
    fn a_fused_multiply_add_is_two() {
        assert_eq!(work("fma.rn.f32 %r1, %r2, %r3, %r4;"), Some((Kind::F32, 2)));
        assert_eq!(work("add.rn.f64 %d1, %d2, %d3;"), Some((Kind::F64, 1)));
        assert_eq!(work("fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), Some((Kind::F16, 4)));
        assert_eq!(work("mad.lo.s32 %r1, %r2, %r3, %r4;"), Some((Kind::Integer, 2)));
        assert_eq!(work("xor.b32 %r1, %r2, %r3;"), Some((Kind::Integer, 1)));
        assert_eq!(work("neg.f32 %r1, %r2;"), None);
        assert_eq!(work("neg.s32 %r1, %r2;"), Some((Kind::Integer, 1)));
        for moved in [
            "mov.b32 %r1, %r2;",
            "ld.global.f32 %r1, [%d1];",
            "setp.lt.f32 %p1, %r1, %r2;",
            "cvt.rn.f32.s32 %r1, %r2;",
            "and.pred %p1, %p2, %p3;",
            "exit;",
        ] {
            assert_eq!(work(moved), None, "{moved}");
        }
    }

    #[test]
    fn matrices_are_shared_by_the_lanes() {
        let product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
                       {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%r11, %r12, %r13, %r14};";
        assert_eq!(work(product), Some((Kind::Tensor, 2 * 16 * 8 * 16 / 32)));
        // Half of the elements are no work.
        let sparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
                      {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10}, {%r11, %r12, %r13, %r14}, %r15, 0;";
        assert_eq!(work(sparse), Some((Kind::Tensor, 2 * 16 * 8 * 8 / 32)));
        let load = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 \
                    {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1], %r9;";
        assert_eq!(work(load), None);
    }
}
