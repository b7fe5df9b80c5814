//! The one order of an opcode's words. ptxas takes the words after an instruction's name in any order, as long as its
//! types keep theirs: `div.ftz.rn.f32` is `div.rn.ftz.f32`, and `cvt.f16.rn.f32` is `cvt.rn.f16.f32`.

/// Names of instructions with two words, which stay together: to ptxas, `mul.s32.lo` is a syntax error.
const NAMES: [&str; 18] = [
    "mul.lo", "mul.hi", "mul.wide", "mad.lo", "mad.hi", "mad.wide", "madc.lo", "madc.hi", "mul24.lo", "mul24.hi",
    "mad24.lo", "mad24.hi", "dp2a.lo", "dp2a.hi", "shf.l", "shf.r", "cvt.pack", "bar.warp",
];

/// Returns the opcode with its words in the order that all its spellings share: the name, the other words by alphabet,
/// and the types as written.
pub fn canonical(opcode: &str) -> String {
    let long = |name: &&&str| opcode.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let name = NAMES.iter().find(long).copied().unwrap_or(opcode.split('.').next().unwrap_or_default());
    let (types, mut others): (Vec<&str>, Vec<&str>) =
        opcode[name.len()..].split('.').skip(1).partition(|word| is_type(word));
    others.sort_unstable();
    let words: Vec<&str> = others.into_iter().chain(types).collect();
    // The mark keeps `mul.lo` apart from `mul` with a word `lo`.
    format!("{name}:{}", words.join("."))
}

/// Whether a word of an opcode is the type of an operand, such as `u32`, `f16x2`, `e4m3x4` and `ue8m0x2`.
pub fn is_type(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let one = word.rsplit_once('x').filter(|(_, count)| digits(count)).map_or(word, |(one, _)| one);
    if matches!(one, "pred" | "tf32") {
        return true;
    }
    let numbered = |prefix: &str| one.strip_prefix(prefix).is_some_and(digits);
    // The sizes of the fields of a format: exponent and significand, or integer part and fraction.
    let fields = |first: &str, second: char| {
        let sizes = one.strip_prefix(first).and_then(|rest| rest.split_once(second));
        sizes.is_some_and(|(a, b)| digits(a) && digits(b))
    };
    ["u", "s", "b", "f", "bf", "r"].into_iter().any(numbered)
        || fields("e", 'm')
        || fields("ue", 'm')
        || fields("s", 'f')
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn spellings_of_one_instruction_are_equal() {
        for (a, b) in [
            ("div.ftz.rn.f32", "div.rn.ftz.f32"),
            ("cvt.f16.rn.f32", "cvt.rn.f16.f32"),
            ("shfl.sync.b32.idx", "shfl.sync.idx.b32"),
            ("prmt.f4e.b32", "prmt.b32.f4e"),
            ("mad.lo.s32.cc", "mad.lo.cc.s32"),
            ("cvt.e4m3x2.rn.satfinite.f32", "cvt.rn.satfinite.e4m3x2.f32"),
        ] {
            assert_eq!(canonical(a), canonical(b));
        }
    }

    #[test]
    fn names_and_types_keep_their_order() {
        assert_ne!(canonical("mul.s32.lo"), canonical("mul.lo.s32"));
        assert_ne!(canonical("cvt.u32.f32"), canonical("cvt.f32.u32"));
        assert_ne!(canonical("add.ftz.ftz.f32"), canonical("add.ftz.f32"));
        assert_eq!(canonical("shf.l.b32.wrap"), canonical("shf.l.wrap.b32"));
    }
}
