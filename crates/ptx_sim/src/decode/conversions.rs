//! Which conversions between scalars PTX has. ptxas refuses the others, so a module that contains one is not valid;
//! an instruction that is merely not supported would stop the run only when it is executed.

/// Integer, or float of 16, 32 or 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scalar {
    kind: char,
    bits: u32,
}

impl Scalar {
    fn of(word: &str) -> Option<Self> {
        let (kind, bits) = (word.chars().next()?, word.get(1..)?.parse().ok()?);
        let exists = matches!((kind, bits), ('u' | 's', 8 | 16 | 32 | 64) | ('f', 16 | 32 | 64));
        exists.then_some(Self { kind, bits })
    }

    fn is_float(self) -> bool {
        self.kind == 'f'
    }

    fn is_single(self) -> bool {
        self.is_float() && self.bits == 32
    }

    /// Whether an integer type contains all values of another one.
    fn contains(self, other: Self) -> bool {
        match (self.kind, other.kind) {
            ('s', 'u') => self.bits > other.bits,
            ('u', 's') => false,
            _ => self.bits >= other.bits,
        }
    }
}

/// Kind of a rounding modifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    ToInteger,
    ToFloat,
}

/// Whether PTX has this conversion; `None` if it is not one between scalars, or has modifiers of others.
pub fn exists(opcode: &str) -> Option<bool> {
    let words: Vec<&str> = opcode.split('.').skip(1).collect();
    let types: Vec<Scalar> = words.iter().filter_map(|word| Scalar::of(word)).collect();
    let &[to, from] = &types[..] else { return None };
    let (mut rounding, mut flushes, mut saturates) = (None, false, false);
    for word in words.into_iter().filter(|word| Scalar::of(word).is_none()) {
        match word {
            "rni" | "rzi" | "rmi" | "rpi" if rounding.is_none() => rounding = Some(Rounding::ToInteger),
            "rn" | "rz" | "rm" | "rp" if rounding.is_none() => rounding = Some(Rounding::ToFloat),
            "ftz" if !flushes => flushes = true,
            "sat" if !saturates => saturates = true,
            _ => return None,
        }
    }
    let rounded = match (to.is_float(), from.is_float()) {
        (true, true) if to.bits == from.bits => rounding != Some(Rounding::ToFloat),
        (true, true) if to.bits < from.bits => rounding == Some(Rounding::ToFloat),
        (true, true) | (false, false) => rounding.is_none(),
        (true, false) => rounding == Some(Rounding::ToFloat),
        (false, true) => rounding == Some(Rounding::ToInteger),
    };
    let may_flush = to.is_single() || from.is_single();
    let may_saturate = to.is_float() || from.is_float() || !to.contains(from);
    Some(rounded && (may_flush || !flushes) && (may_saturate || !saturates))
}

#[cfg(test)]
mod tests {
    use super::exists;
    use crate::Program;
    use crate::isa::instructions::find;

    const ROUNDINGS: [&str; 9] = ["", ".rni", ".rzi", ".rmi", ".rpi", ".rn", ".rz", ".rm", ".rp"];
    const TYPES: [&str; 11] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"];

    /// All forms, of which ptxas 13.5 accepts those that exist.
    fn forms() -> impl Iterator<Item = String> {
        let words = ROUNDINGS.into_iter().flat_map(|rounding| ["", ".ftz"].map(|ftz| (rounding, ftz)));
        let words = words.flat_map(|(rounding, ftz)| ["", ".sat"].map(|sat| format!("cvt{rounding}{ftz}{sat}")));
        words.flat_map(|words| {
            TYPES
                .into_iter()
                .flat_map(move |to| TYPES.map(|from| (to, from)))
                .map(move |(to, from)| format!("{words}.{to}.{from}"))
        })
    }

    #[test]
    fn every_conversion_between_scalars_that_exists_is_supported() {
        let missing = |form: &String| exists(form) == Some(true) && find(form).is_none();
        let missing: Vec<String> =
            forms().filter(missing).filter(|form| find(&format!("{form}.r32.r32")).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(forms().filter(|form| exists(form) == Some(true)).count(), FORMS);
    }

    /// Number of forms that ptxas 13.5 accepts.
    const FORMS: usize = 704;

    #[test]
    fn others_are_no_ptx() {
        let parse = |form: &str| {
            Program::parse(&format!(
                ".version 8.6\n.target sm_90\n.address_size 64\n.entry k()\n{{\n.reg .b16 %h<3>;\n.reg .b32 %r<3>;\n\
                 .reg .b64 %d<3>;\n{form};\nret;\n}}\n"
            ))
        };
        for form in [
            "cvt.f32.s32 %r1, %r2",
            "cvt.u32.f32 %r1, %r2",
            "cvt.rn.u32.u64 %r1, %d2",
            "cvt.rni.f16.f32 %h1, %r2",
            "cvt.rn.f64.f32 %d1, %r2",
            "cvt.rn.ftz.f64.s32 %d1, %r2",
            "cvt.sat.s32.u16 %r1, %h2",
        ] {
            assert!(parse(form).is_err(), "{form}");
        }
        for form in ["cvt.f32.ftz.rn.s32 %r1, %r2", "cvt.sat.u32.s8 %r1, %h2", "cvt.rni.sat.f16.f16 %h1, %h2"] {
            assert!(parse(form).is_ok(), "{form}");
        }
    }
}
