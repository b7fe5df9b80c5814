//! The first architecture that has an instruction, by the words of its opcode. PTX ISA, the notes on targets of each
//! instruction; where they differ from ptxas, the rule is that of ptxas.

/// A rule: what an instruction's words require of the module's `.target`.
#[derive(Clone, Copy)]
struct Rule {
    /// First words of the opcodes to which the rule applies; empty for all.
    name: &'static str,
    /// Words that such an opcode also has, in any order.
    words: &'static [&'static str],
    first: Target,
}

/// An architecture, as a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Number of the architecture: 90 for `sm_90`.
    pub number: u32,
    /// Whether the architecture's own instructions are needed or available: `sm_90a`, `sm_100f`.
    pub own: bool,
}

impl Target {
    /// Parses `sm_90a`; `None` for other texts.
    pub fn of(name: &str) -> Option<Self> {
        let text = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = text.trim_end_matches(['a', 'f']);
        Some(Self { number: digits.parse().ok()?, own: digits.len() < text.len() })
    }

    /// Whether modules for this target may have what needs `first`. Instructions of an architecture's own are not those
    /// of later ones in general; for them the rules have the first architecture.
    pub fn has(self, first: Self) -> bool {
        self.number >= first.number && (self.own || !first.own)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.own { "a" } else { "" })
    }
}

