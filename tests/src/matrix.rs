//! Runs every variant of every family over types, operations and lengths, and collects the failures.

use ladders::kernels::{Case, Demand, FAMILIES, Family, Job, Problem, Settings, VariantInfo};
use libtest_mimic::{Failed, Trial};
use rustwarp::backend::{Backend, Checkers, Checks, Choice, Module, open};
use rustwarp::element::{Array, Dtype};
use rustwarp::{Tensor, ptx};
use std::collections::BTreeSet;

use crate::shifted::Shifted;

/// The oldest architecture that the PTX is built for.
pub const OLDEST: &str = "sm_75";

/// A device with the kernels loaded.
pub struct Bench {
    /// The device.
    pub device: Box<dyn Backend>,
    /// The loaded module.
    pub module: Module,
}

/// Opens a device and loads the kernels of a family.
///
/// # Panics
/// Panics if the device or the PTX is missing: a test that cannot run must fail.
pub fn bench(choice: Choice, family: &str) -> Bench {
    bench_for(choice, family, None)
}

/// Opens a device and loads `test-kernels`.
///
/// # Panics
/// As [`bench()`].
pub fn bench_of_tests(choice: Choice) -> Bench {
    let (device, _) = open(choice, Checks::On(Checkers::default())).expect("the device that the test is for");
    let image = ptx::find("test-kernels", device.info().sm, None).expect("the kernels' PTX");
    let module = device.load(&image.bytes, "test-kernels").expect("PTX that the device takes");
    Bench { device, module }
}

/// Loads the kernels of another family.
///
/// # Panics
/// As [`bench()`].
pub fn load(device: &dyn Backend, family: &str, arch: Option<&str>) -> Module {
    ptx::load_family(device, "kernels-gpu", family, arch).expect("kernels that the device takes")
}

/// Opens a device and loads the kernels of a family, for exactly `arch` if given.
///
/// # Panics
/// As [`bench()`].
pub fn bench_for(choice: Choice, family: &str, arch: Option<&str>) -> Bench {
    let (device, _) = open(choice, Checks::On(Checkers::default())).expect("the device that the test is for");
    let module = load(&*device, family, arch);
    Bench { device, module }
}

/// A test for each family and each way to run it, named `FAMILY::WAY`. `lengths` are additional lengths for families of
/// vectors, in a test of their own, `FAMILY::more_lengths`; `long` is one more, `FAMILY::a_long_vector`.
///
/// Every test opens the device anew, so that a failure cannot affect later tests.
pub fn trials(choice: Choice, lengths: &'static [u64], long: Option<u64>) -> Vec<Trial> {
    type Way = fn(&mut Runs<'_>, &'static Family);
    let trial = move |family: &'static Family, name: &str, arch: Option<&'static str>, runs: Way| {
        Trial::test(format!("{}::{name}", family.name), move || {
            let bench = bench_for(choice, family.name, arch);
            let mut runs_of_it = Runs::new(&bench);
            runs(&mut runs_of_it, family);
            runs_of_it.finish(family).map_err(Failed::from)
        })
    };
    let vectors = move |family: &'static Family, name: &str, lengths: &[u64]| {
        let tested = lengths.iter().filter(|&&n| family.of_vectors && n <= family.limits.tested);
        let cases: Vec<_> = tested.map(|&n| Case::new(&[n])).collect();
        let any = !cases.is_empty();
        let test = move || {
            let bench = bench_for(choice, family.name, None);
            let mut runs = Runs::new(&bench);
            every_type(&mut runs, family, &cases);
            // Not every variant solves problems of these sizes.
            runs.failures().map_err(Failed::from)
        };
        any.then(|| Trial::test(format!("{}::{name}", family.name), test))
    };
    let of = |family: &'static Family| {
        let special = family.specials.then(|| trial(family, "infinities_zeros_and_nan", None, special_floats));
        [
            trial(family, "every_variant_type_operation_and_size", None, every_variant),
            trial(family, "one_type_on_the_oldest_architecture", Some(OLDEST), one_type),
            trial(family, "every_block_size", None, every_block),
            trial(family, "off_a_boundary", None, every_start),
        ]
        .into_iter()
        .chain(special)
        .chain(vectors(family, "more_lengths", lengths))
        .chain(vectors(family, "a_long_vector", long.as_slice()))
    };
    FAMILIES.iter().flat_map(of).collect()
}

/// The family's own cases.
fn every_variant(runs: &mut Runs<'_>, family: &'static Family) {
    every_type(runs, family, &(family.cases)());
}

/// Cases in each type that they are for.
fn every_type(runs: &mut Runs<'_>, family: &'static Family, cases: &[Case]) {
    for &dtype in family.dtypes {
        for case in cases.iter().filter(|case| case.is_for(dtype)) {
            runs.case(&*runs.bench.device, family, dtype, case, None);
        }
    }
}

/// The family's own cases in its first type. On the oldest architecture kernels use their fallback for newer
/// instructions.
fn one_type(runs: &mut Runs<'_>, family: &'static Family) {
    for case in (family.cases)().into_iter().filter(|case| case.is_for(family.dtypes[0])) {
        runs.case(&*runs.bench.device, family, family.dtypes[0], &case, None);
    }
}

