//! Speed of simulated kernels and of the parser: `cargo bench -p ptx_sim [-- NAME…]`, where a name is a part of
//! `KERNEL/CHECKS/WORKERS`, or `parser`, `start`, `memory`.
//!
//! Prints one line of CSV per kernel, level of checks and number of workers. The fastest of several runs counts,
//! because other load on the machine only makes a run slower. Every result is compared with a computation in Rust, so a
//! speed always belongs to a correct result.

mod kernels;
mod parser;
mod start;

fn main() {
    // Cargo passes the argument `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let selected = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    kernels::run(&selected);
    parser::run(&selected);
    start::run(&selected);
}
