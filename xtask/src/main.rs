//! The project's tasks: `cargo xtask --help` lists them.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

mod bench;
mod build_ptx;
mod ci;
mod command;
mod demo;
mod dist;
mod docs;
mod doctor;
mod embed;
mod new;
mod setup;
mod test;
mod tidy;
mod tune;
mod workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The project's tasks",
    disable_help_subcommand = true
)]
enum Task {
    /// Fetches missing tools: the device toolchain, ptxas, nvdisasm
    Setup(setup::Options),
    /// Lists the tools that are present or missing, and the commands that add them
    Doctor,
    /// Makes a project of your own: a kernel, its test on the simulator, a program that runs it
    New(new::Options),
    /// Compiles the kernels to PTX
    BuildPtx(build_ptx::Options),
    /// Puts the kernels' PTX and machine code into programs that are built with `rustwarp`
    Embed(embed::Options),
    /// Sets up, builds, and runs the reduction ladders on the data that comes with the project
    Demo,
    /// Sets up, builds, and runs every test
    Test(test::Options),
    /// Measures the kernels on a GPU, against the vendor's libraries where nvcc is installed
    Bench(bench::Options),
    /// Measures other values of a family's marked constants on a GPU, beside the present ones
    Tune(tune::Options),
    /// Makes the folder `dist`, which tests and measures on a GPU machine without Rust
    Dist,
    /// Writes the pages of docs/ladders from the sources, the simulator and docs/results, and makes the guide
    Docs(docs::Options),
    /// Checks the project's rules on structure and text
    Tidy,
    /// Runs every check that needs no GPU
    Ci(ci::Options),
}

/// The command line; the rules of `tidy` are part of its help.
fn command_line() -> clap::Command {
    Task::command().mut_subcommand("tidy", |tidy| tidy.after_help(tidy::help()))
}

fn main() -> ExitCode {
    let task = Task::from_arg_matches(&command_line().get_matches()).unwrap_or_else(|error| error.exit());
    let done = match task {
        Task::Setup(options) => setup::run(&options),
        Task::Doctor => doctor::run(),
        Task::New(options) => new::run(&options),
        Task::BuildPtx(options) => build_ptx::run(&options),
        Task::Embed(options) => embed::run(&options),
        Task::Demo => demo::run(),
        Task::Test(options) => test::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Tune(options) => tune::run(&options),
        Task::Dist => dist::run(),
        Task::Docs(options) => docs::run(&options),
        Task::Tidy => tidy::run(),
        Task::Ci(options) => ci::run(&options),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