/// Floats that are hard to order and to add: NaN in the first and last lane of a warp and after it, both zeros,
/// infinities, subnormals of each type, the largest of f16.
fn special_floats(runs: &mut Runs<'_>, family: &'static Family) {
    let subnormals = [1e-310, 1e-39, 6e-8];
    let specials = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 65504.0, f64::MAX, f64::MIN];
    let mut inputs: Vec<Vec<f64>> =
        vec![vec![0.0, -0.0], vec![-0.0, 0.0], vec![-0.0; 40], vec![f64::NAN], vec![f64::NEG_INFINITY; 3]];
    for special in specials.into_iter().chain(subnormals) {
        let mut values = vec![-1.5; 300];
        values[257] = special;
        inputs.push(values);
    }
    for place in [0, 31, 32, 299] {
        for nan in [f64::NAN, -f64::NAN] {
            let mut values = vec![2.5; 300];
            values[place] = nan;
            inputs.push(values);
        }
    }
    let mut both = vec![1.0; 300];
    (both[3], both[290]) = (f64::INFINITY, f64::NEG_INFINITY);
    inputs.push(both);

    let settings = Settings::new(family.settings, []).expect("defaults");
    for values in inputs {
        let arrays = [
            Array::F32(values.iter().map(|&x| x as f32).collect()),
            Array::F16(values.iter().map(|&x| half::f16::from_f64(x)).collect()),
            Array::Bf16(values.iter().map(|&x| half::bf16::from_f64(x)).collect()),
            Array::F64(values),
        ];
        for array in arrays.into_iter().filter(|array| family.dtypes.contains(&array.dtype())) {
            let inputs = vec![Tensor::from(array); family.operands.len()];
            runs.inputs(&*runs.bench.device, family, &inputs, &settings, None);
        }
    }
}

/// Every block size that a variant's contract allows, for one size and type: the largest of the family's cases.
fn every_block(runs: &mut Runs<'_>, family: &'static Family) {
    let case = largest(family);
    for block in [1, 2, 32, 64, 96, 128, 256, 384, 512, 1024] {
        runs.case(&*runs.bench.device, family, family.dtypes[0], &case, Some(block));
    }
}

/// The largest of a family's own cases that its first type has and that every variant solves quickly.
///
/// # Panics
/// Panics if no case is small.
pub fn largest(family: &Family) -> Case {
    let cases = (family.cases)().into_iter();
    let small = cases.filter(|case| case.is_for(family.dtypes[0]) && elements(case) <= 1 << 13);
    small.max_by_key(elements).expect("a small case")
}

/// Arrays that start 1, 2 and 3 elements after a boundary. Kernels that load several elements at once have to find the
/// boundary.
fn every_start(runs: &mut Runs<'_>, family: &'static Family) {
    for &dtype in family.dtypes {
        for start in 1..=3 {
            let device = Shifted { device: &*runs.bench.device, shift: start * dtype.size() as u64 };
            let cases = (family.cases)();
            let small = |case: &&Case| case.is_for(dtype) && (33..=1100).contains(&elements(case));
            for case in cases.iter().filter(small) {
                runs.case(&device, family, dtype, case, None);
            }
        }
    }
}

/// Approximate number of elements of the largest operand.
fn elements(case: &Case) -> u64 {
    case.size.iter().product()
}

/// Counts runs and collects failures.
struct Runs<'b> {
    bench: &'b Bench,
    count: usize,
    ran: BTreeSet<String>,
    wrong: Vec<String>,
}

impl<'b> Runs<'b> {
    fn new(bench: &'b Bench) -> Self {
        Self { bench, count: 0, ran: BTreeSet::new(), wrong: Vec::new() }
    }

    /// Returns the failures, and the variants that never ran.
    fn finish(self, family: &Family) -> Result<(), String> {
        let variants = (family.variants)();
        let idle: Vec<_> = variants.iter().map(|v| v.name).filter(|name| !self.ran.contains(*name)).collect();
        self.failures()?;
        if idle.is_empty() { Ok(()) } else { Err(format!("these variants never ran: {}", idle.join(" "))) }
    }

    /// Returns the failures; that nothing ran is one.
    fn failures(self) -> Result<(), String> {
        let Self { count, wrong, .. } = self;
        match (count, wrong.len()) {
            (0, 0) => Err("no variant ran".to_owned()),
            (_, 0) => Ok(()),
            (_, failed) => Err(format!("{failed} of {count} runs failed:\n{}", wrong.join("\n"))),
        }
    }

    /// Runs all variants that support `block` and the problem, for all operations, on generated operands.
    fn case(&mut self, device: &dyn Backend, family: &Family, dtype: Dtype, case: &Case, block: Option<u32>) {
        match operands(family, dtype, case) {
            Ok((inputs, settings)) => self.inputs(device, family, &inputs, &settings, block),
            Err(error) => self.wrong.push(error),
        }
    }

