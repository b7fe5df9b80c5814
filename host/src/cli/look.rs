//! Width and colours of what people read: the terminal's, `--color`, `NO_COLOR` and `COLUMNS`.

use clap::{Arg, ArgMatches, ValueEnum, builder::EnumValueParser};
use ladders::table::Look;
use rustwarp::diagnostic::Diagnostic;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// The value of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// The option `--color`, of every command.
pub(super) fn option() -> Arg {
    Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(EnumValueParser::<Colour>::new())
        .hide_possible_values(true)
        .global(true)
        .help("Colours: auto (on a terminal, unless NO_COLOR is set), always or never [default: auto]")
}

/// Records the option's value. The first one that is given holds.
pub(super) fn choose(matches: &ArgMatches) {
    if let Some(colour) = matches.get_one::<Colour>("color") {
        let _ = CHOSEN.set(*colour);
    }
}

/// The look of standard output: as wide as `COLUMNS` says, or as the terminal. What is written to a file or a pipe has
/// every column.
pub(super) fn stdout() -> Look {
    let out = std::io::stdout();
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    // Open MPI's `mpirun` gives each rank a terminal of its own, and writes what it reads there wherever its own output
    // goes.
    let terminal = out.is_terminal() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none();
    let width = || terminal_size::terminal_size_of(&out).map(|(width, _)| usize::from(width.0)).filter(|_| terminal);
    Look { width: columns.or_else(width), colour: coloured(terminal) }
}

/// The report of a diagnostic for standard error.
pub(super) fn report(diagnostic: &Diagnostic) -> &str {
    if coloured(std::io::stderr().is_terminal()) { &diagnostic.colour } else { &diagnostic.text }
}

fn coloured(terminal: bool) -> bool {
    match CHOSEN.get().copied().unwrap_or(Colour::Auto) {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