const fn rule(name: &'static str, words: &'static [&'static str], number: u32) -> Rule {
    Rule { name, words, first: Target { number, own: false } }
}

/// A rule for instructions that an architecture has as its own.
const fn own(name: &'static str, words: &'static [&'static str], number: u32) -> Rule {
    Rule { name, words, first: Target { number, own: true } }
}

/// Rules for the words of any instruction.
const WORDS: &[Rule] = &[
    rule("", &["acquire"], 70),
    rule("", &["release"], 70),
    rule("", &["acq_rel"], 70),
    rule("", &["relaxed"], 70),
    rule("", &["weak"], 70),
    rule("", &["mmio"], 70),
    rule("", &["cluster"], 90),
    rule("", &["shared::cluster"], 90),
    rule("", &["satfinite"], 70),
    rule("", &["relu"], 80),
    rule("", &["NaN"], 80),
    rule("", &["xorsign"], 86),
    rule("", &["b128"], 70),
    rule("", &["bf16"], 80),
    rule("", &["bf16x2"], 80),
    rule("", &["tf32"], 80),
    rule("", &["f32x2"], 100),
    rule("", &["s16x2"], 90),
    rule("", &["u16x2"], 90),
    own("", &["ue8m0x2"], 100),
    own("", &["e2m1x2"], 100),
    own("", &["e2m3x2"], 100),
    own("", &["e3m2x2"], 100),
    rule("", &["e4m3x2"], 89),
    rule("", &["e5m2x2"], 89),
    rule("", &["L1::evict_first"], 70),
    rule("", &["L1::evict_last"], 70),
    rule("", &["L1::evict_normal"], 70),
    rule("", &["L1::evict_unchanged"], 70),
    rule("", &["L1::no_allocate"], 70),
    rule("", &["L2::64B"], 75),
    rule("", &["L2::128B"], 75),
    rule("", &["L2::256B"], 80),
    rule("", &["L2::cache_hint"], 80),
];

/// Rules for instructions that only compute.
const ARITHMETIC: &[Rule] = &[
    rule("abs", &["f16"], 53),
    rule("abs", &["f16x2"], 53),
    rule("neg", &["f16"], 53),
    rule("neg", &["f16x2"], 53),
    rule("add", &["f16"], 53),
    rule("add", &["f16x2"], 53),
    rule("sub", &["f16"], 53),
    rule("sub", &["f16x2"], 53),
    rule("mul", &["f16"], 53),
    rule("mul", &["f16x2"], 53),
    rule("fma", &["f16"], 53),
    rule("fma", &["f16x2"], 53),
    rule("setp", &["f16"], 53),
    rule("setp", &["f16x2"], 53),
    rule("set", &["f16"], 53),
    rule("set", &["f16x2"], 53),
    rule("min", &["f16"], 80),
    rule("min", &["f16x2"], 80),
    rule("max", &["f16"], 80),
    rule("max", &["f16x2"], 80),
    rule("min", &["abs"], 86),
    rule("max", &["abs"], 86),
    rule("min", &["relu"], 90),
    rule("max", &["relu"], 90),
    rule("add", &["f32", "f16"], 100),
    rule("add", &["f32", "bf16"], 100),
    rule("sub", &["f32", "f16"], 100),
    rule("sub", &["f32", "bf16"], 100),
    rule("fma", &["f32", "f16"], 100),
    rule("fma", &["f32", "bf16"], 100),
    rule("add", &["bf16"], 90),
    rule("add", &["bf16x2"], 90),
    rule("sub", &["bf16"], 90),
    rule("sub", &["bf16x2"], 90),
    rule("mul", &["bf16"], 90),
    rule("mul", &["bf16x2"], 90),
    rule("set", &["bf16"], 90),
    rule("set", &["bf16x2"], 90),
    rule("setp", &["bf16"], 90),
    rule("setp", &["bf16x2"], 90),
    rule("tex", &["f16x2"], 53),
    rule("ex2", &["f16"], 75),
    rule("ex2", &["f16x2"], 75),
    rule("ex2", &["bf16"], 90),
    rule("ex2", &["bf16x2"], 90),
    rule("tanh", &[], 75),
    rule("tanh", &["bf16"], 90),
    rule("tanh", &["bf16x2"], 90),
    rule("bmsk", &[], 70),
    rule("szext", &[], 70),
    rule("dp2a", &[], 61),
    rule("dp4a", &[], 61),
    rule("lop3.and", &[], 70),
    rule("lop3.or", &[], 70),
    rule("cvt", &["f16x2", "f32"], 80),
    rule("cvt.bf16.bf16", &[], 90),
    rule("cvt.ftz.f32.bf16", &[], 90),
    rule("cvt", &["bf16", "f16"], 90),
    rule("cvt", &["bf16", "f64"], 90),
    rule("cvt", &["bf16", "s8"], 90),
    rule("cvt", &["bf16", "u8"], 90),
    rule("cvt", &["bf16", "s16"], 90),
    rule("cvt", &["bf16", "u16"], 90),
    rule("cvt", &["bf16", "s32"], 90),
    rule("cvt", &["bf16", "u32"], 90),
    rule("cvt", &["bf16", "s64"], 90),
    rule("cvt", &["bf16", "u64"], 90),
    rule("cvt", &["bf16", "rmi"], 90),
    rule("cvt", &["bf16", "rni"], 90),
    rule("cvt", &["bf16", "rpi"], 90),
    rule("cvt", &["bf16", "rzi"], 90),
    rule("cvt", &["rn", "tf32"], 90),
    rule("cvt", &["rz", "tf32"], 90),
    rule("cvt", &["rn", "satfinite", "tf32"], 100),
    rule("cvt", &["rz", "satfinite", "tf32"], 100),
    own("cvt", &["rs"], 100),
    rule("cvt.pack", &[], 72),
    rule("cvt.pack", &["s4"], 75),
    rule("cvt.pack", &["u4"], 75),
    rule("cvt.pack", &["s2"], 75),
    rule("cvt.pack", &["u2"], 75),
];

/// Rules for instructions of a warp or a warpgroup.
const COLLECTIVE: &[Rule] = &[
    rule("match", &[], 70),
    rule("redux", &[], 80),
    own("redux", &["f32"], 100),
    rule("elect", &[], 90),
    own("setmaxnreg", &[], 90),
    own("wgmma", &[], 90),
    rule("movmatrix", &[], 75),
    rule("stmatrix", &[], 90),
    own("stmatrix", &["m16n8"], 100),
    rule("ldmatrix", &[], 75),
    own("ldmatrix", &["m16n16"], 100),
    own("ldmatrix", &["m8n16"], 100),
    rule("mma", &[], 70),
    rule("mma", &["m16n8k8"], 75),
    rule("mma", &["m8n8k16"], 75),
    rule("mma", &["m8n8k32"], 75),
    rule("mma", &["m8n8k128"], 75),
    rule("mma", &["m16n8k4"], 80),
    rule("mma", &["m16n8k16"], 80),
    rule("mma", &["m16n8k32"], 80),
    rule("mma", &["m16n8k64"], 80),
    rule("mma", &["m16n8k128"], 80),
    rule("mma", &["m16n8k256"], 80),
    rule("mma", &["b1", "and"], 80),
    rule("mma", &["m8n8k4", "f64"], 80),
    rule("mma", &["m16n8k4", "f64"], 90),
    rule("mma", &["m16n8k8", "f64"], 90),
    rule("mma", &["m16n8k16", "f64"], 90),
    rule("mma", &["e4m3"], 89),
    rule("mma", &["e5m2"], 89),
    rule("mma.sp", &[], 80),
    rule("mma.sp::ordered_metadata", &[], 80),
    rule("wmma", &[], 70),
    rule("wmma", &["s8"], 72),
    rule("wmma", &["u8"], 72),
    rule("wmma", &["s32"], 72),
    rule("wmma", &["m16n16k8"], 80),
    rule("wmma", &["m8n8k4"], 80),
];

/// Rules for instructions that access memory, or order or await such accesses.
const MEMORY: &[Rule] = &[
    rule("alloca", &[], 52),
    rule("stacksave", &[], 52),
    rule("stackrestore", &[], 52),
    rule("nanosleep", &[], 70),
    rule("griddepcontrol", &[], 90),
    rule("cvta", &["param"], 70),
    rule("isspacep", &["param"], 70),
    rule("ld", &["v8"], 100),
    rule("ld", &["v4", "b64"], 100),
    rule("ld", &["v4", "u64"], 100),
    rule("ld", &["v4", "s64"], 100),
    rule("ld", &["v4", "f64"], 100),
    rule("st", &["v8"], 100),
    rule("st", &["v4", "b64"], 100),
    rule("st", &["v4", "u64"], 100),
    rule("st", &["v4", "s64"], 100),
    rule("st", &["v4", "f64"], 100),
    rule("atom", &["cta"], 60),
    rule("atom", &["gpu"], 60),
    rule("atom", &["sys"], 60),
    rule("red", &["cta"], 60),
    rule("red", &["gpu"], 60),
    rule("red", &["sys"], 60),
    rule("atom", &["add", "f64"], 60),
    rule("red", &["add", "f64"], 60),
    rule("atom", &["f16x2"], 60),
    rule("red", &["f16x2"], 60),
    rule("atom", &["f16"], 70),
    rule("red", &["f16"], 70),
    rule("atom", &["bf16"], 90),
    rule("red", &["bf16"], 90),
    rule("atom", &["bf16x2"], 90),
    rule("red", &["bf16x2"], 90),
    rule("atom", &["b16"], 70),
    rule("atom", &["b128"], 90),
    rule("atom", &["v2"], 90),
    rule("atom", &["v4"], 90),
    rule("atom", &["v8"], 90),
    rule("red", &["v2"], 90),
    rule("red", &["v4"], 90),
    rule("red", &["v8"], 90),
    rule("multimem", &[], 90),
    rule("discard", &[], 80),
    rule("createpolicy", &[], 80),
    rule("applypriority", &[], 80),
    rule("prefetch", &["L2::evict_last"], 80),
    rule("prefetch", &["L2::evict_normal"], 80),
    rule("fence", &[], 70),
    rule("fence.acquire", &[], 90),
    rule("fence.release", &[], 90),
    rule("fence.mbarrier_init", &[], 90),
    rule("fence.proxy", &["async"], 90),
    rule("fence.proxy", &["tensormap::generic"], 90),
    rule("cp", &[], 80),
    rule("cp.async.bulk", &[], 90),
    rule("cp.reduce.async.bulk", &[], 90),
    own("cp.async.bulk.tensor", &["cta_group::1"], 100),
    rule("st.async", &[], 90),
    rule("red.async", &[], 90),
    own("tensormap.replace", &[], 90),
    own("tensormap.replace", &["swizzle_atomicity"], 100),
    rule("tensormap.cp_fenceproxy", &[], 90),
    rule("mapa", &[], 90),
    rule("getctarank", &[], 90),
    rule("barrier.cluster", &[], 90),
    rule("mbarrier", &[], 80),
    rule("mbarrier", &["relaxed"], 90),
    rule("mbarrier", &["expect_tx"], 90),
    rule("mbarrier", &["complete_tx"], 90),
    rule("mbarrier.try_wait", &[], 90),
];

/// Returns what an opcode requires, if it requires more than the oldest architecture.
pub fn of_opcode(opcode: &str) -> Option<Target> {
    let mut words = opcode.split('.');
    words.next();
    let words: Vec<&str> = words.collect();
    let applies = |rule: &&Rule| {
        let rest = if rule.name.is_empty() { Some("") } else { opcode.strip_prefix(rule.name) };
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            && rule.words.iter().all(|word| words.contains(word))
    };
    [WORDS, ARITHMETIC, COLLECTIVE, MEMORY].into_iter().flatten().filter(applies).map(|rule| rule.first).max()
}

/// Returns what a form requires that only its operands show: `min` and `max` of three numbers, and an arrival with a
/// count at an mbarrier.
pub fn of_form(opcode: &str, operands: usize) -> Option<Target> {
    let name = opcode.split('.').next().unwrap_or_default();
    let first = match (name, operands) {
        ("min" | "max", 4) => 100,
        ("mbarrier", 3) if is_arrival(opcode) => 90,
        _ => return None,
    };
    Some(Target { number: first, own: false })
}

/// Whether the opcode is that of an arrival whose operands may include a count, which may complete a phase.
fn is_arrival(opcode: &str) -> bool {
    let arrives = opcode.starts_with("mbarrier.arrive.") || opcode.starts_with("mbarrier.arrive_drop.");
    arrives && !opcode.split('.').any(|word| word == "noComplete")
}

/// Returns what a special register requires.
pub fn of_register(name: &str) -> Option<Target> {
    let name = name.strip_prefix('%')?.split('.').next()?;
    let number = match name {
        "cluster_ctaid"
        | "cluster_nctaid"
        | "cluster_ctarank"
        | "cluster_nctarank"
        | "clusterid"
        | "nclusterid"
        | "is_explicit_cluster"
        | "aggr_smem_size" => 90,
        _ if name.starts_with("reserved_smem_offset_") => 80,
        _ => return None,
    };
    Some(Target { number, own: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opcode(opcode: &str) -> String {
        of_opcode(opcode).map(|target| target.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_largest_requirement_of_an_opcode_counts() {
        assert_eq!(opcode("add.s32"), "");
        assert_eq!(opcode("cp.async.ca.shared.global"), "sm_80");
        assert_eq!(opcode("cp.async.bulk.commit_group"), "sm_90");
        assert_eq!(opcode("ld.relaxed.gpu.global.b32"), "sm_70");
        assert_eq!(opcode("ld.relaxed.cluster.global.b32"), "sm_90");
        assert_eq!(opcode("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"), "sm_75");
        assert_eq!(opcode("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"), "sm_80");
        assert_eq!(opcode("add.rn.f32.f16"), "sm_100");
        assert_eq!(opcode("redux.sync.min.f32"), "sm_100a");
        assert_eq!(opcode("abs.f32"), "");
        assert_eq!(opcode("redux.sync.min.u32"), "sm_80");
    }

    #[test]
    fn operands_and_registers_require_targets_too() {
        assert_eq!(of_form("min.f32", 4).map(|target| target.number), Some(100));
        assert_eq!(of_form("min.f32", 3), None);
        assert_eq!(of_form("mbarrier.arrive.shared.b64", 3).map(|target| target.number), Some(90));
        assert_eq!(of_form("mbarrier.arrive.noComplete.shared.b64", 3), None);
        assert_eq!(of_register("%cluster_ctaid.x").map(|target| target.number), Some(90));
        assert_eq!(of_register("%tid.x"), None);
    }

    #[test]
    fn later_targets_have_what_earlier_ones_have() {
        let target = |name| Target::of(name).expect("a target");
        assert!(target("sm_100").has(target("sm_90")) && !target("sm_86").has(target("sm_90")));
        assert!(target("sm_100f").has(target("sm_90a")) && !target("sm_100").has(target("sm_90a")));
        assert!(target("sm_90a").has(target("sm_90a")) && target("sm_90a").has(target("sm_90")));
        assert_eq!((Target::of("sm_"), Target::of("90")), (None, None));
    }
}
