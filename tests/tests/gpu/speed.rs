//! Speed: `best` beside the other rungs of its ladder, and operators of another crate beside the library's sum. Each
//! test prints its times.

use bytemuck::Pod;
use kernels_gpu::operator::launch::{ReduceKernel, ScanKernel, SegmentedReduceKernel, TransformKernel};
use ladders::bench::{Cache, Plan};
use ladders::kernels::{Demand, FAMILIES, Job, Problem, Settings};
use libtest_mimic::{Failed, Trial};
use rustwarp::backend::{Choice, Handle};
use rustwarp::operators::{Reduce, Scan, SegmentedReduce, Transform};
use rustwarp::reduce::Sum;
use rustwarp::scan::Kind;
use rustwarp::{Device, Dtype, Module, Tuning};
use tests::matrix::bench;

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = CASES.iter().map(|case| Trial::test(case.name(), || case.run())).collect();
    trials.push(Trial::test("operators_at_the_speed_of_memory", operators));
    trials
}

/// A problem at which another rung was once faster than `best`, or may be.
struct Case {
    family: &'static str,
    op: &'static str,
    dtype: Dtype,
    size: &'static [u64],
    settings: &'static [(&'static str, &'static str)],
}

const CASES: &[Case] = &[
    Case { family: "vecadd", op: "", dtype: Dtype::F32, size: &[1 << 20], settings: &[] },
    Case { family: "vecadd", op: "", dtype: Dtype::F32, size: &[1 << 24], settings: &[] },
    Case { family: "scan", op: "sum", dtype: Dtype::F32, size: &[1 << 22], settings: &[] },
    Case { family: "scan_by_key", op: "sum", dtype: Dtype::F32, size: &[1 << 22], settings: &[("mix", "uniform")] },
    Case { family: "dot", op: "", dtype: Dtype::F32, size: &[1 << 20], settings: &[] },
    Case { family: "transpose", op: "", dtype: Dtype::F32, size: &[4096, 4096], settings: &[] },
    Case { family: "histogram", op: "", dtype: Dtype::U8, size: &[1 << 24], settings: &[] },
    Case { family: "matmul", op: "", dtype: Dtype::F32, size: &[2048, 2048, 2048], settings: &[] },
    Case { family: "conv1d", op: "", dtype: Dtype::F32, size: &[1 << 22], settings: &[("mask", "5")] },
    Case { family: "reduce", op: "max", dtype: Dtype::F64, size: &[1 << 20], settings: &[] },
    Case { family: "reduce", op: "min", dtype: Dtype::F64, size: &[1 << 22], settings: &[] },
    Case { family: "reduce", op: "sum", dtype: Dtype::F32, size: &[1 << 20], settings: &[] },
    Case { family: "reduce", op: "sum", dtype: Dtype::F32, size: &[1 << 26], settings: &[] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F32, size: &[1 << 22], settings: &[("mix", "uniform")] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F64, size: &[1 << 22], settings: &[("mix", "uniform")] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F32, size: &[1 << 26], settings: &[("length", "16")] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F32, size: &[1 << 26], settings: &[("length", "128")] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F32, size: &[1 << 28], settings: &[("length", "4096")] },
    Case { family: "segreduce", op: "sum", dtype: Dtype::F32, size: &[1 << 26], settings: &[("mix", "power")] },
    Case { family: "conv2d", op: "", dtype: Dtype::F32, size: &[4096, 4096, 3], settings: &[("mask", "3")] },
    Case { family: "conv2d", op: "", dtype: Dtype::F32, size: &[4096, 4096, 3], settings: &[("mask", "5")] },
    Case { family: "conv2d", op: "", dtype: Dtype::F32, size: &[4096, 4096, 3], settings: &[("mask", "7")] },
    Case { family: "conv2d", op: "", dtype: Dtype::F32, size: &[2048, 2048, 4], settings: &[("mask", "5")] },
    Case { family: "separable", op: "", dtype: Dtype::F32, size: &[8192, 8192], settings: &[("mask", "9")] },
    Case { family: "separable", op: "", dtype: Dtype::U8, size: &[4096, 4096, 3], settings: &[("mask", "5")] },
];

/// How much slower than another rung `best` may be: the noise of medians of cold runs.
const TOLERANCE: f64 = 1.03;

