//! `cargo xtask ci`: every check of a change that needs no GPU.

mod documents;
mod minimum_rust;

use std::{
    fs,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::{CommandFactory, builder::PossibleValuesParser};

use crate::{Task, command, demo, dist, docs, embed, test, workspace};

/// Options of the task.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Run these checks only
    #[arg(value_name = "CHECK", value_parser = PossibleValuesParser::new(CHECKS.map(|(name, _)| name)))]
    only: Vec<String>,
}

type Check = fn() -> Result<()>;

/// The checks in their order, the cheap ones first.
const CHECKS: [(&str, Check); 12] = [
    ("format", format),
    ("tasks", documented_tasks),
    ("clippy", clippy),
    ("minimum-rust", minimum_rust::run),
    ("rustdoc", rustdoc),
    // Before the tests: a page that an edit of a kernel has made stale is found half an hour earlier.
    ("docs", || docs::run(&docs::Options { check: true, book: false }).map(drop)),
    ("test", || test::run(&test::Options::default()).map(drop)),
    ("demo", || demo::run().map(drop)),
    ("dist", folder_for_gpu_machines),
    ("driver", gpu_tests_on_the_simulator),
    // The last ones, because what they embed and remove again has the command line compiled anew.
    ("documents", || test::fetch().and_then(|()| documents::run())),
    ("embedded", program_without_files),
];

/// Runs the checks, and prints the seconds that each took.
///
/// # Errors
/// Fails at the first check that does not pass.
pub fn run(options: &Options) -> Result<ExitCode> {
    components()?;
    let mut times = Vec::new();
    for (name, check) in CHECKS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let start = Instant::now();
        check().with_context(|| format!("the check `{name}` (`cargo xtask ci {name}` runs it alone)"))?;
        times.push((name, start.elapsed()));
    }
    for (name, time) in &times {
        eprintln!("{name:>10} {:6.0} s", time.as_secs_f64());
    }
    let all: Duration = times.iter().map(|(_, time)| *time).sum();
    eprintln!("{:>10} {:6.0} s", "all", all.as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Checks the form of every source file.
fn format() -> Result<()> {
    command::run(command::cargo().args(["fmt", "--all", "--check"]))?;
    command::run(command::cargo().args(["fmt", "--all", "--check", "--manifest-path", "examples/Cargo.toml"]))
}

/// The builder that is a dependency of a build script runs for a moment only.
const UNOPTIMISED_BUILDER: &str = "profile.dev.package.rustwarp-builder.opt-level=0";

/// Checks that clippy has nothing to say.
fn clippy() -> Result<()> {
    // The GPU tests cannot run without a GPU, but must compile. So must the bridge to cudarc and the build script that
    // compiles kernels. The GPU tests without that script are built by the check `dist`.
    let parts = [&["--workspace"][..], &["--package", "tests", "--package", "rustwarp", "--all-features"]];
    for part in parts {
        let mut cargo = command::cargo();
        cargo.arg("clippy").args(part).args(["--all-targets", "--config", UNOPTIMISED_BUILDER, "--", "-D", "warnings"]);
        // The feature `kernels` compiles them, which clippy does not need.
        cargo.env("RUSTWARP_FAMILIES", "none");
        command::run(&mut cargo)?;
    }
    Ok(())
}

/// Checks the documentation's links.
fn rustdoc() -> Result<()> {
    let mut cargo = command::cargo();
    cargo.args(["doc", "--workspace", "--no-deps", "--document-private-items"]).env("RUSTDOCFLAGS", "-D warnings");
    command::run(&mut cargo)
}

/// Checks for clippy and rustfmt: building and testing need neither, so `rust-toolchain.toml` does not list them.
fn components() -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let answer = command::cargo().args([subcommand, "--version"]).output();
        if !answer.is_ok_and(|output| output.status.success()) {
            bail!("{component} is missing: run `rustup component add rustfmt clippy`");
        }
    }
    Ok(())
}

/// Maximum size of the example first-sum, which contains the simulator and the kernels of sums: 15 MB.
const FIRST_SUM_LIMIT: u64 = 15_000_000;

