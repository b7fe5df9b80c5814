//! Modifiers of `ld`, `st`, `atom`, `red` and fences. PTX ISA, "Data Movement", "Parallel Synchronization".

/// State spaces of the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Generic addresses, resolved for each lane.
    Generic,
    /// Device memory.
    Global,
    /// Memory of the block; addresses are 32-bit offsets from its start.
    Shared,
    /// Private memory of the thread.
    Local,
    /// Read-only device memory.
    Const,
    /// Parameters of the kernel: read-only and equal for all threads.
    Param,
    /// Parameters of a device function, incoming or being passed: part of the thread's frame, not counted as local
    /// traffic.
    Frame,
}

/// Memory order in PTX's terms. `Weak` is an ordinary access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    Mmio,
}

/// Scope of an ordered access: the threads for which its order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// The modifiers of a memory instruction, independent of their order in the opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modifiers<'t> {
    pub space: Space,
    /// `Weak` where the text names none.
    pub order: Order,
    pub scope: Option<Scope>,
    pub non_coherent: bool,
    pub lanes: u8,
    /// Whether the last operand is a cache policy for L2.
    pub cache_hint: bool,
    /// For `atom` and `red`.
    pub operation: Option<AtomicOperation>,
    /// Type without the dot, such as `b32`.
    pub kind: &'t str,
}

/// Parses the words after `ld`, as in `ld.relaxed.gpu.global.v2.b32`; `None` if one of them is unknown.
pub(crate) fn modifiers<'t>(words: &[&'t str]) -> Option<Modifiers<'t>> {
    let mut found = Modifiers {
        space: Space::Generic,
        order: Order::Weak,
        scope: None,
        non_coherent: false,
        lanes: 1,
        cache_hint: false,
        operation: None,
        kind: "",
    };
    for &word in words {
        if let Some(space) = space(word) {
            found.space = space;
            continue;
        }
        if let Some(operation) = AtomicOperation::named(word) {
            found.operation = Some(operation);
            continue;
        }
        match word {
            "weak" => found.order = Order::Weak,
            // `.cv` reads memory again each time, as volatile does.
            "volatile" | "cv" => found.order = Order::Volatile,
            "relaxed" => found.order = Order::Relaxed,
            "acquire" => found.order = Order::Acquire,
            "release" => found.order = Order::Release,
            "acq_rel" => found.order = Order::AcqRel,
            "mmio" => found.order = Order::Mmio,
            "cta" => found.scope = Some(Scope::Cta),
            "cluster" => found.scope = Some(Scope::Cluster),
            "gpu" => found.scope = Some(Scope::Gpu),
            "sys" => found.scope = Some(Scope::Sys),
            "nc" => found.non_coherent = true,
            "v2" => found.lanes = 2,
            "v4" => found.lanes = 4,
            "v8" => found.lanes = 8,
            // Cache operators, and the request to keep subnormal numbers, which is the default here.
            "ca" | "cg" | "cs" | "lu" | "wb" | "wt" | "noftz" => {}
            // The cache policy is an additional operand at the end.
            "L2::cache_hint" => found.cache_hint = true,
            _ if word.starts_with("L1::") || word.starts_with("L2::") => {}
            _ if crate::syntax::type_bytes(word).is_some() && word != "pred" => found.kind = word,
            _ => return None,
        }
    }
    (!found.kind.is_empty()).then_some(found)
}

/// Parses the name of a state space.
pub(crate) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// Parses the words after `fence`: order and scope.
pub(crate) fn fence(words: &[&str]) -> Option<(Order, Scope)> {
    let (order, scope) = match *words {
        // The words come in any order, and the order of the fence is `.acq_rel` if the text has none.
        [scope] => ("acq_rel", scope),
        [order @ ("sc" | "acq_rel" | "acquire" | "release"), scope] | [scope, order] => (order, scope),
        _ => return None,
    };
    let order = match order {
        "sc" => Order::SeqCst,
        "acq_rel" => Order::AcqRel,
        "acquire" => Order::Acquire,
        "release" => Order::Release,
        _ => return None,
    };
    let scope = match scope {
        "cta" => Scope::Cta,
        "cluster" => Scope::Cluster,
        "gpu" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    };
    Some((order, scope))
}