/// Noise of a measured time in milliseconds, which counts for the shortest runs.
const CLOCK: f64 = 0.0003;

impl Case {
    fn name(&self) -> String {
        let size: Vec<_> = self.size.iter().map(u64::to_string).collect();
        let settings: String = self.settings.iter().map(|(name, value)| format!("_{name}_{value}")).collect();
        format!("best_is_the_best::{}_{}_{}_{}{settings}", self.family, self.op, self.dtype, size.join("x"))
    }

    /// Times every rung, and compares `best` with the fastest of the others.
    fn run(&self) -> Result<(), Failed> {
        let family = FAMILIES.iter().find(|family| family.name == self.family).ok_or("a family")?;
        let bench = bench(Choice::Gpu(0), family.name);
        let settings = Settings::new(family.settings, self.settings.iter().copied())?;
        let demand = Demand { size: self.size, dtype: self.dtype, seed: 0, settings: &settings };
        let inputs = (family.generate)(&demand)?;
        let problem = Problem { inputs: &inputs, dtype: self.dtype, op: self.op, settings: &settings };
        let ladder = family.resolve(&problem)?;
        let (device, module) = (&*bench.device, bench.module);
        let plan = Plan::new(device, 31, Cache::Cold)?;
        let (oracle, rungs) = (ladder.oracle(problem)?, family.rungs());
        let (variants, plan) = (rungs.as_slice(), plan.as_ref());
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan };
        let mut times = Vec::new();
        ladder.run(&job, &mut |row| {
            times.extend(row.timing.map(|timing| (row.variant.clone(), timing.median_ms)));
        })?;
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let text: Vec<_> = times.iter().map(|(name, ms)| format!("{name} {:.1} us", ms * 1e3)).collect();
        println!("{}: {}", self.name(), text.join(", "));
        let best = times.iter().find(|(name, _)| name == "best").ok_or("no time of `best`")?.1;
        match times.iter().find(|(name, _)| name != "best") {
            Some((name, other)) if best > other * TOLERANCE + CLOCK => {
                Err(format!("`{name}` takes {:.1} us and `best` {:.1} us", other * 1e3, best * 1e3).into())
            }
            _ => Ok(()),
        }
    }
}

/// Bytes that a reduction reads: more than the L2 cache holds.
const BYTES: usize = 1 << 30;

/// The fraction of the library's sum that a summary of 16 bytes has to reach.
const FRACTION: f64 = 0.95;

/// Times launches on one device.
struct Clock {
    device: Device,
    module: Module,
    /// Bandwidth of the library's sum, in GB/s.
    sum: f64,
}

impl Clock {
    /// Prints the bandwidth of a launch that moves this number of bytes, and returns its fraction of the sum's.
    fn measure(&self, name: &str, bytes: usize, run: &mut dyn FnMut() -> rustwarp::Result<()>) -> Result<f64, Failed> {
        let ms = median(&self.device, run)?;
        let gbps = bytes as f64 / ms / 1e6;
        println!("{name:20} {:9.1} us {gbps:8.0} GB/s {:5.2} of sum f32", ms * 1e3, gbps / self.sum);
        Ok(gbps / self.sum)
    }

    fn reduce<K: ReduceKernel>(&self, kernel: K) -> Result<f64, Failed> {
        let n = BYTES / size_of::<K::Input>();
        let input = self.device.zeros::<K::Input>(n)?;
        let mut output = self.device.uninit(1)?;
        let plan = Reduce::new(&self.module, kernel, n)?;
        self.measure(name_of::<K>(), n * size_of::<K::Input>(), &mut || plan.launch(&input, &mut output))
    }

    fn scan<K: ScanKernel>(&self, kernel: K) -> Result<f64, Failed> {
        let n = BYTES / size_of::<K::Value>();
        let input = self.device.zeros::<K::Value>(n)?;
        let mut output = self.device.uninit(n)?;
        let plan = Scan::new(&self.module, kernel, n, Kind::Inclusive)?;
        self.measure(name_of::<K>(), 2 * n * size_of::<K::Value>(), &mut || plan.launch(&input, &mut output))
    }

