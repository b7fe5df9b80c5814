//! The command line: argument parsing, printing and exit codes. The work itself is in `ladders` and `rustwarp`.

pub mod cli;
pub mod sarif;
