//! How fast kernels run and PTX is parsed: `cargo bench -p ptx_sim [-- NAME…]`, where a name is part of
//! `KERNEL/CHECKS/WORKERS`, or `parser`, `start`, `memory`.
//!
//! Prints one line of CSV per kernel, level of checks and number of workers: the best of several runs, because whatever
//! else the machine does only ever makes a run slower. Every result is compared with what the same program computes in
//! Rust, so that a speed is never that of a wrong answer.

mod kernels;
mod parser;
mod start;

fn main() {
    // Cargo passes `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let selected = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    kernels::run(&selected);
    parser::run(&selected);
    start::run(&selected);
}
