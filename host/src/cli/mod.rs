//! The command line: one file per subcommand, and one subcommand per family of the families' list.

use clap::{Args, Command, FromArgMatches};
use ladders::error::Error;
use ladders::kernels::{self, FAMILIES};
use std::ffi::OsString;

mod advice;
mod argument;
mod bench;
mod check;
mod completions;
mod describe;
mod device;
mod devices;
mod ending;
mod exit;
mod explain;
mod family;
mod group;
mod interrupt;
mod launch;
mod libraries;
mod list;
mod look;
mod names;
mod narrow;
mod number;
mod occupancy;
mod operands;
mod output;
mod predict;
mod races;
mod rank;
mod replay;
mod rows;
mod run;
mod sanitize;
mod scaling;
mod seeds;
mod simulation;
mod stdout;
mod stream;
mod tune;

pub use exit::{describe, exit_code};
pub use rank::of_rank;

/// Parses the command line, runs the command, and returns its exit code.
///
/// # Errors
/// The reason why the command could not do its work; [`exit_code`] gives the exit code for it.
pub fn main(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<u8> {
    let matches = advice::matches(command(), args);
    look::choose(&matches);
    let (name, matches) = matches.subcommand().unwrap_or_else(|| unreachable!("clap requires a subcommand"));
    match name {
        "devices" => devices::run(&parse(matches)?),
        "occupancy" => occupancy::run(&parse(matches)?),
        "list" => list::run(&parse(matches)?),
        "run" => run::run(&parse(matches)?),
        "check" => check::run(&parse(matches)?),
        "explain" => explain::run(&parse(matches)?),
        "sanitize" => sanitize::run(&parse(matches)?),
        "bench" => bench::run(&parse(matches)?),
        "tune" => tune::run(&parse(matches)?),
        "scaling" => scaling::run(&parse(matches)?),
        "completions" => completions::run(&parse(matches)?, command()),
        "man" => completions::man(&parse(matches)?, command()),
        name => match kernels::family(name) {
            Some(asked) => {
                let found = narrow::solver(asked, matches)?;
                let options = family::parse(found, matches)?;
                let group = group::requested(found, matches)?;
                match (group, stream::chosen(found, &options, matches)?) {
                    (Some(group), Some(how)) => {
                        stream::run_on_group(found, &options, how, || group::opened(&options, &group))
                    }
                    (Some(group), None) => group::run(found, &options, &group),
                    (None, Some(how)) => stream::run(found, &options, how),
                    (None, None) => family::run(found, &options),
                }
            }
            None => unreachable!("clap has no other subcommand"),
        },
    }
}

/// The definition of the command line.
fn command() -> Command {
    let families = FAMILIES.iter().map(|found| {
        let options = subcommand::<family::Options>(found.name, found.idea);
        let solves = ladders::group::solves(found);
        let options = if solves { group::Options::augment_args(options) } else { options };
        describe::with_examples(found, stream::command(found, family::command(found, options)))
    });
    Command::new("host")
        .about("Runs Rust kernels on a GPU or on the simulator, verifies them, and times them")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(look::option())
        .subcommand(subcommand::<devices::Options>("devices", "List the available devices"))
        .subcommand(subcommand::<list::Options>("list", "List families, variants, and their entries"))
        .subcommand(subcommand::<occupancy::Options>(
            "occupancy",
            "Show how many blocks of a kernel a multiprocessor holds",
        ))
        .subcommands(families)
        .subcommand(subcommand::<run::Options>("run", "Launch an entry of any PTX file"))
        .subcommand(subcommand::<check::Options>(
            "check",
            "Run a family or a PTX file on the simulator with the checkers on",
        ))
        .subcommand(subcommand::<explain::Options>(
            "explain",
            "Explain the cost of kernels: counters, source lines, limits, an estimate; --html FILE for plots",
        ))
        .subcommand(subcommand::<sanitize::Options>(
            "sanitize",
            "Run any program that uses CUDA without a GPU, on the simulator with the checkers on",
        ))
        .subcommand(subcommand::<bench::Options>(
            "bench",
            "Time families on a GPU, beside the vendor's libraries with --peers",
        ))
        .subcommand(subcommand::<tune::Options>(
            "tune",
            "Measure the variants that `cargo xtask tune` has compiled beside the present kernel of a family",
        ))
        .subcommand(subcommand::<scaling::Options>(
            "scaling",
            "Time the same work on 1, 2, ... GPUs, and predict the times on more by a model",
        ))
        .subcommand(subcommand::<completions::Completions>("completions", "Print a shell's script for completions"))
        .subcommand(subcommand::<completions::Man>("man", "Print the manual page of host or of a subcommand"))
        .after_help(
            "Exit codes: 0 done and verified, 1 wrong result or finding, 2 usage or bad input, 3 no such device, \
             driver or PTX, 4 the kernel faulted, 5 the ranks of a group differ, or one is missing or has ended, \
             130 interrupted (finished rows are shown)",
        )
}

fn subcommand<T: Args>(name: &'static str, about: &'static str) -> Command {
    // The doc comment of the options' type is for readers of the code.
    T::augment_args(Command::new(name)).about(about).long_about(about)
}

fn parse<T: FromArgMatches>(matches: &clap::ArgMatches) -> Result<T, Error> {
    // clap has checked the arguments against the same definition.
    T::from_arg_matches(matches).map_err(|error| Error::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::command().debug_assert();
    }

    /// Messages of `ladders` name these options.
    #[test]
    fn every_parameter_of_messages_is_an_option() {
        let command = super::command();
        for parameter in ladders::kernels::spelling::PARAMETERS {
            let takes = |name: &str| {
                let of = command.find_subcommand(name).expect("a subcommand");
                of.get_arguments().any(|argument| argument.get_long() == Some(parameter.name))
            };
            assert!(takes("reduce") || takes("bench"), "{parameter}");
        }
    }
}
