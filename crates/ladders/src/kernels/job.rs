//! A problem on a device: the job of a family, and the row with each variant's result.

use super::plan::Plan as Launches;
use super::problem::{Oracle, Problem, Work, Wrong};
use super::variant::{Role, RungId};
use crate::bench::{Plan, Timing};
use crate::compare::Verdict;
use crate::error::Result;
use rustwarp::backend::{Analysis, Backend, Between, Counters, Module, Observed};
use rustwarp::diagnostic::Diagnostic;
use rustwarp::element::Value;
use rustwarp::tensor::Tensor;
use serde::Serialize;
use std::path::PathBuf;

/// Code of a finding that only an oracle reports.
pub const WRONG_RESULT: &str = "wrong-result";

/// A problem with the device and the variants that run it.
pub struct Job<'a> {
    /// The device that runs it.
    pub device: &'a dyn Backend,
    /// The family's PTX, loaded on the device.
    pub module: Module,
    /// The problem to solve.
    pub problem: Problem<'a>,
    /// The right result of the problem.
    pub oracle: &'a Oracle<'a>,
    /// Variants, in the order to run them.
    pub variants: &'a [RungId],
    /// Threads per block.
    pub block: Option<u32>,
    /// Number of blocks, for variants that support any grid.
    pub grid: Option<u32>,
    /// The plan for timing on a GPU; `None` for no timing.
    pub plan: Option<&'a Plan<'a>>,
}

impl Job<'_> {
    /// Runs a plan of this family and variant once and judges its result; then times it, on a GPU.
    pub(crate) fn measure(
        &self,
        family: &'static str,
        variant: &str,
        launches: &Launches<'_>,
        work: Work,
    ) -> Result<(Tensor, Row)> {
        // Earlier observations belong to other runs.
        self.device.observed();
        launches.run(self.device, self.module)?;
        let result = launches.result()?;
        let observed = self.device.observed();
        let oracle = launches.oracle.as_ref().unwrap_or(self.oracle);
        let verdict = oracle.judge(&result, launches.depth);
        let mut row = Row::new(family, variant, &Job { oracle, ..*self }, verdict);
        (row.block, row.grid) = launches.shape;
        row.depth = launches.depth;
        row.judged(oracle, &result, launches.depth);
        row.value = oracle.value.and_then(|_| result.single());
        if self.problem.inputs.is_empty() {
            // Without an operand, the size is that of the result.
            row.n = result.len() as u64;
        }
        row.observe(observed);
        row.findings.extend(launches.findings.as_ref().and_then(|find| find(&result)));
        row.time(self, work, &mut || launches.run(self.device, self.module))?;
        Ok((result, row))
    }
}

/// One variant's result: a line of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Family.
    pub family: &'static str,
    /// Variant.
    pub variant: String,
    /// Whether the row is one of the family's variants or another library's.
    #[serde(skip)]
    pub role: Role,
    /// Operation; null for a family without operations.
    pub op: Option<String>,
    /// Element type.
    pub dtype: &'static str,
    /// Number of elements of the first operand; of the result if there is no operand.
    pub n: u64,
    /// Number of elements of the result.
    #[serde(skip)]
    pub results: u64,
    /// The shape as `--shape` takes it, for `matmul` MxNxK; null for a vector.
    pub shape: Option<Vec<usize>>,
    /// The settings given, as on the command line; null if there are none.
    pub settings: Option<String>,
    /// Name of the device: `gpu:0`, `sim`.
    pub device: String,
    /// The product's name.
    pub device_name: String,
    /// Threads per block of the (first) launch.
    pub block: u32,
    /// Blocks of the (first) launch; 0 without a launch.
    pub grid: u32,
    /// Additions in the longest chain from an element to the result, where the error bound depends on it; else 0.
    #[serde(skip)]
    pub depth: u64,
    /// The result; null for an array.
    pub value: Option<Value>,
    /// The expected result; null for an array.
    pub reference: Option<Value>,
    /// Absolute difference; the largest one for an array.
    pub error: Value,
    /// Whether the difference is within the bound that the family documents; null if nothing was compared.
    pub verified: Option<bool>,
    /// The first wrong element; null if there is none, if the result is a single value, and if elements are not
    /// compared one by one.
    pub wrong: Option<Wrong>,
    /// Whether an integer sum left the type's range and wrapped, as documented.
    pub wrapped: bool,
    /// Median time on a GPU.
    pub time_ms: Option<f64>,
    /// Bytes that must be moved per `time_ms`, in 10^9 per second.
    pub gbps: Option<f64>,
    /// Operations that must be done per `time_ms`, in 10^12 per second; null if only memory counts.
    pub tflops: Option<f64>,
    /// The time that the limits below allow at best, as a fraction of `time_ms`; above 1 only for data that comes from
    /// a warm cache.
    pub fraction_of_limit: Option<f64>,
    /// The device's nominal peak bandwidth, or its measured copy bandwidth if the driver does not report the peak.
    pub limit_gbps: Option<f64>,
    /// The device's nominal peak of fused multiply-adds of this type, of f64 with tensor cores, if it is known and
    /// counts: see [`DeviceInfo::peak_tflops`](rustwarp::backend::DeviceInfo::peak_tflops).
    pub limit_tflops: Option<f64>,
    /// The work that the times are compared with.
    #[serde(skip)]
    pub work: Work,
    /// All samples, on a GPU.
    pub timing: Option<Timing>,
    /// Counters of the simulator for one run.
    pub counters: Option<Counters>,
    /// Findings of the simulator's checkers in one run.
    pub findings: Vec<Diagnostic>,
    /// The file that the result was written to.
    pub output: Option<PathBuf>,
    /// Explanations of the launches, on a device that explains them.
    #[serde(skip)]
    pub launches: Vec<Analysis>,
    /// Steps between the launches of one run.
    #[serde(skip)]
    pub between: Between,
}