/// Parses the words after `membar`: the scope of a sequentially consistent fence.
pub(crate) fn membar(words: &[&str]) -> Option<(Order, Scope)> {
    let scope = match *words {
        ["cta"] => Scope::Cta,
        ["gl"] => Scope::Gpu,
        ["sys"] => Scope::Sys,
        _ => return None,
    };
    Some((Order::SeqCst, scope))
}

/// The operation of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum AtomicOperation {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    Inc,
    Dec,
    Exch,
    Cas,
}

impl AtomicOperation {
    /// Returns the operation that a word such as `add` names.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "add" => Self::Add,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "min" => Self::Min,
            "max" => Self::Max,
            "inc" => Self::Inc,
            "dec" => Self::Dec,
            "exch" => Self::Exch,
            "cas" => Self::Cas,
            _ => return None,
        })
    }
}

/// Returns the function that computes the new value of a read-modify-write from (old, b, c), all zero-extended.
pub(crate) fn combine(operation: AtomicOperation, kind: &str) -> Option<fn(u64, u64, u64) -> u64> {
    use AtomicOperation::{Add, And, Cas, Dec, Exch, Inc, Max, Min, Or, Xor};
    macro_rules! on {
        ($t:ty, $f:expr) => {
            |old, b, _| {
                let f: fn($t, $t) -> $t = $f;
                f(old as $t, b as $t) as u64
            }
        };
    }
    Some(match (operation, kind) {
        (Exch, "b32" | "u32" | "s32" | "f32" | "b64" | "u64" | "s64" | "f64") => |_, b, _| b,
        (Cas, "b16" | "b32" | "u32" | "s32" | "b64" | "u64" | "s64") => |old, b, c| if old == b { c } else { old },
        (And, "b32" | "b64") => |old, b, _| old & b,
        (Or, "b32" | "b64") => |old, b, _| old | b,
        (Xor, "b32" | "b64") => |old, b, _| old ^ b,
        (Add, "u32" | "s32") => on!(u32, u32::wrapping_add),
        (Add, "u64" | "s64") => on!(u64, u64::wrapping_add),
        (Min, "u32") => on!(u32, Ord::min),
        (Max, "u32") => on!(u32, Ord::max),
        (Min, "u64") => on!(u64, Ord::min),
        (Max, "u64") => on!(u64, Ord::max),
        (Min, "s32") => |old, b, _| u64::from((old as i32).min(b as i32) as u32),
        (Max, "s32") => |old, b, _| u64::from((old as i32).max(b as i32) as u32),
        (Min, "s64") => |old, b, _| (old as i64).min(b as i64) as u64,
        (Max, "s64") => |old, b, _| (old as i64).max(b as i64) as u64,
        (Inc, "u32") => on!(u32, |old, b| if old >= b { 0 } else { old + 1 }),
        (Dec, "u32") => on!(u32, |old, b| if old == 0 || old > b { b } else { old - 1 }),
        (Add, "f32") => |old, b, _| {
            let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
            u64::from(super::float::canonical(sum))
        },
        (Add, "f16") => on!(u16, super::half::add_half),
        (Add, "bf16") => on!(u16, super::half::add_bfloat),
        (Add, "f16x2") => on!(u32, |old, b| pairs(super::half::add_half, old, b)),
        (Add, "bf16x2") => on!(u32, |old, b| pairs(super::half::add_bfloat, old, b)),
        (Min, "f16") => on!(u16, |old, b| super::half::extreme_half(old, b, false)),
        (Max, "f16") => on!(u16, |old, b| super::half::extreme_half(old, b, true)),
        (Min, "bf16") => on!(u16, |old, b| super::half::extreme_bfloat(old, b, false)),
        (Max, "bf16") => on!(u16, |old, b| super::half::extreme_bfloat(old, b, true)),
        (Min, "f16x2") => on!(u32, |old, b| pairs(|x, y| super::half::extreme_half(x, y, false), old, b)),
        (Max, "f16x2") => on!(u32, |old, b| pairs(|x, y| super::half::extreme_half(x, y, true), old, b)),
        (Min, "bf16x2") => on!(u32, |old, b| pairs(|x, y| super::half::extreme_bfloat(x, y, false), old, b)),
        (Max, "bf16x2") => on!(u32, |old, b| pairs(|x, y| super::half::extreme_bfloat(x, y, true), old, b)),
        (Add, "f64") => |old, b, _| {
            let (old, b) = (f64::from_bits(old), f64::from_bits(b));
            super::float::propagated(old + b, [b, old])
        },
        _ => return None,
    })
}

