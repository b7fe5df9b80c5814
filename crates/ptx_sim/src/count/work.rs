//! Work: what an instruction computes, told from its opcode. One addition, multiplication, division, square root or
//! elementary function is one operation, a fused multiply-add two, and packed forms count for every element.

/// What kind of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `f16`, `bf16`, and what is narrower.
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

/// Operations of one lane; `None` for an instruction that only moves, compares, converts or controls.
pub(super) fn of(opcode: &str) -> Option<(Kind, u64)> {
    let mut parts = opcode.split('.');
    let name = parts.next().unwrap_or_default();
    if matches!(name, "mma" | "wmma" | "wgmma") {
        return tensor(opcode);
    }
    let operations = match name {
        "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin"
        | "cos" | "tanh" | "mul24" | "addc" | "subc" => 1,
        "fma" | "mad" | "mad24" | "madc" | "sad" => 2,
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "abs" | "neg" | "popc" | "clz" | "bfind"
        | "brev" | "bfe" | "bfi" | "fns" | "lop3" | "prmt" => 1,
        "dp4a" => 8,
        "dp2a" => 4,
        _ => return None,
    };
    let sign_only = matches!(name, "abs" | "neg");
    // The last type named is that of the result's arithmetic: `cvt` is not here, `mul.wide.u32` has one.
    let kind = match parts.next_back().unwrap_or_default() {
        "f64" => Kind::F64,
        "f32" => Kind::F32,
        "f16" | "bf16" => Kind::F16,
        "f32x2" => return (!sign_only).then_some((Kind::F32, 2 * operations)),
        "f16x2" | "bf16x2" => return (!sign_only).then_some((Kind::F16, 2 * operations)),
        "pred" => return None,
        "s16x2" | "u16x2" => return Some((Kind::Integer, 2 * operations)),
        _ => return Some((Kind::Integer, operations)),
    };
    // A sign is one bit: no arithmetic.
    (!sign_only).then_some((kind, operations))
}

/// `mma.sync.aligned.m16n8k16…` multiplies an m×k by a k×n matrix and adds: 2mnk operations for the 32 lanes together.
fn tensor(opcode: &str) -> Option<(Kind, u64)> {
    if !opcode.contains(".mma") && !opcode.starts_with("mma") {
        return None; // wmma.load, wmma.store, wgmma.fence
    }
    let shape = opcode.split('.').find(|part| part.starts_with('m') && part.contains('n') && part.contains('k'))?;
    let (m, rest) = shape.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let sizes = [m, n, k].map(|size| size.parse::<u64>().ok().filter(|&size| size <= 1 << 12));
    let [Some(m), Some(n), Some(k)] = sizes else { return None };
    Some((Kind::Tensor, 2 * m * n * k / 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_multiply_add_is_two() {
        assert_eq!(of("fma.rn.f32"), Some((Kind::F32, 2)));
        assert_eq!(of("add.rn.f64"), Some((Kind::F64, 1)));
        assert_eq!(of("fma.rn.bf16x2"), Some((Kind::F16, 4)));
        assert_eq!(of("mad.lo.s32"), Some((Kind::Integer, 2)));
        assert_eq!(of("xor.b32"), Some((Kind::Integer, 1)));
        assert_eq!(of("neg.f32"), None);
        assert_eq!(of("neg.s32"), Some((Kind::Integer, 1)));
        for moved in ["mov.b32", "ld.global.f32", "setp.lt.f32", "cvt.rn.f32.s32", "and.pred", "bra", ""] {
            assert_eq!(of(moved), None, "{moved}");
        }
    }

    #[test]
    fn matrices_are_shared_by_the_lanes() {
        let opcode = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
        assert_eq!(of(opcode), Some((Kind::Tensor, 2 * 16 * 8 * 16 / 32)));
        assert_eq!(of("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), Some((Kind::Tensor, 256)));
        assert_eq!(of("wmma.load.a.sync.aligned.row.m16n16k16.global.f16"), None);
        assert_eq!(of("mma.sync.m99999n9k9.f32"), None);
    }
}
