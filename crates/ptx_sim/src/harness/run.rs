//! Runs a described test: checks and places the arguments, runs one machine per schedule, compares the results and
//! copies them back.

use super::argument::{Given, Written, plural};
use super::{Dim, Failure, Test};
use crate::machine::Launch;
use crate::profile::Profile;
use crate::program::{Function, Kind};
use crate::session::{Config, Machine, Report};
use crate::stop::{Diagnostic, Stop, StopKind, Triple, demangled};

/// Result of one schedule: the report, and the contents of each buffer that is copied back.
struct Ran {
    report: Report,
    results: Vec<Vec<u8>>,
}

impl Test<'_> {
    /// Runs the kernel under the default schedule and the further schedules of [`Test::seeds`]. The returned report and
    /// the copied-back contents are those of the default schedule.
    ///
    /// # Errors
    /// Fails with the codes of [`Machine::launch`](crate::Machine::launch), with `parameters` if the arguments do not
    /// match the kernel, `usage` for a missing or misplaced call, `output-not-written`, `not-reproducible`, or the
    /// findings of the checkers. Then no buffer is changed.
    pub fn run(mut self) -> Result<Report, Failure> {
        if let Some(words) = self.misuse {
            return Err(Stop::usage("usage", words).into());
        }
        let mut config = Config { checks: self.checks, workers: 1, fuel: Some(self.fuel), ..Config::default() };
        if let Some(profile) = &self.profile {
            config.profile = Profile::find(profile)?;
        }
        let entry = self.entry.clone();
        let mut functions = self.kernels.program.functions.iter();
        // `Machine::launch` reports an unknown name, because it can suggest similar ones.
        if let Some(function) = functions.find(|function| function.kind == Kind::Entry && function.name == entry) {
            self.fits(function)?;
            self.block = self.block.or(function.required_block.map(Dim));
            let names: Vec<String> = function.params.iter().map(|param| param.name.clone()).collect();
            for (item, name) in self.items.iter_mut().zip(names) {
                item.name.get_or_insert(name);
            }
        }
        let usual = self.once(&config)?;
        for seed in 1..=self.seeds {
            config.seed = Some(seed);
            let ran = self.once(&config)?;
            if self.reproducible {
                self.compare(&usual, &ran, seed)?;
            }
        }
        let mut results = usual.results.iter();
        for item in &mut self.items {
            if let Given::Memory { back: Some(back), .. } = &mut item.given
                && let Some(bytes) = results.next()
            {
                back.take(bytes);
            }
        }
        Ok(usual.report)
    }

    fn once(&self, config: &Config) -> Result<Ran, Failure> {
        let seed = config.seed;
        let stopped = |stop: Stop| {
            let (findings, printed) = (stop.findings().to_vec(), stop.printed().to_owned());
            Failure::new(self.describe(), seed, Some(stop), &findings, &printed)
        };
        let mut machine = Machine::new(config.clone());
        let mut params = Vec::new();
        for item in &self.items {
            params.push(match &item.given {
                Given::Value { bytes, .. } => bytes.clone(),
                Given::Memory { size, count, init, .. } => {
                    let name = item.name.as_deref().unwrap_or("buffer");
                    let address = machine.alloc(size.saturating_mul(*count), name).map_err(stopped)?;
                    if let Some(init) = init {
                        machine.write(address, init).map_err(stopped)?;
                    }
                    address.to_le_bytes().to_vec()
                }
            });
        }
        let (Some(Dim(grid)), Some(Dim(block))) = (self.grid, self.block) else {
            let missing = if self.grid.is_none() { "`grid`" } else { "`block`" };
            let stop = Stop::usage("usage", format!("the launch of `{}` has no {missing}", demangled(&self.entry)));
            return Err(stopped(stop.with_help("add both, for example `.grid(4).block(256)`")));
        };
        let launch = Launch {
            entry: &self.entry,
            grid,
            block,
            dynamic_shared: self.dynamic_shared,
            params: &params,
            cluster: self.cluster.map(|Dim(blocks)| blocks),
            cooperative: self.cooperative,
            ..Launch::default()
        };
        let report = machine.launch(&self.kernels.program, &launch).map_err(stopped)?;
        let failed = |stop| Failure::new(self.describe(), seed, stop, &report.findings, &report.printed);
        if !report.findings.is_empty() {
            return Err(failed(None));
        }
        let mut results = Vec::new();
        for (item, param) in self.items.iter().zip(&params) {
            let Given::Memory { element, size, count, back: Some(_), written, .. } = &item.given else { continue };
            let address = param.iter().rev().fold(0, |address, byte| address << 8 | u64::from(*byte));
            let bytes = size.saturating_mul(*count);
            if *written == Written::Must
                && let Some((first, missing)) = machine.unwritten(address, bytes)
            {
                let name = item.name.as_deref().unwrap_or("buffer");
                let mut diagnostic = Diagnostic::new(
                    "output-not-written",
                    format!("element {} of the output `{name}` ({count} {element}) is not written", first / size),
                );
                let have = if missing == 1 { "byte is" } else { "bytes are" };
                diagnostic.notes.push(format!("{missing} of its {bytes} {have} uninitialised"));
                let help = "pass it with `buffer_mut` if the kernel may leave elements unwritten";
                diagnostic.help = Some(help.to_owned());
                return Err(failed(Some(Stop::new(StopKind::Fault, diagnostic))));
            }
            let mut result = vec![0; bytes as usize];
            machine.read(address, &mut result).map_err(stopped)?;
            results.push(result);
        }
        Ok(Ran { report, results })
    }

    fn compare(&self, usual: &Ran, other: &Ran, seed: u64) -> Result<(), Failure> {
        let memory = self.items.iter().filter_map(|item| match &item.given {
            Given::Memory { element, size, back: Some(_), .. } => Some((item, element, *size)),
            _ => None,
        });
        for ((item, element, size), (a, b)) in memory.zip(usual.results.iter().zip(&other.results)) {
            let differs = |(a, b): (&[u8], &[u8])| a != b;
            let mut pairs = a.chunks(size.max(1) as usize).zip(b.chunks(size.max(1) as usize));
            let Some(first) = pairs.position(differs) else { continue };
            let name = item.name.as_deref().unwrap_or("buffer");
            let more = pairs.filter(|&pair| differs(pair)).count();
            let mut diagnostic = Diagnostic::new(
                "not-reproducible",
                format!("element {first} of `{name}` ({element}) differs from the default schedule"),
            );
            diagnostic.notes.push(format!("{} of `{name}` differ", plural(more as u64 + 1, "element")));
            let stop = Stop::new(StopKind::Fault, diagnostic);
            return Err(Failure::new(self.describe(), Some(seed), Some(stop), &[], &other.report.printed));
        }
        Ok(())
    }

    /// Checks the number and sizes of the arguments against the parameters.
    fn fits(&self, function: &Function) -> Result<(), Failure> {
        let name = demangled(&function.name);
        let (wanted, given) = (function.params.len(), self.items.len());
        let mut pairs = function.params.iter().zip(&self.items).enumerate();
        let odd = pairs.find(|(_, (param, item))| param.size != item.given.param_bytes());
        let title = match odd {
            _ if wanted != given => {
                let given = if given == 1 { "1 was given".to_owned() } else { format!("{given} were given") };
                format!("`{name}` takes {}, but {given}", plural(wanted as u64, "parameter"))
            }
            Some((index, (param, item))) => format!(
                "parameter {index} of `{name}`, `{}`, has {}, but was given {}",
                param.name,
                plural(param.size, "byte"),
                item.given.describe()
            ),
            None => return Ok(()),
        };
        let mut diagnostic = Diagnostic::new("parameters", title);
        for index in 0..wanted.max(given) {
            let param = function.params.get(index);
            let param = param.map(|param| format!("`{}`, {}", param.name, plural(param.size, "byte")));
            let item = self.items.get(index).map(|item| item.given.describe());
            let (param, item) = (param.as_deref().unwrap_or("no parameter"), item.as_deref().unwrap_or("nothing"));
            diagnostic.notes.push(format!("{index}: {param}: given {item}"));
        }
        Err(Stop::new(StopKind::Usage, diagnostic).into())
    }

    /// Describes the launch for the first line of a report.
    fn describe(&self) -> String {
        let mut text = format!("`{}` of {}", demangled(&self.entry), self.kernels.name);
        for (what, dim) in [("grid", self.grid), ("block", self.block), ("cluster", self.cluster)] {
            if let Some(Dim(dim)) = dim {
                text += &format!(", {what} {}", Triple(dim));
            }
        }
        text
    }
}
