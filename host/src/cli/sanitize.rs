//! `host sanitize`: any program that uses CUDA, on the simulator's driver with the checkers on.

use super::exit::{CLEAN, UNAVAILABLE, WRONG};
use super::{libraries, number, races};
use crate::sarif;
use anyhow::Context;
use ladders::error::Error;
use ladders::input;
use rustwarp::backend::{CHECKERS, Printed};
use rustwarp::diagnostic::{Diagnostic, note};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Code of the driver's report that the program contains NVIDIA's runtime library.
const NVIDIA_RUNTIME: &str = "nvidia-runtime";

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Checkers, besides what every run on the simulator checks: their names as in `host check --help`, streams (races
    /// between streams), host (those and races with the host), or all, or none [default: those whose findings are
    /// defects, and host]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    checks: Vec<String>,
    #[command(flatten)]
    races: races::Options,
    /// Run the program N times, each under another schedule, and show each finding once
    #[arg(long, value_name = "N", value_parser = number::positive::<u64>)]
    seeds: Option<u64>,
    /// The device that the program sees: a profile's name (h200, a100, rtx-3050-laptop, …), or a TOML file with a
    /// profile
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Number of devices that the program sees
    #[arg(long, value_name = "N", value_parser = number::positive::<u32>)]
    devices: Option<u32>,
    /// Stop a launch after N warp instructions, as a fault
    #[arg(long, value_name = "N", value_parser = number::positive::<u64>)]
    fuel: Option<u64>,
    /// Stop a launch after N seconds, as a fault
    #[arg(long, value_name = "SECONDS", value_parser = number::positive::<u64>)]
    timeout: Option<u64>,
    /// Report a faulty access to memory and go on: a load gives 0, a write has no effect
    #[arg(long)]
    keep_going: bool,
    /// Report memory that the program has not freed when it ends
    #[arg(long)]
    leaks: bool,
    /// Write the findings as SARIF 2.1.0, also if there are none
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the findings as JSON, one object per line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The driver's library [default: libcuda_sim.so beside this program]; the runtime libraries, libcudart12_sim.so
    /// and libcudart13_sim.so, are looked for beside both
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Runs the program. Exit code 1 means findings, 3 that the program contains NVIDIA's runtime library and has run no
/// kernel; otherwise it is the program's own.
///
/// # Errors
/// Also for a program that ends well without the driver, whose silence says nothing, and for a report without findings
/// that has lines that cannot be read.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let checks = checks(&options.checks)?;
    for file in options.sarif.iter().chain(&options.json) {
        input::require_writable(file)?;
    }
    if let Some(profile) = &options.profile {
        // The driver only logs an unknown profile: no function of its API could report it.
        rustwarp::backend::explaining(profile, Printed::default())?;
    }
    let folder = tempfile::tempdir().context("making a folder for the libraries")?;
    libraries::link(options.library.as_deref(), folder.path())?;
    let report = folder.path().join("report.jsonl");
    let mut found: BTreeMap<(String, String, Vec<String>), Diagnostic> = BTreeMap::new();
    let mut reported = Reported::default();
    let mut status = None;
    for seed in options.seeds.map_or(vec![None], |seeds| (0..seeds).map(Some).collect()) {
        let ended = command(options, folder.path(), &report, &checks, seed).status().map_err(|error| {
            let program = options.program[0].to_string_lossy();
            Error::Usage(format!("cannot start `{program}`: {error}"))
        })?;
        status = status.filter(|status: &ExitStatus| !status.success()).or(Some(ended));
        reported.read(&report)?;
        for diagnostic in reported.findings.drain(..) {
            let diagnostic = Diagnostic { seed, ..diagnostic };
            found
                .entry(diagnostic.identity())
                .and_modify(|known| known.count += diagnostic.count)
                .or_insert(diagnostic);
        }
        // The next run appends to a new file.
        let _ = std::fs::remove_file(&report);
    }
    let found: Vec<Diagnostic> = found.into_values().collect();
    if let Some(path) = &options.sarif {
        sarif::write(path, &found)?;
    }
    if let Some(path) = &options.json {
        let lines: Result<Vec<String>, _> = found.iter().map(serde_json::to_string).collect();
        input::write_text(path, &lines?.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    summary(&found, options.seeds, &reported);
    exit_code(&found, &reported, own_code(status), &options.program[0].to_string_lossy())
}

/// The exit code: that of the findings, whatever else is wrong, or else the program's own.
fn exit_code(found: &[Diagnostic], reported: &Reported, own: u8, program: &str) -> anyhow::Result<u8> {
    let verdict = verdict(found, reported.launched);
    if reported.unreadable > 0 {
        let lines = reported.unreadable;
        let text = format!("{lines} lines of the driver's report cannot be read: findings may be missing");
        let Some(code) = verdict else { anyhow::bail!(text) };
        note(format!("sanitize: {text}"));
        return Ok(code);
    }
    if found.is_empty() && !reported.started {
        let text = format!("`{program}` has not used the CUDA driver, so that nothing was checked: {NOT_USED}");
        if own == CLEAN {
            return Err(Error::Usage(text).into());
        }
        note(format!("sanitize: {text}"));
    }
    Ok(verdict.unwrap_or(own))
}

/// What to look for when a program has not used the driver.
const NOT_USED: &str = "does it call CUDA on this path, does it find libcuda.so.1 by that name, and does it keep \
    LD_LIBRARY_PATH?";

/// The names of the checkers for the driver.
fn checks(names: &[String]) -> anyhow::Result<String> {
    let known = |name: &str| {
        matches!(name, "all" | "none" | "streams" | "host") || CHECKERS.iter().any(|checker| checker.name == name)
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let names: Vec<&str> = CHECKERS.iter().map(|checker| checker.name).collect();
        let text =
            format!("unknown checker `{unknown}`; expected all, none, or some of streams, host, {}", names.join(", "));
        return Err(Error::Usage(text).into());
    }
    Ok(if names.is_empty() { "defects".to_owned() } else { names.join(",") })
}

fn command(options: &Options, folder: &Path, report: &Path, checks: &str, seed: Option<u64>) -> Command {
    let mut command = Command::new(&options.program[0]);
    let paths = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths =
        [folder.to_path_buf()].into_iter().chain(std::env::split_paths(&paths).filter(|path| path != Path::new("")));
    command.args(&options.program[1..]);
    // Only a path with a colon cannot be joined, and the folder has none.
    command.env("LD_LIBRARY_PATH", std::env::join_paths(paths).unwrap_or_else(|_| folder.into()));
    command.env("RUSTWARP_SIM_REPORT", report).env("RUSTWARP_SIM_CHECKS", checks);
    // What makes CuPy hand over PTX.
    command.env("CUPY_COMPILE_WITH_PTX", "1");
    // A program of this library opens the driver that this names.
    command.env("RUSTWARP_LIBCUDA", folder.join("libcuda.so.1"));
    let others = [
        ("RUSTWARP_SIM_PROFILE", options.profile.clone()),
        ("RUSTWARP_SIM_DEVICES", options.devices.map(|devices| devices.to_string())),
        ("RUSTWARP_SIM_SEED", seed.map(|seed| seed.to_string())),
        ("RUSTWARP_SIM_FUEL", options.fuel.map(|fuel| fuel.to_string())),
        ("RUSTWARP_SIM_TIMEOUT", options.timeout.map(|seconds| seconds.to_string())),
        ("RUSTWARP_SIM_KEEP_GOING", options.keep_going.then(|| "1".to_owned())),
        ("RUSTWARP_SIM_LEAKS", options.leaks.then(|| "1".to_owned())),
    ];
    for (name, value) in others.into_iter().chain(options.races.variables()) {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// What the program and its children have reported.
#[derive(Debug, Default)]
struct Reported {
    findings: Vec<Diagnostic>,
    /// Whether a process has initialised the driver.
    started: bool,
    /// Whether a kernel has run to its end.
    launched: bool,
    /// Number of lines that are no entries, such as the last one of a full disk.
    unreadable: usize,
}

/// What an entry is.
#[derive(serde::Deserialize)]
struct Kind {
    kind: String,
}

impl Reported {
    /// Adds the entries of a file; a program that has not used the driver makes none.
    fn read(&mut self, report: &Path) -> anyhow::Result<()> {
        let text = match std::fs::read(report) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            text => text.with_context(|| format!("reading the driver's report {}", report.display()))?,
        };
        String::from_utf8_lossy(&text).lines().for_each(|line| self.add(line));
        Ok(())
    }

    fn add(&mut self, line: &str) {
        match serde_json::from_str::<Kind>(line) {
            Ok(entry) if entry.kind == "started" => self.started = true,
            Ok(entry) if entry.kind == "launched" => self.launched = true,
            _ => match serde_json::from_str(line) {
                Ok(finding) => self.findings.push(finding),
                Err(_) => self.unreadable += 1,
            },
        }
    }
}

/// The first line of the summary; `None` for a report whose silence says nothing.
fn headline(found: &[Diagnostic], seeds: Option<u64>, reported: &Reported) -> Option<String> {
    let runs = seeds.map_or_else(String::new, |seeds| format!(" in {seeds} runs"));
    Some(match found.iter().filter(|diagnostic| diagnostic.code != NVIDIA_RUNTIME).count() {
        0 if found.is_empty() && (reported.unreadable > 0 || !reported.started) => return None,
        0 if found.is_empty() && !reported.launched => format!("nothing found{runs}; no kernel has run"),
        0 if found.is_empty() => format!("nothing found{runs}"),
        0 if reported.launched => format!("nothing found{runs}, and a part of the program cannot be checked:"),
        0 => format!("the program cannot be checked{runs}:"),
        1 => format!("1 defect found{runs}:"),
        defects => format!("{defects} defects found{runs}:"),
    })
}

fn summary(found: &[Diagnostic], seeds: Option<u64>, reported: &Reported) {
    if let Some(headline) = headline(found, seeds, reported) {
        note(format!("sanitize: {headline}"));
    }
    for diagnostic in found {
        let place = match (&diagnostic.file, diagnostic.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            _ => String::new(),
        };
        let first = diagnostic.seed.map_or_else(String::new, |seed| format!(" (first with seed {seed})"));
        note(format!("  {place}{}[{}]: {}{first}", diagnostic.kind, diagnostic.code, diagnostic.title));
    }
}

/// The exit code that findings demand; `None` for the program's own.
fn verdict(found: &[Diagnostic], launched: bool) -> Option<u8> {
    let (runtime, defects): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.code == NVIDIA_RUNTIME);
    match (defects.is_empty(), runtime.is_empty()) {
        (false, _) => Some(WRONG),
        // A program may contain NVIDIA's runtime library without need of it: PyTorch beside kernels of another library.
        (true, false) if !launched => Some(UNAVAILABLE),
        (true, _) => None,
    }
}

/// The program's exit code; that of a shell for a program that a signal ended.
fn own_code(status: Option<ExitStatus>) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = status else { return CLEAN };
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidias_runtime_beside_kernels_that_run_is_no_failure() {
        let runtime = Diagnostic::new("unsupported", NVIDIA_RUNTIME, "the program contains it", "text");
        let race = Diagnostic::new("finding", "race-raw", "a race", "text");
        assert_eq!(verdict(std::slice::from_ref(&runtime), false), Some(UNAVAILABLE));
        assert_eq!(verdict(std::slice::from_ref(&runtime), true), None);
        assert_eq!(verdict(&[runtime, race], true), Some(WRONG));
        assert_eq!(verdict(&[], false), None);
    }

    /// Findings decide, also beside lines that cannot be read; those alone are an error, also of a program that seems
    /// not to have used the driver.
    #[test]
    fn findings_decide_before_bad_lines() {
        let race = [Diagnostic::new("finding", "race-raw", "a race", "text")];
        let code = |found: &[Diagnostic], unreadable: usize, started: bool, own: u8| {
            let reported = Reported { started, unreadable, ..Reported::default() };
            exit_code(found, &reported, own, "p").map_err(|error| error.to_string())
        };
        assert_eq!(code(&race, 1, true, 7), Ok(WRONG));
        assert_eq!(code(&race, 0, true, 7), Ok(WRONG));
        for (started, own) in [(true, CLEAN), (false, CLEAN), (false, 7)] {
            let error = code(&[], 2, started, own).expect_err("lines that cannot be read");
            assert!(error.contains("2 lines of the driver's report cannot be read"), "{error}");
        }
        assert!(code(&[], 0, false, CLEAN).is_err_and(|error| error.contains("`p` has not used the CUDA driver")));
        assert_eq!((code(&[], 0, false, 7), code(&[], 0, true, 7)), (Ok(7), Ok(7)));
    }

    #[test]
    fn nothing_found_without_a_kernel_says_so() {
        let line = |launched: bool, unreadable: usize, seeds: Option<u64>| {
            headline(&[], seeds, &Reported { started: true, launched, unreadable, ..Reported::default() })
        };
        assert_eq!(line(true, 0, None).as_deref(), Some("nothing found"));
        assert_eq!(line(false, 0, None).as_deref(), Some("nothing found; no kernel has run"));
        assert_eq!(line(false, 0, Some(2)).as_deref(), Some("nothing found in 2 runs; no kernel has run"));
        assert_eq!(line(true, 1, None), None);
        assert_eq!(headline(&[], None, &Reported::default()), None);
    }

    /// A line that cannot be read leaves the others as they are.
    #[test]
    fn a_bad_line_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.jsonl");
        let mut reported = Reported::default();
        reported.read(&path).expect("no file");
        assert!(!reported.started);
        let finding = serde_json::to_string(&Diagnostic::new("finding", "race-raw", "a race", "text")).expect("JSON");
        let [started, launched] = [r#"{"kind":"started","process":1}"#, r#"{"kind":"launched","process":1}"#];
        let lines =
            [started.as_bytes(), launched.as_bytes(), b"{\"kind\":\"find", b"\xff", finding.as_bytes()].join(&b'\n');
        std::fs::write(&path, lines).expect("a file");
        reported.read(&path).expect("a report");
        assert_eq!((reported.started, reported.launched), (true, true));
        assert_eq!((reported.findings.len(), reported.unreadable), (1, 2));
    }
}
