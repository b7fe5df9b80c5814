//! The families: for each its inputs, reference, launches and variants. [`FAMILIES`] is the one list that the command line, the
//! tests and the benchmarks loop over.

use crate::backend::{Backend, Counters, Module, Observed};
use crate::bench::{Plan, Timing};
use crate::compare::Verdict;
use crate::diagnostic::Diagnostic;
use crate::element::{Array, Dtype, Value};
use crate::error::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;

pub mod reduce;
pub mod vecadd;

/// Every family, smallest first.
pub const FAMILIES: &[Family] = &[vecadd::FAMILY, reduce::FAMILY];

/// A family of kernels that solve one problem.
pub struct Family {
    /// As on the command line.
    pub name: &'static str,
    /// What it computes, in one line.
    pub idea: &'static str,
    /// Input arrays.
    pub operands: usize,
    /// Operations; empty where there is no choice. The first is the default.
    pub ops: &'static [&'static str],
    /// Element types.
    pub dtypes: &'static [Dtype],
    /// The variants, slowest first.
    pub variants: fn() -> Vec<VariantInfo>,
    /// Runs the job's variants in turn and hands each row out as soon as it is known; the result of the last one comes back
    /// as an array.
    pub run: fn(&Job<'_>, &mut dyn FnMut(Row)) -> Result<Array>,
}

/// What is known about a variant without running it.
#[derive(Clone, Debug, Serialize)]
pub struct VariantInfo {
    /// As on the command line.
    #[serde(rename = "variant")]
    pub name: &'static str,
    /// The one idea that sets it apart.
    pub idea: &'static str,
    /// Block sizes that it can be launched with.
    pub block: BlockRule,
    /// Every `.entry` in the PTX that belongs to it.
    pub entries: Vec<String>,
}

/// Which block sizes a kernel's contract allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockRule {
    /// Any from 1 to 1024.
    Any {
        /// Unless the user asks otherwise.
        default: u32,
    },
    /// Powers of two from `min` to 1024.
    PowerOfTwo {
        /// Smallest.
        min: u32,
        /// Unless the user asks otherwise.
        default: u32,
    },
    /// Multiples of 32 to 1024.
    WholeWarps {
        /// Unless the user asks otherwise.
        default: u32,
    },
    /// These only.
    OneOf {
        /// The sizes that there is a kernel for.
        sizes: &'static [u32],
        /// Unless the user asks otherwise.
        default: u32,
    },
}

impl BlockRule {
    /// Most threads that any GPU allows in a block.
    const MAX: u32 = 1024;

    /// The block size to launch with.
    ///
    /// # Errors
    /// [`Error::Usage`] with the sizes that are allowed.
    pub fn choose(self, asked: Option<u32>, variant: &str, device_max: u32) -> Result<u32> {
        let max = device_max.min(Self::MAX);
        let (default, fits, allowed) = match self {
            Self::Any { default } => (default, asked.is_none_or(|n| n >= 1), format!("1 to {max}")),
            Self::PowerOfTwo { min, default } => (
                default,
                asked.is_none_or(|n| n >= min && n.is_power_of_two()),
                format!("a power of two from {min} to {max}"),
            ),
            Self::WholeWarps { default } => {
                (default, asked.is_none_or(|n| n >= 1 && n.is_multiple_of(32)), format!("a multiple of 32 up to {max}"))
            }
            Self::OneOf { sizes, default } => {
                let list: Vec<_> = sizes.iter().map(u32::to_string).collect();
                (default, asked.is_none_or(|n| sizes.contains(&n)), list.join(", "))
            }
        };
        let block = asked.unwrap_or(default);
        if fits && block <= max {
            return Ok(block);
        }
        Err(Error::Usage(format!("'{variant}' can't run with --block {block}: allowed is {allowed}")))
    }

