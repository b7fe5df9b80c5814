//! The measured kernels with their inputs and expected results, and the levels of checks.

use ptx_sim::{Checks, Config, Launch, Machine, Program, Report};
use std::time::Instant;

/// A kernel and its launch. Its parameters are the input arrays, the output array and the scalars, in this order.
struct Kernel {
    entry: &'static str,
    ptx: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    inputs: Vec<Vec<u32>>,
    scalars: Vec<u32>,
    expected: Vec<u32>,
}

/// Number of runs; the fastest one counts.
const RUNS: usize = 5;

/// Levels of checks: name, counters, checkers.
const LEVELS: [(&str, bool, Checks); 3] =
    [("bare", false, Checks::NONE), ("counters", true, Checks::NONE), ("all", true, Checks::DEFECTS)];

type Make = fn() -> Kernel;

/// The measured kernels.
const KERNELS: [(&str, Make); 6] = [
    ("alu", alu),
    ("reduce", reduce),
    ("divergent", divergent),
    ("histogram", histogram),
    // With the first block shape a warp lies in one row of the result, with the second in two.
    ("gemm", || gemm([1, 256, 1], [256, 1, 1])),
    ("gemm_tiles", || gemm([16, 16, 1], [16, 16, 1])),
];

/// Measures the selected kernels on one worker and on all cores.
pub fn run(selected: &dyn Fn(&str) -> bool) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let workers = if cores == 1 { vec![1] } else { vec![1, cores] };
    let mut header = Some("kernel,checks,workers,warp_instructions,milliseconds,million_warp_instructions_per_second");
    for (name, kernel) in KERNELS {
        let names = |level: &str, workers: usize| format!("{name}/{level}/{workers}");
        let any = |level: &str| workers.iter().any(|&workers| selected(&names(level, workers)));
        if !LEVELS.iter().any(|(level, ..)| any(level)) {
            continue;
        }
        if let Some(header) = header.take() {
            println!("{header}");
        }
        let kernel = kernel();
        let mut instructions = None;
        for (level, counters, checks) in LEVELS {
            for &workers in &workers {
                if !selected(&names(level, workers)) {
                    continue;
                }
                let instructions = *instructions.get_or_insert_with(|| {
                    let (_, report) = kernel.launch(&Config::default());
                    report.counters.warp_instructions
                });
                let config = Config { counters, checks, workers, ..Config::default() };
                let seconds = (0..RUNS).map(|_| kernel.launch(&config).0).fold(f64::INFINITY, f64::min);
                let (milliseconds, speed) = (seconds * 1e3, instructions as f64 / seconds / 1e6);
                println!("{name},{level},{workers},{instructions},{milliseconds:.2},{speed:.1}");
            }
        }
    }
}

impl Kernel {
    /// Launches with fresh memory, checks the result, and returns the time in seconds and the report.
    fn launch(&self, config: &Config) -> (f64, Report) {
        let program = Program::parse(self.ptx).unwrap_or_else(|error| panic!("{}: {error}", self.entry));
        let mut machine = Machine::new(config.clone());
        let mut array = |words: &[u32], name: &str| {
            let address = machine.alloc(4 * words.len() as u64, name).expect("memory");
            machine.write(address, &to_bytes(words)).expect("in bounds");
            address
        };
        let inputs = self.inputs.iter().map(|words| array(words, "input").to_le_bytes().to_vec());
        let mut params: Vec<Vec<u8>> = inputs.collect();
        let output = array(&vec![0; self.expected.len()], "output");
        params.push(output.to_le_bytes().to_vec());
        params.extend(self.scalars.iter().map(|scalar| scalar.to_le_bytes().to_vec()));
        let (grid, block) = (self.grid, self.block);
        let launch = Launch { entry: self.entry, grid, block, params: &params, ..Launch::default() };
        let (started, used) = (Instant::now(), processor_time());
        let report = machine.launch(&program, &launch).unwrap_or_else(|stop| panic!("{}: {stop}", self.entry));
        let seconds = match (config.workers, used, processor_time()) {
            (1, Some(before), Some(after)) => after - before,
            _ => started.elapsed().as_secs_f64(),
        };
        assert!(report.findings.is_empty(), "{}: {:?}", self.entry, report.findings);
        let mut found = vec![0; 4 * self.expected.len()];
        machine.read(output, &mut found).expect("in bounds");
        assert!(found == to_bytes(&self.expected), "{}: wrong result", self.entry);
        (seconds, report)
    }
}