impl Row {
    /// Creates a row of one of the family's variants, without times; value and reference are set if the result is a
    /// single value.
    pub fn new(family: &'static str, variant: &str, job: &Job<'_>, verdict: Verdict) -> Self {
        let info = job.device.info();
        Self::of(family, variant, (job.problem, job.oracle), [&info.device, &info.name], verdict)
    }

    /// Creates a row as [`Row::new`] does, of a device with these names: on the command line, and the product's.
    pub(crate) fn of(
        family: &'static str,
        variant: &str,
        (problem, oracle): (Problem<'_>, &Oracle<'_>),
        [device, device_name]: [&str; 2],
        verdict: Verdict,
    ) -> Self {
        let Problem { inputs, dtype, op, settings } = problem;
        let settings = settings.text();
        let shape = || inputs.first().map(|input| input.shape().to_vec()).filter(|shape| shape.len() != 1);
        Self {
            family,
            variant: variant.to_owned(),
            role: Role::of_variant(variant),
            op: (!op.is_empty()).then(|| op.to_owned()),
            dtype: dtype.name(),
            n: inputs.first().map_or(0, |input| input.len() as u64),
            results: 0,
            shape: oracle.size.clone().or_else(shape),
            settings: (!settings.is_empty()).then_some(settings),
            device: device.to_owned(),
            device_name: device_name.to_owned(),
            block: 0,
            grid: 0,
            depth: 0,
            value: None,
            reference: oracle.value,
            error: Value::Float(verdict.error),
            verified: oracle.judges().then_some(verdict.verified),
            wrong: None,
            wrapped: oracle.wrapped,
            time_ms: None,
            gbps: None,
            tflops: None,
            fraction_of_limit: None,
            limit_gbps: None,
            limit_tflops: None,
            work: Work::default(),
            timing: None,
            counters: None,
            findings: Vec::new(),
            output: None,
            launches: Vec::new(),
            between: Between::default(),
        }
    }

    /// Records the number of elements of the result, and its first wrong element.
    pub fn judged(&mut self, oracle: &Oracle<'_>, result: &Tensor, depth: u64) {
        self.results = result.len() as u64;
        if self.verified == Some(false) && result.len() > 1 {
            self.wrong = oracle.first_wrong(result, depth);
        }
    }

    /// The findings of the checkers, and one more for a wrong result.
    pub fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        let title = format!("{} {}: the result is off by {}", self.family, self.variant, self.error);
        // This finding is left out if a more precise one exists.
        let said = self.findings.iter().any(|finding| finding.code == WRONG_RESULT);
        let wrong = (self.verified == Some(false) && !said)
            .then(|| Diagnostic::new("finding", WRONG_RESULT, title.clone(), title));
        self.findings.iter().cloned().chain(wrong)
    }

    /// Adds the simulator's observations.
    pub(crate) fn observe(&mut self, observed: Option<Observed>) {
        if let Some(observed) = observed {
            self.counters = Some(observed.counters);
            self.findings = observed.findings;
            self.launches = observed.launches;
            self.between = observed.between;
        }
    }

    /// Times `run`, which does this work, if the job has a plan for timing.
    pub(crate) fn time(
        &mut self,
        job: &Job<'_>,
        work: Work,
        run: &mut dyn FnMut() -> rustwarp::Result<()>,
    ) -> Result<()> {
        if let Some(plan) = job.plan.filter(|_| self.n > 0) {
            let timing = plan.measure(job.device, work.bytes, run)?;
            let tflops = job.device.info().peak_tflops(job.problem.dtype);
            self.set_timing(timing, work, plan.limit_gbps, tflops);
        }
        Ok(())
    }

    /// Sets the times, and the rates that they give for this work.
    pub fn set_timing(&mut self, timing: Timing, work: Work, limit_gbps: f64, limit_tflops: Option<f64>) {
        let rate = |amount: u64, unit: f64| amount as f64 / timing.median_ms / unit;
        let (gbps, tflops) = (rate(work.bytes, 1e6), rate(work.flops, 1e9));
        let limit_tflops = limit_tflops.filter(|_| work.flops > 0);
        self.time_ms = Some(timing.median_ms);
        self.gbps = Some(gbps);
        self.tflops = (work.flops > 0).then_some(tflops);
        self.fraction_of_limit = Some(limit_tflops.map_or(0.0, |limit| tflops / limit).max(gbps / limit_gbps));
        self.limit_gbps = Some(limit_gbps);
        self.limit_tflops = limit_tflops;
        self.work = work;
        self.timing = Some(timing);
    }

    /// Whether the result was compared and is right.
    pub fn is_verified(&self) -> bool {
        self.verified == Some(true)
    }

    /// Whether the result was compared and is right, and no checker found anything.
    pub fn is_clean(&self) -> bool {
        self.is_verified() && self.findings.is_empty()
    }
}
