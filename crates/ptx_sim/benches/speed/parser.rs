//! Speed of the parser.

use ptx_sim::Program;
use std::time::Instant;

/// Minimum number of bytes of PTX to parse.
const BYTES: usize = 8 << 20;
/// Number of runs; the fastest one counts.
const RUNS: usize = 5;

/// Measures a module with many kernels and, if the environment variable `PTX` names a file, that file.
pub fn run(selected: &dyn Fn(&str) -> bool) {
    if !selected("parser") {
        return;
    }
    println!("text,bytes,milliseconds,megabytes_per_second");
    measure("many kernels", &many_kernels());
    if let Some(path) = std::env::var_os("PTX") {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        measure(&path.to_string_lossy(), &text);
    }
}

fn measure(name: &str, text: &str) {
    let seconds = (0..RUNS).map(|_| {
        let started = Instant::now();
        let program = Program::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let seconds = started.elapsed().as_secs_f64();
        assert!(!program.functions().is_empty(), "{name}: no function");
        seconds
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    println!("{name},{},{:.2},{:.1}", text.len(), seconds * 1e3, text.len() as f64 / seconds / 1e6);
}

/// Concatenates the kernels of this benchmark repeatedly, under different names.
fn many_kernels() -> String {
    let kernels = [
        include_str!("ptx/gemm.ptx"),
        include_str!("ptx/reduce.ptx"),
        include_str!("ptx/divergent.ptx"),
        include_str!("ptx/histogram.ptx"),
    ];
    let bodies = kernels.map(|text| &text[text.find(".visible").expect("an entry")..]);
    let mut module = ".version 7.8\n.target sm_75\n.address_size 64\n".to_owned();
    let mut number = 0;
    while module.len() < BYTES {
        for body in bodies {
            module += &body.replacen('(', &format!("_{number}("), 1);
            number += 1;
        }
    }
    module
}
