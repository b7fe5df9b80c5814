//! Launches: selection of the observers, and the report of their results.

use super::Machine;
use super::config::{Config, Report};
use crate::accesses::{Accesses, Recording};
use crate::check::race::{Attempt, Options, Race};
use crate::check::uninit::plan::Plan;
use crate::check::uninit::{self, Uninit};
use crate::check::{self, Several, leaks, lines};
use crate::count::{Counters, Counting, InstructionCounters};
use crate::machine::{self, Context, Kernel, Launch, Setup, validate};
use crate::observe::Observer;
use crate::program::independence::blocks_are_independent;
use crate::program::{Program, entry, linkage};
use crate::stop::{Finding, Stop};
use crate::trace::{Traced, Tracing};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Results of the observers of a launch.
#[derive(Default)]
struct Seen {
    counters: Counters,
    instructions: Vec<InstructionCounters>,
    findings: Vec<Finding>,
    traced: Option<Traced>,
    accesses: Option<Accesses>,
}

impl Machine {
    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// When the launch is not possible (no such entry, a shape or parameters that do not fit, no room), and when a
    /// thread stops: a fault of the program, an instruction that is not supported, or threads that wait forever.
    pub fn launch(&mut self, program: &Program, launch: &Launch<'_>) -> Result<Report, Stop> {
        let entry = entry::entry(program, launch.entry)?;
        linkage::linked(program, entry)?;
        let number = self.loaded(program, launch.instance)?;
        let workspace = if launch.cooperative { self.workspace()? } else { 0 };
        let checks = self.config.checks;
        let loaded = &mut self.modules[number];
        let layout = loaded.module.layout(program, entry);
        let placed = validate(launch, &program.functions[entry as usize], &layout, &self.config.profile)?;
        self.memory.launch += 1;
        self.memory.track(checks.uninit);
        // Whether the shadow state of registers is needed.
        let inspect = checks.uninit || checks.overflow;
        let plans = if inspect { loaded.plans(program, checks.overflow) } else { Arc::default() };
        let may_divide = checks.race && divides(&self.config, launch, placed.cluster);
        let divided = may_divide
            && self.memory.live_bytes() <= self.config.host_bytes / 8
            && !loaded.in_one.contains(&entry)
            && blocks_are_independent(program, entry);
        let deadline = self.config.timeout.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        let run = |workers: usize, attempt: Option<&Attempt<'_>>| {
            let setup = setup(&self.config, workers, deadline);
            let kernel = Kernel { program, entry, module: &loaded.module, layout: layout.clone() };
            let context = Context { workspace, ..Context::new(kernel, launch, placed, &self.memory, &setup) };
            run(&self.config, &context, &plans, attempt)
        };
        if divided {
            let attempt = Attempt::new(&self.memory);
            let result = run(self.config.workers, Some(&attempt));
            let is_over = match &result {
                Ok(report) => report.findings.is_empty() && !attempt.failed(),
                Err(stop) => stop.code() == "timeout",
            };
            if is_over {
                return result;
            }
            let ended = attempt.take_back();
            if let Some(progress) = &self.config.progress {
                progress.fetch_sub(ended, Relaxed);
            }
            loaded.in_one.insert(entry);
        }
        // The race checker of a worker sees the accesses of its own blocks alone.
        run(if checks.race { 1 } else { self.config.workers }, None)
    }
}

/// Number of threads from which a launch is worth several workers.
const WORTH: u64 = if cfg!(test) { 1 } else { 1 << 14 };

/// Whether the configuration and the shape of a launch allow that workers check its blocks for races separately.
fn divides(config: &Config, launch: &Launch<'_>, cluster: [u32; 3]) -> bool {
    let product = |shape: [u32; 3]| shape.iter().map(|&n| u64::from(n)).product::<u64>();
    machine::most_workers(config.workers, config.seed) > 1
        && config.trace.is_none()
        && !launch.cooperative
        && product(cluster) == 1
        && product(launch.grid) > 1
        && product(launch.grid).saturating_mul(product(launch.block)) >= WORTH
}

