//! `host completions SHELL` and `host man`: files for shells and `man`, made from the definition of the command line.

use super::exit::CLEAN;
use super::{describe, stdout};
use clap::Command;
use clap_complete::Shell;
use ladders::error::{Error, Result};
use ladders::input;
use ladders::kernels::FAMILIES;
use std::path::PathBuf;

/// Options of `host completions`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

/// Options of `host man`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Man {
    /// The subcommand whose page is printed [default: the page of host]
    #[arg(value_name = "COMMAND", conflicts_with = "all")]
    command: Option<String>,
    /// Write the pages of host and of all subcommands to this folder
    #[arg(long, value_name = "FOLDER")]
    all: Option<PathBuf>,
}

/// Prints the shell's script.
pub(super) fn run(options: &Completions, mut command: Command) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(options.shell, &mut command, name, &mut script);
    stdout::line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(CLEAN)
}

/// Columns of the families' variants: those of a manual page on a terminal of 80, beside its margins.
const COLUMNS: usize = 70;

/// Prints a page, or writes all.
pub(super) fn man(options: &Man, command: Command) -> anyhow::Result<u8> {
    // A page is read where it is not made, so that this terminal's width does not matter.
    let mut command = FAMILIES.iter().fold(command, |command, family| {
        command.mut_subcommand(family.name, |page| page.after_help(describe::details(family, COLUMNS)))
    });
    // Subcommands get their full names.
    command.build();
    if let Some(folder) = &options.all {
        let failed = |source| Error::Write { path: folder.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let name = command.get_name().to_owned();
        input::write_text(&folder.join(format!("{name}.1")), &page(&command)?)?;
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            input::write_text(&folder.join(format!("{name}-{}.1", sub.get_name())), &page(sub)?)?;
        }
        return Ok(CLEAN);
    }
    let shown = match &options.command {
        None => &command,
        Some(name) => command.find_subcommand(name).ok_or_else(|| {
            Error::Usage(format!("there is no subcommand `{name}`: `host --help` lists the subcommands"))
        })?,
    };
    stdout::line(page(shown)?.trim_end())?;
    Ok(CLEAN)
}

/// The page of a command in roff.
fn page(command: &Command) -> Result<String> {
    let mut text = Vec::new();
    let failed = |source| Error::Write { path: "standard output".into(), source };
    clap_mangen::Man::new(command.clone()).render(&mut text).map_err(failed)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
