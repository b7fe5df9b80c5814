//! The same kernels on ptx_sim, ptoxide and Oclgrind, one thread each: `cargo run --release [-- NAME…]` in this folder.
//!
//! ptoxide runs the same PTX, from `crates/ptx_sim/benches/speed/ptx`; Oclgrind runs the same algorithm in OpenCL C and
//! is timed as a process, minus the time of a process that runs an empty kernel. Times are processor times, which other
//! programs disturb less than wall-clock times (Linux only). The speed of all three is given in warp instructions of
//! the PTX per second, so that equal work is compared.
use ptx_sim::{Checks, Config, Launch, Machine, Program};
use std::process::Command;

/// A kernel, its launch, its parameters: input words, output words, scalars.
struct Case {
    name: &'static str,
    ptx: &'static str,
    grid: [u32; 2],
    block: u32,
    inputs: Vec<Vec<u32>>,
    output: usize,
    scalars: Vec<u32>,
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("kernel,simulator,warp_instructions,milliseconds,million_warp_instructions_per_second");
    for case in cases() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.name) {
            continue;
        }
        let (mut instructions, mut expected) = (0, Vec::new());
        for (name, counters, checks) in [
            ("ptx_sim counters", true, Checks::NONE),
            ("ptx_sim bare", false, Checks::NONE),
            ("ptx_sim all", true, Checks::DEFECTS),
        ] {
            let runs = (0..3).map(|_| ours(&case, counters, checks));
            let (seconds, counted, output) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("three runs");
            if counters {
                (instructions, expected) = (counted, output);
            }
            report(case.name, name, instructions, seconds);
        }
        match ptoxide(&case) {
            Ok((seconds, output)) => {
                let same = if output == expected { "ptoxide" } else { "ptoxide (wrong result)" };
                report(case.name, same, instructions, seconds);
            }
            Err(why) => println!("{},ptoxide,,,{}", case.name, why.replace(['\n', ','], " ")),
        }
        for (name, more) in [("Oclgrind", None), ("Oclgrind --data-races", Some("--data-races"))] {
            match oclgrind(case.name, more) {
                Ok(seconds) => report(case.name, name, instructions, seconds),
                Err(why) => println!("{},{name},,,{why}", case.name),
            }
        }
    }
}

fn report(kernel: &str, simulator: &str, instructions: u64, seconds: f64) {
    let (milliseconds, speed) = (seconds * 1e3, instructions as f64 / seconds / 1e6);
    println!("{kernel},{simulator},{instructions},{milliseconds:.1},{speed:.2}");
}

fn ours(case: &Case, counters: bool, checks: Checks) -> (f64, u64, Vec<u8>) {
    let program = Program::parse(case.ptx).expect("PTX");
    let mut machine = Machine::new(Config { counters, checks, workers: 1, ..Config::default() });
    let mut params = Vec::new();
    let mut output = 0;
    for words in case.inputs.iter().chain([&vec![0; case.output]]) {
        output = machine.alloc(4 * words.len() as u64, "array").expect("memory");
        machine.write(output, &bytes(words)).expect("in bounds");
        params.push(output.to_le_bytes().to_vec());
    }
    params.extend(case.scalars.iter().map(|scalar| scalar.to_le_bytes().to_vec()));
    let (grid, block) = ([case.grid[0], case.grid[1], 1], [case.block, 1, 1]);
    let launch = Launch { entry: case.name, grid, block, params: &params, ..Launch::default() };
    let started = processor_time();
    let counted = machine.launch(&program, &launch).expect("runs").counters.warp_instructions;
    let seconds = processor_time() - started;
    let mut found = vec![0; 4 * case.output];
    machine.read(output, &mut found).expect("in bounds");
    (seconds, counted, found)
}

fn ptoxide(case: &Case) -> Result<(f64, Vec<u8>), String> {
    let run = || -> Result<(f64, Vec<u8>), String> {
        let mut context = Context::new_with_module(case.ptx).map_err(|error| error.to_string())?;
        let inputs: Vec<_> = case.inputs.iter().map(|words| (context.alloc::<u32>(words.len()), words)).collect();
        let output = context.alloc::<u32>(case.output);
        for (pointer, words) in &inputs {
            context.write(*pointer, words);
        }
        context.write(output, &vec![0; case.output]);
        let mut arguments: Vec<_> = inputs.iter().map(|(pointer, _)| Argument::ptr(*pointer)).collect();
        arguments.push(Argument::ptr(output));
        arguments.extend(case.scalars.iter().map(|scalar| Argument::U32(*scalar)));
        let launch = LaunchParams::func(case.name).grid2d(case.grid[0], case.grid[1]).block1d(case.block);
        let started = processor_time();
        context.run(launch, &arguments).map_err(|error| error.to_string())?;
        let seconds = processor_time() - started;
        let mut found = vec![0; case.output];
        context.read(output, &mut found);
        Ok((seconds, bytes(&found)))
    };
    // ptoxide panics on what it does not support.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|_| Err("not supported".to_owned()))
}

/// Processor time of Oclgrind on `oclgrind/NAME.sim`, without that of starting and compiling.
fn oclgrind(name: &str, more: Option<&str>) -> Result<f64, String> {
    let run = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/oclgrind");
        let mut command = Command::new("oclgrind-kernel");
        command.current_dir(folder).args(["--num-threads", "1"]).args(more).arg(format!("{name}.sim"));
        let before = children_time();
        let output = command.output().map_err(|error| format!("oclgrind-kernel: {error}"))?;
        match output.status.success() && output.stderr.is_empty() {
            true => Ok(children_time() - before),
            false => Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("failed").replace(',', " ")),
        }
    };
    Ok(run(name)? - run("nothing")?)
}

/// Processor time of this thread in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduler statistics");
    let nanoseconds: u64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds as f64 / 1e9
}

/// Processor time of ended child processes in seconds, with a resolution of 1/100 s.
fn children_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = text[text.rfind(')').expect("a name in parentheses")..].split_whitespace().collect();
    // Fields 16 and 17 of the whole line: user and system time of children, in ticks of 1/100 s.
    [14, 15].iter().map(|&field| fields[field].parse::<f64>().expect("ticks")).sum::<f64>() / 100.0
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn cases() -> Vec<Case> {
    let floats =
        |len: usize, period: u32| (0..len as u32).map(|i| ((i % period) as f32).to_bits()).collect::<Vec<u32>>();
    vec![
        Case {
            name: "gemm",
            ptx: include_str!("../../../crates/ptx_sim/benches/speed/ptx/gemm.ptx"),
            grid: [1, 256],
            block: 256,
            inputs: vec![floats(256 * 256, 7), floats(256 * 256, 5)],
            output: 256 * 256,
            scalars: vec![256],
        },
        Case {
            name: "reduce",
            ptx: include_str!("../../../crates/ptx_sim/benches/speed/ptx/reduce.ptx"),
            grid: [4096, 1],
            block: 256,
            inputs: vec![floats(4096 * 256, 9)],
            output: 4096,
            scalars: vec![],
        },
        Case {
            name: "alu",
            ptx: include_str!("../../../crates/ptx_sim/benches/speed/ptx/alu.ptx"),
            grid: [256, 1],
            block: 256,
            inputs: vec![],
            output: 256 * 256,
            scalars: vec![500],
        },
    ]
}