/// Processor time of this thread in seconds, which other programs disturb less than wall-clock time; `None` where the
/// system does not report it (other than Linux). One worker runs on the launching thread.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reproducible pseudo-random numbers.
fn noise(len: usize) -> impl Iterator<Item = u32> {
    let mut state = 1_u32;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    })
    .take(len)
}

fn alu() -> Kernel {
    let (blocks, threads, rounds) = (256, 256, 500);
    let expected = (0..blocks * threads).map(|thread: u32| {
        let (mut x, mut y, factor) = (thread as f32, thread, f32::from_bits(0x3f7f_be77));
        for _ in 0..rounds {
            x = x.mul_add(factor, factor);
            y = y.wrapping_mul(y).wrapping_add(thread);
            y = y.wrapping_add((y ^ thread) << 3);
        }
        (x as u32).wrapping_add(y)
    });
    Kernel {
        entry: "alu",
        ptx: include_str!("ptx/alu.ptx"),
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        inputs: vec![],
        scalars: vec![rounds],
        expected: expected.collect(),
    }
}

fn reduce() -> Kernel {
    let (blocks, threads) = (4096, 256);
    // The sums of small whole numbers are exact in any order.
    let input: Vec<f32> = noise(blocks * threads).map(|x| (x % 64) as f32).collect();
    let sums = input.chunks_exact(threads).map(|part| part.iter().sum::<f32>().to_bits());
    Kernel {
        entry: "reduce",
        ptx: include_str!("ptx/reduce.ptx"),
        grid: [blocks as u32, 1, 1],
        block: [threads as u32, 1, 1],
        expected: sums.collect(),
        inputs: vec![input.into_iter().map(f32::to_bits).collect()],
        scalars: vec![],
    }
}

fn divergent() -> Kernel {
    let (blocks, threads) = (256, 256);
    let expected = (0..blocks * threads).map(|thread: u32| {
        let (mut x, mut steps) = (thread + 1, 0);
        while x != 1 {
            x = if x % 2 == 0 { x / 2 } else { x.wrapping_mul(3).wrapping_add(1) };
            steps += 1;
        }
        steps
    });
    Kernel {
        entry: "divergent",
        ptx: include_str!("ptx/divergent.ptx"),
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        inputs: vec![],
        scalars: vec![],
        expected: expected.collect(),
    }
}

fn histogram() -> Kernel {
    let (blocks, threads, rounds) = (256, 256, 16);
    let input: Vec<u32> = noise(blocks * threads * rounds).collect();
    let mut expected = vec![0; 256];
    for x in &input {
        expected[(x & 255) as usize] += 1;
    }
    Kernel {
        entry: "histogram",
        ptx: include_str!("ptx/histogram.ptx"),
        grid: [blocks as u32, 1, 1],
        block: [threads as u32, 1, 1],
        inputs: vec![input],
        scalars: vec![rounds as u32],
        expected,
    }
}

fn gemm(grid: [u32; 3], block: [u32; 3]) -> Kernel {
    let n = 256;
    let matrix = |skip: usize| -> Vec<f32> { noise(skip + n * n).skip(skip).map(|x| (x % 16) as f32).collect() };
    let (a, b) = (matrix(0), matrix(n * n));
    let element = |at: usize| -> f32 { (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum() };
    let expected = (0..n * n).map(|at| element(at).to_bits()).collect();
    let bits = |matrix: &[f32]| matrix.iter().map(|x| x.to_bits()).collect();
    Kernel {
        entry: "gemm",
        ptx: include_str!("ptx/gemm.ptx"),
        grid,
        block,
        inputs: vec![bits(&a), bits(&b)],
        scalars: vec![n as u32],
        expected,
    }
}