    /// One size that satisfies the rule, for each kernel that there is.
    pub fn kernels(self) -> Vec<u32> {
        match self {
            Self::Any { default } | Self::PowerOfTwo { default, .. } | Self::WholeWarps { default } => vec![default],
            Self::OneOf { sizes, .. } => sizes.to_vec(),
        }
    }
}

/// What a family is asked to run.
pub struct Job<'a> {
    /// Where.
    pub device: &'a dyn Backend,
    /// The family's PTX, loaded there.
    pub module: Module,
    /// As many arrays as the family has operands, of one type.
    pub inputs: &'a [Array],
    /// One of the family's; empty where it has none.
    pub op: &'a str,
    /// Names of variants, in the order to run them.
    pub variants: &'a [&'static str],
    /// Threads per block.
    pub block: Option<u32>,
    /// Blocks, for variants that take any grid.
    pub grid: Option<u32>,
    /// How to time, on a GPU; `None`: don't.
    pub plan: Option<&'a Plan<'a>>,
}

/// One variant's result: a line of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Family.
    pub family: &'static str,
    /// Variant.
    pub variant: String,
    /// Operation; null where there is no choice.
    pub op: Option<String>,
    /// Element type.
    pub dtype: &'static str,
    /// Elements of an operand.
    pub n: u64,
    /// `gpu:0`, `sim`.
    pub device: String,
    /// The product's name.
    pub device_name: String,
    /// Threads per block of the (first) launch.
    pub block: u32,
    /// Blocks of the (first) launch; 0 when nothing had to be launched.
    pub grid: u32,
    /// The result; null when it is an array.
    pub value: Option<Value>,
    /// What it is compared with; null when it is an array.
    pub reference: Option<Value>,
    /// Absolute difference; the largest one when the result is an array.
    pub error: Value,
    /// The difference is within the bound that the family documents.
    pub verified: bool,
    /// An integer sum left the type's range, and wrapped as documented.
    pub wrapped: bool,
    /// Median, on a GPU.
    pub time_ms: Option<f64>,
    /// Bytes that must be moved per `time_ms`, in 10^9 per second.
    pub gbps: Option<f64>,
    /// `gbps` as a fraction of `limit_gbps`; above 1 only for data that comes from a warm cache.
    pub fraction_of_limit: Option<f64>,
    /// The device's nominal peak bandwidth, or its measured copy bandwidth where the driver does not tell the peak.
    pub limit_gbps: Option<f64>,
    /// All samples, on a GPU.
    pub timing: Option<Timing>,
    /// What the simulator counted in one run.
    pub counters: Option<Counters>,
    /// What the simulator's checkers found in one run.
    pub findings: Vec<Diagnostic>,
    /// The file that the result was written to.
    pub output: Option<PathBuf>,
}

impl Row {
    /// A row of a scalar result.
    pub(crate) fn new(family: &'static str, variant: &str, job: &Job<'_>, verdict: Verdict) -> Self {
        let input = &job.inputs[0];
        Self {
            family,
            variant: variant.to_owned(),
            op: (!job.op.is_empty()).then(|| job.op.to_owned()),
            dtype: input.dtype().name(),
            n: input.len() as u64,
            device: job.device.info().device.clone(),
            device_name: job.device.info().name.clone(),
            block: 0,
            grid: 0,
            value: None,
            reference: None,
            error: Value::Float(verdict.error),
            verified: verdict.verified,
            wrapped: false,
            time_ms: None,
            gbps: None,
            fraction_of_limit: None,
            limit_gbps: None,
            timing: None,
            counters: None,
            findings: Vec::new(),
            output: None,
        }
    }

    /// Adds what the simulator saw.
    pub(crate) fn observe(&mut self, observed: Option<Observed>) {
        if let Some(observed) = observed {
            self.counters = Some(observed.counters);
            self.findings = observed.findings;
        }
    }