/// Checks that a program with embedded kernels is small and runs from an empty folder, and that the registry takes
/// their package.
fn program_without_files() -> Result<()> {
    command::run(command::cargo().args(["xtask", "embed"]))?;
    command::run(command::cargo().args(["test", "--package", "xtask", "--test", "packages"]))?;
    // A release, because users ship releases: without optimisation the program is more than twice as large.
    let arguments = ["build", "--release", "--manifest-path", "examples/Cargo.toml", "--package", "first-sum"];
    let built = command::executables(&[&arguments[..], &["--target-dir", documents::PROJECTS, "--offline"]].concat())?;
    let [(_, built)] = built.as_slice() else { bail!("cargo named no program, or several, for the example first-sum") };
    dist::check_size(built, FIRST_SUM_LIMIT)?;
    // Outside the workspace: no PTX lies above the program or the current folder.
    let folder = tempfile::tempdir().context("cannot create a folder")?;
    let program = folder.path().join("sum");
    fs::copy(built, &program).with_context(|| format!("cannot copy {}", built.display()))?;
    command::run(Command::new(&program).current_dir(folder.path()).env_remove("RUSTWARP_PTX_DIR"))?;
    embed::remove()
}

/// Checks that the folder for machines without Rust is complete: its command line finds its kernels and runs them.
fn folder_for_gpu_machines() -> Result<()> {
    dist::run()?;
    let folder = workspace::root().join("dist");
    let mut script = Command::new(folder.join("run.sh"));
    command::run(script.args(["host", "vecadd", "--variant", "all", "--n", "1009", "--device", "sim"]).current_dir("/"))
}

/// GPU tests that are not run on the simulated driver: they compare times, take more memory than it reports, or run
/// every kernel on 2^16 to 2^22 elements besides the families' own sizes, which takes minutes there.
const ONLY_ON_A_GPU: [&str; 5] = [
    "best_is_the_best",
    "operators_at_the_speed_of_memory",
    "more_than_two_to_the_31",
    "::more_lengths",
    "::a_long_vector",
];

/// Checks that the GPU tests pass on the simulated driver: both the library's GPU backend and the driver do what they
/// say.
fn gpu_tests_on_the_simulator() -> Result<()> {
    dist::host_and_libraries()?;
    let root = workspace::root();
    let (tests, ptx) = (root.join("dist/tests/gpu"), root.join("dist/ptx"));
    if !tests.is_file() || !ptx.is_dir() {
        // The check before makes the folder.
        folder_for_gpu_machines()?;
    }
    let folder = tempfile::tempdir().context("cannot create a folder")?;
    let driver = folder.path().join("libcuda.so.1");
    fs::copy(root.join("target/release/libcuda_sim.so"), &driver).context("cannot copy the simulated driver")?;
    let mut command = Command::new(tests);
    command.args(ONLY_ON_A_GPU.iter().flat_map(|test| ["--skip", test]));
    command.env("LD_LIBRARY_PATH", folder.path()).env("RUSTWARP_LIBCUDA", &driver).env("RUSTWARP_PTX_DIR", ptx);
    // Paths of the tests are relative to it.
    command::run(command.current_dir(root.join("dist")))
}

/// Checks that every `cargo xtask NAME` in the documents names a task.
fn documented_tasks() -> Result<()> {
    let known = Task::command();
    let root = workspace::root();
    let others = ["CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root.join(name));
    for path in documents::paths()?.into_iter().chain(others) {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for name in tasks(&text) {
            if known.find_subcommand(name).is_none() {
                bail!("{} names `cargo xtask {name}`, which is not a task", path.display());
            }
        }
    }
    Ok(())
}

/// The words after `cargo xtask`, and those of a list like `setup|doctor` or `setup | doctor`; options are left out.
fn tasks(text: &str) -> impl Iterator<Item = &str> {
    text.split("cargo xtask ").skip(1).flat_map(|rest| {
        let end =
            rest.find(|c: char| !c.is_ascii_lowercase() && !['-', ' ', '|', '\\'].contains(&c)).unwrap_or(rest.len());
        // Words after the name of a task are its arguments, or the document's next words. In a table, `|` is `\|`.
        rest[..end]
            .split(['|', '\\'])
            .filter_map(|words| words.split_whitespace().next())
            .filter(|name| !name.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_tasks_that_a_document_names() {
        let text =
            "Run `cargo xtask demo`, then\n    cargo xtask build-ptx --arch sm_90\n`cargo xtask --help` lists all.";
        assert_eq!(tasks(text).collect::<Vec<_>>(), ["demo", "build-ptx"]);
        let text = "`cargo xtask setup|doctor`, `cargo xtask docs | bench --help \\| dist`, `cargo xtask ci` | test";
        assert_eq!(tasks(text).collect::<Vec<_>>(), ["setup", "doctor", "docs", "bench", "dist", "ci"]);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Task::command().debug_assert();
    }
}