    /// Runs all variants that support `block` and the problem, for all operations, on the given operands.
    fn inputs(
        &mut self,
        device: &dyn Backend,
        family: &Family,
        inputs: &[Tensor],
        settings: &Settings,
        block: Option<u32>,
    ) {
        let dtype = inputs.first().map_or(family.dtypes[0], Tensor::dtype);
        for op in ops(family, dtype) {
            let problem = Problem { inputs, dtype, op, settings };
            let (mut seen, wrong, ran) = (0, &mut self.wrong, &mut self.ran);
            let mut solving = family.rungs();
            let result = family.resolve(&problem).and_then(|ladder| {
                // What a variant does not solve, or not with this block for this operation, is not run; `ran` shows
                // whether it solves any problem.
                let infos = ladder.variants();
                let allows = |info: &VariantInfo| info.block.choose(block, info.name, 1024).is_ok();
                let allowed = |name| infos.iter().any(|info| info.name == name && allows(info));
                solving.retain(|variant| ladder.refusal(*variant, problem).is_none() && allowed(variant.name));
                if solving.is_empty() {
                    return Ok(None);
                }
                let oracle = ladder.oracle(problem)?;
                let (module, variants) = (self.bench.module, solving.as_slice());
                let job = Job { device, module, problem, oracle: &oracle, variants, block, grid: None, plan: None };
                ladder
                    .run(&job, &mut |row| {
                        seen += 1;
                        ran.insert(row.variant.clone());
                        if !row.is_clean() {
                            wrong.push(describe(&row));
                        }
                    })
                    .map(Some)
            });
            if let Err(error) = result {
                let shape = inputs.first().map(|input| rustwarp::tensor::text(input.shape())).unwrap_or_default();
                wrong.push(format!("{} {op} {dtype} {shape} {}: {error}", family.name, settings.text()));
            } else {
                assert_eq!(seen, solving.len(), "{}: a variant returned no row", family.name);
            }
            self.count += seen;
        }
    }
}

/// Generates the operands of a case, and parses its settings.
///
/// # Errors
/// Describes operands that cannot be generated.
///
/// # Panics
/// Panics if the family has no such setting.
pub fn operands(family: &Family, dtype: Dtype, case: &Case) -> Result<(Vec<Tensor>, Settings), String> {
    let given = case.settings.iter().map(|(name, value)| (*name, value.as_str()));
    let settings = Settings::new(family.settings, given).expect("settings of the family");
    let demand = Demand { size: &case.size, dtype, seed: 0, settings: &settings };
    let inputs = (family.generate)(&demand).map_err(|e| format!("{} {dtype} {:?}: {e}", family.name, case.size))?;
    Ok((inputs, settings))
}

/// The family's operations for a type; one without a name for a family without operations.
pub fn ops(family: &Family, dtype: Dtype) -> impl Iterator<Item = &'static str> {
    let ops = if family.ops.is_empty() { &[""] } else { family.ops };
    ops.iter().copied().filter(move |op| family.has(op, dtype))
}

/// Describes what is wrong with a run.
pub(crate) fn describe(row: &ladders::kernels::Row) -> String {
    format!(
        "{} {} {} {} n={} {:?} {} block={}: {:?}, not {:?}, off by {} {}",
        row.family,
        row.variant,
        row.op.as_deref().unwrap_or(""),
        row.dtype,
        row.n,
        row.shape,
        row.settings.as_deref().unwrap_or(""),
        row.block,
        row.value,
        row.reference,
        row.error,
        row.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    )
}

/// Runs `best` on parts of an array: its vector loads have to find a 16-byte boundary and stop at the end of the part.
/// # Panics
/// Panics if a result is wrong.
pub fn parts_of_an_array(bench: &Bench) {
    use kernels_gpu::reduce::{Sum, best::reduce_best, gather};
    use rustwarp::Shape;
    use rustwarp::backend::Buffer;

    let values: Vec<u32> = ladders::input::generate::generate(1009, 3);
    let input = Buffer::from_slice(&*bench.device, &values, "input").expect("memory");
    let words = Buffer::from_slice(&*bench.device, &[0_u64; gather::words(3, 4)], "records").expect("memory");
    let output = Buffer::<u32>::uninit(&*bench.device, 1, "output").expect("memory");
    for start in 0..9 {
        for end in [start, start + 1, start + 3, 500, 1009] {
            let slice = input.slice(end).skip(start);
            let call = reduce_best::<Sum, u32>(slice, words.ptr(), output.ptr());
            // SAFETY: the launch has three blocks of two warps, words of 0 for a ticket and a record of each, and room
            // for one result.
            unsafe { bench.device.launch(bench.module, &call, Shape::linear(3, 64)) }.expect("a launch");
            let expected = values[start..end].iter().fold(0_u32, |sum, x| sum.wrapping_add(*x));
            assert_eq!(output.read(1).expect("the result"), [expected], "elements {start}..{end}");
            assert_eq!(
                words.read(gather::words(3, 4)).expect("the words"),
                [0; gather::words(3, 4)],
                "the ticket and the records are ready again"
            );
        }
    }
}