/// Runs a launch with the observers that the configuration asks for.
fn run(
    config: &Config,
    context: &Context<'_>,
    plans: &Arc<[Plan]>,
    attempt: Option<&Attempt<'_>>,
) -> Result<Report, Stop> {
    let (program, checks) = (context.setting.program, config.checks);
    if let Some(trace) = config.trace {
        return watch(
            config,
            context,
            || (Counting::default(), Tracing::new(trace)),
            |(counts, traced)| Seen { traced: Some(traced.finish()), ..counted(counts, program) },
        );
    }
    let (atomics, same_value_writes, volatile) = (checks.atomics, checks.same_value_writes, checks.volatile);
    let options = Options { atomics, same_value_writes, volatile };
    let race = || Race::new(program, options, config.level, attempt);
    let raced = |race: Race<'_>| race.finish(&context.setting);
    let counts = config.counters;
    let count = |seen: Counting| if counts { counted(seen, program) } else { Seen::default() };
    // A single set of observers for all but counters and races: each set is another copy of the machine.
    let record = config.accesses;
    if checks.uninit || checks.overflow || record || check::listed(checks).is_some() {
        let observe = || {
            let uninit = Uninit::new(plans.clone(), checks.uninit);
            let recording = record.then(Recording::default);
            (Counting::default(), (recording, (check::listed(checks), (checks.race.then(race), uninit))))
        };
        return watch(config, context, observe, |(counts, (recording, (listed, (races, _))))| {
            let mut findings = races.map_or_else(Vec::new, raced);
            findings.extend(listed.map_or_else(Vec::new, |listed| listed.finish(&context.setting)));
            Seen { findings, accesses: recording.map(Recording::finish), ..count(counts) }
        });
    }
    match (counts, checks.race) {
        (true, true) => watch(
            config,
            context,
            || (Counting::default(), race()),
            |(counts, races)| Seen { findings: raced(races), ..count(counts) },
        ),
        (true, false) => watch(config, context, Counting::default, count),
        (false, true) => watch(config, context, race, |races| Seen { findings: raced(races), ..Seen::default() }),
        (false, false) => watch(config, context, || (), |()| Seen::default()),
    }
}

impl super::Loaded {
    /// Returns the register plans of all functions; with `overflow`, integer arithmetic is always inspected.
    fn plans(&mut self, program: &Program, overflow: bool) -> Arc<[Plan]> {
        if self.plans.as_ref().is_none_or(|(with, _)| *with != overflow) {
            self.plans = Some((overflow, uninit::plans(program, overflow).into()));
        }
        self.plans.as_ref().map(|(_, plans)| plans.clone()).unwrap_or_default()
    }
}

/// Returns the part of the configuration that the machine reads.
fn setup(config: &Config, workers: usize, deadline: Option<(Instant, Duration)>) -> Setup {
    Setup {
        level: config.level,
        workers,
        profile: config.profile.clone(),
        seed: config.seed,
        fuel: config.fuel,
        deadline,
        keep_going: config.keep_going,
        host_bytes: config.host_bytes,
        progress: config.progress.clone(),
    }
}

fn counted(seen: Counting, program: &Program) -> Seen {
    let (counters, instructions) = seen.finish(program);
    Seen { counters, instructions, ..Seen::default() }
}

/// Runs a launch with one set of observers; `finish` evaluates their results.
fn watch<O: Observer>(
    config: &Config,
    context: &Context<'_>,
    observe: impl Fn() -> O + Sync,
    finish: impl FnOnce(O) -> Seen,
) -> Result<Report, Stop> {
    let ran = machine::run(context, observe);
    let Seen { counters, instructions, mut findings, traced, accesses } = finish(ran.observer);
    findings.extend(ran.findings);
    if let Some(stop) = ran.stop {
        return Err(stop.with_run(ran.printed, lines::merge(findings)));
    }
    if config.checks.leaks {
        findings.extend(leaks::findings(context.setting.program, context.setting.memory));
    }
    let findings = lines::merge(findings);
    Ok(Report { counters, instructions, findings, traced, accesses, printed: ran.printed })
}