    /// Times `run`, which has to move `bytes`, where times mean something.
    pub(crate) fn time(&mut self, job: &Job<'_>, bytes: u64, run: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if let Some(plan) = job.plan.filter(|_| self.n > 0) {
            self.set_timing(plan.measure(job.device, bytes, run)?, bytes, plan.limit_gbps);
        }
        Ok(())
    }

    /// Fills in the times of moving `bytes`.
    pub(crate) fn set_timing(&mut self, timing: Timing, bytes: u64, limit_gbps: f64) {
        let gbps = bytes as f64 / timing.median_ms / 1e6;
        self.time_ms = Some(timing.median_ms);
        self.gbps = Some(gbps);
        self.fraction_of_limit = Some(gbps / limit_gbps);
        self.limit_gbps = Some(limit_gbps);
        self.timing = Some(timing);
    }

    /// Right, and no checker had anything to say.
    pub fn is_clean(&self) -> bool {
        self.verified && self.findings.is_empty()
    }
}

/// The family of this name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

impl Family {
    /// The variants that `all`, `best`, a name, or names with commas mean.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names that there are.
    pub fn select(&self, text: &str) -> Result<Vec<&'static str>> {
        let all: Vec<_> = (self.variants)().iter().map(|variant| variant.name).collect();
        if text == "all" {
            return Ok(all);
        }
        let find = |name: &str| {
            let found = if name == "best" { all.last() } else { all.iter().find(|have| **have == name) };
            found.copied().ok_or_else(|| {
                Error::Usage(format!("{} has no variant '{name}'; there are: all {}", self.name, all.join(" ")))
            })
        };
        text.split(',').map(|name| find(name.trim())).collect()
    }

    /// Whether `select` would find everything that the text names.
    pub fn variants_named(&self, text: &str) -> bool {
        self.select(text).is_ok()
    }

    /// The operation asked for, or the first.
    ///
    /// # Errors
    /// [`Error::Usage`] with the operations that there are.
    pub fn op(&self, asked: Option<&str>) -> Result<&'static str> {
        match asked {
            None => Ok(self.ops.first().copied().unwrap_or_default()),
            Some(asked) => self.ops.iter().find(|op| **op == asked).copied().ok_or_else(|| {
                Error::Usage(match self.ops {
                    [] => format!("{} has no --op", self.name),
                    ops => format!("{} has no --op {asked}; there are: {}", self.name, ops.join(" ")),
                })
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_block_satisfies_its_rule() {
        for family in FAMILIES {
            for variant in (family.variants)() {
                for block in variant.block.kernels() {
                    assert_eq!(variant.block.choose(Some(block), variant.name, 1024).expect("allowed"), block);
                }
                assert!(variant.block.choose(None, variant.name, 1024).is_ok());
                for bad in [0, 33, 2048] {
                    let any = matches!(variant.block, BlockRule::Any { .. }) && bad == 33;
                    assert_eq!(
                        variant.block.choose(Some(bad), variant.name, 1024).is_ok(),
                        any,
                        "{} {bad}",
                        variant.name
                    );
                }
            }
        }
    }

    #[test]
    fn no_name_and_no_entry_is_used_twice() {
        let mut entries: Vec<_> = FAMILIES.iter().flat_map(|f| (f.variants)()).flat_map(|v| v.entries).collect();
        let count = entries.len();
        entries.sort();
        entries.dedup();
        assert_eq!(entries.len(), count);
        for family in FAMILIES {
            let mut names: Vec<_> = (family.variants)().iter().map(|variant| variant.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn variants_are_selected_by_name() {
        let reduce = family("reduce").expect("a family");
        assert_eq!(reduce.select("sequential, interleaved").expect("two"), ["sequential", "interleaved"]);
        assert!(reduce.select("all").expect("all").len() > 2);
        assert!(reduce.select("fastest").is_err());
        assert_eq!(reduce.op(None).expect("the first"), "sum");
        assert!(reduce.op(Some("mean")).is_err());
    }
}