    /// Segments of 128 elements.
    fn segmented<K: SegmentedReduceKernel>(&self, kernel: K) -> Result<f64, Failed> {
        let n = BYTES / size_of::<K::Value>() / 128 * 128;
        let offsets: Vec<u64> = (0..=n as u64).step_by(128).collect();
        let input = self.device.zeros::<K::Value>(n)?;
        let plan = SegmentedReduce::new(&self.module, kernel, n, &offsets)?;
        let mut results = self.device.uninit(plan.segments())?;
        self.measure(name_of::<K>(), n * size_of::<K::Value>(), &mut || plan.launch(&input, &mut results))
    }

    fn transform<K: TransformKernel>(&self, kernel: K) -> Result<f64, Failed> {
        let (from, to) = (size_of::<K::Input>(), size_of::<K::Value>());
        let n = BYTES / from.max(to);
        let input = self.device.zeros::<K::Input>(n)?;
        let mut output = self.device.uninit(n)?;
        let plan = Transform::new(&self.module, kernel, n)?;
        self.measure(name_of::<K>(), n * (from + to), &mut || plan.launch(&input, &mut output))
    }
}

/// The last part of a type's path.
fn name_of<K>() -> &'static str {
    std::any::type_name::<K>().rsplit("::").next().unwrap_or_default()
}

/// Median of 21 runs in milliseconds, after three that are not counted.
fn median(device: &Device, run: &mut dyn FnMut() -> rustwarp::Result<()>) -> Result<f64, Failed> {
    for _ in 0..3 {
        run()?;
    }
    let mut times = Vec::new();
    for _ in 0..21 {
        times.push(device.backend().time(run)?.ok_or("the device has no clock")?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Sum of `n` elements by the library.
fn library_sum<T: rustwarp::Element + Pod>(device: &Device) -> Result<f64, Failed> {
    let n = BYTES / size_of::<T>();
    let (input, mut output) = (device.zeros::<T>(n)?, device.uninit(1)?);
    let plan = rustwarp::reduce::Plan::<Sum, T>::new(device, n, Tuning::default())?;
    let ms = median(device, &mut || plan.launch(&input, &mut output))?;
    Ok(BYTES as f64 / ms / 1e6)
}

fn operators() -> Result<(), Failed> {
    use test_operators::*;
    let device = Device::gpu(0)?;
    let image = rustwarp::ptx::find("test-operators", device.info().sm, None)?;
    let module = device.load(&image.bytes, "test-operators.ptx")?;
    let sum = library_sum::<f32>(&device)?;
    println!("sum f32 of the library: {sum:.0} GB/s; u64: {:.0} GB/s", library_sum::<u64>(&device)?);
    let clock = Clock { device, module, sum };

    let of_floats = clock.reduce(summary)?;
    let of_summaries = clock.reduce(reduce_summary)?;
    clock.reduce(summary_of_bytes)?;
    clock.reduce(reduce_bytes1)?;
    clock.reduce(reduce_words3)?;
    clock.reduce(reduce_words5)?;
    clock.reduce(reduce_longs3)?;
    clock.reduce(reduce_words8)?;
    clock.reduce(reduce_words16)?;
    println!("operators that do not commute:");
    clock.reduce(reduce_line16)?;
    clock.reduce(reduce_line32)?;
    clock.reduce(reduce_text)?;
    clock.reduce(reduce_matrix32)?;
    clock.reduce(reduce_long_text)?;
    clock.reduce(reduce_matrix64)?;
    println!("scans, read and written:");
    clock.scan(scan_summary)?;
    clock.scan(scan_line16)?;
    clock.scan(scan_line32)?;
    clock.scan(scan_text)?;
    clock.scan(scan_matrix32)?;
    clock.scan(scan_long_text)?;
    clock.scan(scan_matrix64)?;
    println!("segments of 128:");
    clock.segmented(segmented_summary)?;
    clock.segmented(segmented_line32)?;
    clock.segmented(segmented_text)?;
    clock.segmented(segmented_long_text)?;
    clock.segmented(segmented_matrix64)?;
    println!("transformations:");
    clock.transform(summaries)?;
    clock.transform(halves)?;
    clock.transform(lengths)?;
    for (name, fraction) in [("summary", of_floats), ("reduce_summary", of_summaries)] {
        if fraction < FRACTION {
            return Err(format!("`{name}` reads at {fraction:.3} of the sum's speed, less than {FRACTION}").into());
        }
    }
    Ok(())
}
