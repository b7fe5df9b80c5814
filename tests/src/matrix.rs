//! Runs every variant of every family over types, operations and lengths, and collects what was wrong.

use host::backend::{Backend, Checks, Choice, Module, open};
use host::element::{Array, Dtype};
use host::kernels::{FAMILIES, Family, Job};
use host::{Element, ptx, with_dtype};

use crate::shifted::Shifted;

/// Lengths around the sizes of warps, blocks and tiles, and a prime above each tile.
pub const LENGTHS: &[usize] = &[0, 1, 2, 31, 32, 33, 127, 255, 256, 257, 1009, 4099, 20011];

/// A device with the kernels loaded.
pub struct Bench {
    /// The device.
    pub device: Box<dyn Backend>,
    /// `kernels-gpu`.
    pub module: Module,
}

/// Opens a device and loads the kernels.
///
/// # Panics
/// When the device or the PTX is missing: a test that can't run must not look green.
pub fn bench(choice: Choice, package: &str) -> Bench {
    let (device, _) = open(choice, Checks::All).expect("the device that the test is for");
    let image = ptx::find(package, device.info().sm, None).expect("the kernels' PTX");
    let module = device.load(&image.bytes, package).expect("PTX that the device takes");
    Bench { device, module }
}

/// Every family, operation, type, variant and length. Returns how many runs there were.
///
/// # Panics
/// With every run that was wrong or that a checker had something to say about.
pub fn every_variant(bench: &Bench, lengths: &[usize]) -> usize {
    let (mut runs, mut wrong) = (0, Vec::new());
    for family in FAMILIES {
        for &dtype in family.dtypes {
            for &n in lengths {
                let inputs: Vec<_> = (0..family.operands).map(|seed| generated(dtype, n, seed as u64)).collect();
                run(&*bench.device, bench.module, family, &inputs, None, &mut runs, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs failed:\n{}", wrong.len(), wrong.join("\n"));
    runs
}

/// Floats that are hard to order and to add: NaN in each place of a warp and behind it, both zeros, infinities, subnormals.
///
/// # Panics
/// As [`every_variant`].
pub fn special_floats(bench: &Bench) -> usize {
    let specials = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-310, f64::MAX, f64::MIN];
    let mut inputs: Vec<Vec<f64>> =
        vec![vec![0.0, -0.0], vec![-0.0, 0.0], vec![-0.0; 40], vec![f64::NAN], vec![f64::NEG_INFINITY; 3]];
    for special in specials {
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

    let (mut runs, mut wrong) = (0, Vec::new());
    for family in FAMILIES {
        for values in &inputs {
            let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            for array in [Array::F64(values.clone()), Array::F32(single)] {
                let inputs = vec![array; family.operands];
                run(&*bench.device, bench.module, family, &inputs, None, &mut runs, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs failed:\n{}", wrong.len(), wrong.join("\n"));
    runs
}

/// Every block size that a variant's contract allows, on one type.
///
/// # Panics
/// As [`every_variant`].
pub fn every_block(bench: &Bench) -> usize {
    let (mut runs, mut wrong) = (0, Vec::new());
    for family in FAMILIES {
        let inputs: Vec<_> = (0..family.operands).map(|seed| generated(Dtype::F32, 3001, seed as u64)).collect();
        for block in [1, 2, 32, 64, 96, 128, 256, 512, 1024] {
            run(&*bench.device, bench.module, family, &inputs, Some(block), &mut runs, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs failed:\n{}", wrong.len(), wrong.join("\n"));
    runs
}

/// Arrays that start 1, 2 and 3 elements behind a boundary. Kernels that load several elements at once have to find one.
///
/// # Panics
/// As [`every_variant`].
pub fn every_start(bench: &Bench) -> usize {
    let (mut runs, mut wrong) = (0, Vec::new());
    for family in FAMILIES {
        for &dtype in family.dtypes {
            for start in 1..=3 {
                let device = Shifted { device: &*bench.device, shift: start * dtype.size() as u64 };
                for n in [33, 257, 1009] {
                    let inputs: Vec<_> = (0..family.operands).map(|seed| generated(dtype, n, seed as u64)).collect();
                    run(&device, bench.module, family, &inputs, None, &mut runs, &mut wrong);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs failed:\n{}", wrong.len(), wrong.join("\n"));
    runs
}

/// All variants that can run with `block`, for all operations.
fn run(
    device: &dyn Backend,
    module: Module,
    family: &Family,
    inputs: &[Array],
    block: Option<u32>,
    runs: &mut usize,
    wrong: &mut Vec<String>,
) {
    let allowed = |variant: &host::kernels::VariantInfo| variant.block.choose(block, variant.name, 1024).is_ok();
    let variants: Vec<_> =
        (family.variants)().iter().filter(|variant| allowed(variant)).map(|variant| variant.name).collect();
    let ops = if family.ops.is_empty() { &[""] } else { family.ops };
    for &op in ops {
        let job = Job { device, module, inputs, op, variants: &variants, block, grid: None, plan: None };
        let mut seen = 0;
        let result = (family.run)(&job, &mut |row| {
            seen += 1;
            if !row.is_clean() {
                wrong.push(serde_line(&row));
            }
        });
        if let Err(error) = result {
            wrong.push(format!("{} {op} {} n={}: {error}", family.name, inputs[0].dtype(), inputs[0].len()));
        } else {
            assert_eq!(seen, variants.len(), "{}: a variant gave no row", family.name);
        }
        *runs += seen;
    }
}

fn serde_line(row: &host::kernels::Row) -> String {
    format!(
        "{} {} {} {} n={} block={}: {:?}, not {:?} {}",
        row.family,
        row.variant,
        row.op.as_deref().unwrap_or(""),
        row.dtype,
        row.n,
        row.block,
        row.value,
        row.reference,
        row.findings.join("\n")
    )
}

/// The generator's numbers; integers are what they are, so that sums wrap.
fn generated(dtype: Dtype, n: usize, seed: u64) -> Array {
    fn typed<T: Element>(n: usize, seed: u64) -> Array {
        T::wrap(host::input::generate::generate::<T>(n, seed))
    }
    with_dtype!(dtype, T => typed::<T>(n, seed), else => panic!("no family has kernels for {dtype}"))
}

/// `best` on parts of an array: its vector loads have to find a 16-byte boundary, and stop at the part's end.
///
/// # Panics
/// When a result is wrong.
pub fn parts_of_an_array(bench: &Bench) {
    use host::{Buffer, Shape};
    use kernels_gpu::reduce::{Sum, best::reduce_best};

    let values: Vec<u32> = host::input::generate::generate(1009, 3);
    let input = Buffer::from_slice(&*bench.device, &values, "input").expect("memory");
    let partials = Buffer::<u32>::uninit(&*bench.device, 3, "partial results").expect("memory");
    let ticket = Buffer::from_slice(&*bench.device, &[0_u32], "ticket").expect("memory");
    let output = Buffer::<u32>::uninit(&*bench.device, 1, "output").expect("memory");
    for start in 0..9 {
        for end in [start, start + 1, start + 3, 500, 1009] {
            let slice = input.slice(end).skip(start);
            let call = reduce_best::<Sum, u32>(slice, partials.ptr(), ticket.ptr(), output.ptr());
            // SAFETY: three blocks of two warps, with a partial result each, a ticket at 0, and room for one result.
            unsafe { bench.device.launch(bench.module, &call, Shape::linear(3, 64)) }.expect("a launch");
            let expected = values[start..end].iter().fold(0_u32, |sum, x| sum.wrapping_add(*x));
            assert_eq!(output.read(1).expect("the result"), [expected], "elements {start}..{end}");
            assert_eq!(ticket.read(1).expect("the ticket"), [0], "the ticket resets itself");
        }
    }
}
