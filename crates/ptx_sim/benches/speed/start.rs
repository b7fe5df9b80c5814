//! Time of a first launch, and memory used by the checkers.

use ptx_sim::{Checks, Config, Launch, Machine, Program};
use std::time::Instant;

/// Measures the microseconds from PTX text to the end of a one-block kernel, and the bytes that all checkers keep per
/// byte touched.
pub fn run(selected: &dyn Fn(&str) -> bool) {
    if selected("start") {
        first_launch();
    }
    if selected("memory") {
        shadow();
    }
}

fn first_launch() {
    println!("step,microseconds");
    let text = include_str!("ptx/reduce.ptx");
    let started = Instant::now();
    let program = Program::parse(text).expect("PTX");
    let parsed = started.elapsed();
    let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
    let [input, output] = [1024, 4].map(|bytes| machine.alloc(bytes, "array").expect("memory").to_le_bytes().to_vec());
    let params = [input, output];
    let launch = Launch { entry: "reduce", grid: [1; 3], block: [256, 1, 1], params: &params, ..Launch::default() };
    println!("parse,{}", parsed.as_micros());
    for step in ["first launch", "second launch"] {
        let started = Instant::now();
        machine.launch(&program, &launch).expect("runs");
        println!("{step},{}", started.elapsed().as_micros());
    }
}

/// Measures the peak memory of a launch that writes every word of an array, beyond the array itself. Linux only.
fn shadow() {
    let Some(_) = peak() else { return };
    println!("checks,bytes_touched,bytes_of_shadow_per_byte");
    let threads: u32 = 1 << 22;
    let bytes = 4 * u64::from(threads);
    for (name, checks) in [("none", Checks::NONE), ("all", Checks::DEFECTS)] {
        let program = Program::parse(include_str!("ptx/alu.ptx")).expect("PTX");
        let mut machine = Machine::new(Config { workers: 1, checks, ..Config::default() });
        let array = machine.alloc(bytes, "array").expect("memory");
        machine.fill(array, 1, bytes).expect("in bounds");
        let params = [array.to_le_bytes().to_vec(), 1_u32.to_le_bytes().to_vec()];
        let (grid, block) = ([threads / 256, 1, 1], [256, 1, 1]);
        let launch = Launch { entry: "alu", grid, block, params: &params, ..Launch::default() };
        let before = peak().unwrap_or_default();
        machine.launch(&program, &launch).expect("runs");
        let grown = peak().unwrap_or_default().saturating_sub(before);
        println!("{name},{bytes},{:.2}", grown as f64 / bytes as f64);
    }
}

/// Peak memory of this process in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}