/// Returns the new value of a read-modify-write of 16 bytes, of which PTX has `exch` and `cas`.
pub(crate) fn combine_wide(operation: AtomicOperation, old: u128, b: u128, c: u128) -> u128 {
    match operation {
        AtomicOperation::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        _ => b,
    }
}

/// Applies a function of 16-bit numbers to both halves.
fn pairs(f: fn(u16, u16) -> u16, a: u32, b: u32) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_in_any_order() {
        let found = modifiers(&["relaxed", "gpu", "global", "L1::no_allocate", "v2", "b32"]);
        let found = found.map(|m| (m.space, m.order, m.scope, m.lanes, m.kind));
        assert_eq!(found, Some((Space::Global, Order::Relaxed, Some(Scope::Gpu), 2, "b32")));
        assert!(modifiers(&["global", "strange", "b32"]).is_none());
        assert!(modifiers(&["global", "L2::cache_hint", "b32"]).is_some_and(|m| m.cache_hint));
        assert_eq!(fence(&["acq_rel", "gpu"]), Some((Order::AcqRel, Scope::Gpu)));
        assert_eq!(fence(&["gpu", "sc"]), Some((Order::SeqCst, Scope::Gpu)));
        assert_eq!(fence(&["cta"]), Some((Order::AcqRel, Scope::Cta)));
        assert_eq!((fence(&["sc"]), fence(&["cta", "gpu"])), (None, None));
        assert_eq!(membar(&["gl"]), Some((Order::SeqCst, Scope::Gpu)));
    }

    #[test]
    fn read_modify_writes_of_16_bytes() {
        let (old, other) = (1 << 64 | 7, 2 << 64 | 7);
        assert_eq!(combine_wide(AtomicOperation::Exch, old, other, other), other);
        assert_eq!(combine_wide(AtomicOperation::Cas, old, old, 9), 9);
        // The halves are compared together.
        assert_eq!(combine_wide(AtomicOperation::Cas, old, other, 9), old);
    }

    #[test]
    fn read_modify_writes() {
        let cases: &[(&str, &str, u64, u64, u64, u64)] = &[
            ("add", "u32", 0xffff_ffff, 2, 2, 1),
            ("add", "f32", 0x3f80_0000, 0x3f80_0000, 0, 0x4000_0000),
            ("add", "f64", 0x3ff0_0000_0000_0000, 0x3ff0_0000_0000_0000, 0, 0x4000_0000_0000_0000),
            ("add", "f16x2", 0x3c00_0000, 0x3c00_3c00, 0, 0x4000_3c00),
            ("min", "s32", 5, 0xffff_ffff, 0, 0xffff_ffff),
            ("max", "s64", u64::MAX, 0, 0, 0),
            ("inc", "u32", 5, 5, 0, 0),
            ("inc", "u32", 4, 5, 0, 5),
            ("dec", "u32", 0, 5, 0, 5),
            ("dec", "u32", 9, 5, 0, 5),
            ("dec", "u32", 3, 5, 0, 2),
            ("exch", "b32", 1, 2, 0, 2),
            ("cas", "b32", 1, 1, 7, 7),
            ("cas", "b64", 2, 1, 7, 2),
        ];
        for &(operation, kind, old, b, c, expected) in cases {
            let found = AtomicOperation::named(operation).and_then(|named| combine(named, kind)).map(|f| f(old, b, c));
            assert_eq!(found, Some(expected), "{operation}.{kind}");
        }
        assert!(AtomicOperation::named("nand").is_none() && combine(AtomicOperation::And, "f32").is_none());
    }
}
