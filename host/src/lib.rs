//! The command line: what is asked for, what is printed, and the exit code. What it runs is in `ladders` and
//! `rustwarp`.

pub mod cli;
pub mod sarif;
