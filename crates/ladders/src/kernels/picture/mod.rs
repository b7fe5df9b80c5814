//! Pictures of bytes: `scale` (times a factor), `grey` (luminance), `blur` (average of a square).
//!
//! A picture is height x width (shades of grey), height x width x 1, or height x width x 3 (red, green, blue), of u8.
//! `grey` gives height x width, the others the shape of their input. Everything is computed in whole numbers: results
//! are exact.

use super::entry::Nothing;
use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::problem::{Case, Operand};
use super::settings::{Number, Setting};
use super::{BlockRule, Demand, Entry, Family, Job, Limits, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::picture::{Blur, Grey, MAX_RADIUS, Op, Picture, SIDE, Scale, best, best::near, pixel, tiled};
use launches::{Kernel, Operands};
use oracle::reference;
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Value};
use rustwarp::tensor::{Tensor, text};
use std::collections::BTreeSet;
use std::marker::PhantomData;

mod launches;
mod oracle;

const PERCENT: Setting<Number> = Setting {
    name: "percent",
    help: "The factor of scale, in hundredths",
    generated: false,
    kind: Number { default: 200, min: 0, max: 100_000 },
};

const RADIUS: Setting<Number> = Setting {
    name: "radius",
    help: "Radius of blur: pixels from the middle of the square to its edge",
    generated: false,
    kind: Number { default: 1, min: 0, max: MAX_RADIUS as u64 },
};

/// The family.
pub const FAMILY: Family = Family {
    name: "picture",
    idea: "scale, grey and blur of a picture: threads mapped to two axes, and bytes",
    operands: &[Operand::of_elements("picture")],
    ops: &["scale", "grey", "blur"],
    dtypes: &[Dtype::U8],
    only: &[],
    settings: &[PERCENT.listed(), RADIUS.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate,
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["picture"],
};

/// Resolves the kernels of an operation.
fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    FAMILY.require_kernel(dtype)?;
    match op {
        "scale" => Ok(Resolved::of::<Pictures<Scale>>()),
        "grey" => Ok(Resolved::of::<Pictures<Grey>>()),
        "blur" => Ok(Resolved::of::<Pictures<Blur>>()),
        other => Err(FAMILY.no_op(other)),
    }
}

/// An operation on pictures as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Scale,
    Grey,
    Blur,
}

/// The type of an operation's kernels.
trait Computes: Op {
    /// The operation.
    const OPERATION: Operation;
}

impl Computes for Scale {
    const OPERATION: Operation = Operation::Scale;
}

impl Computes for Grey {
    const OPERATION: Operation = Operation::Grey;
}

impl Computes for Blur {
    const OPERATION: Operation = Operation::Blur;
}

/// Largest number of rows, and of bytes in a row.
const MAX_AXIS: usize = 1 << 30;

/// The family for one operation.
struct Pictures<O>(PhantomData<O>);

/// The only block size: 16 x 16 threads, or 256 in a row.
const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[SIDE * SIDE], default: SIDE * SIDE };
const _: () = assert!(best::BLOCK == SIDE * SIDE && best::blur::BLOCK == SIDE * SIDE && near::BLOCK == SIDE * SIDE);

/// A picture on a device, and the properties of its result.
struct Input<'j> {
    bytes: Buffer<'j, u8>,
    picture: Picture,
    /// Shape of the result.
    result: Vec<usize>,
}

impl Input<'_> {
    /// Size of the result in bytes.
    fn results(&self) -> usize {
        self.result.iter().product()
    }
}

impl<O: Computes> Ladder for Pictures<O> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel;
    type Operands<'j> = Input<'j>;

    fn rungs() -> Vec<Rung<Kernel>> {
        let rung = |name, idea, kernel| Rung { name, idea, block: BLOCKS, kernel };
        vec![
            rung("pixel", pixel::IDEA, Kernel { launch: launches::pixel::<O>, any_grid: false }),
            rung("tiled", tiled::IDEA, Kernel { launch: launches::tiled::<O>, any_grid: false }),
            rung("best", best::IDEA, launches::best(O::OPERATION)),
        ]
    }

    fn entries(rung: &Rung<Kernel>) -> Vec<Entry> {
        let entry = |(amount, channels)| {
            let operands = Operands {
                input: Slice::nothing(),
                picture: Picture { rows: 1, columns: 16, channels, amount },
                output: PtrMut::nothing(),
                results: 1,
                block: 1,
                grid: None,
                multiprocessors: 1,
            };
            let refused = |error| panic!("no launch of `{}` for {:?}: {error}", rung.name, O::OPERATION);
            Entry::from((rung.kernel.launch)(&operands).unwrap_or_else(refused).0)
        };
        // A blur with a small window has kernels of its own.
        let amounts = (0..=near::MAX_RADIUS).flat_map(|amount| [(amount, 1), (amount, 3)]);
        let entries: BTreeSet<_> = amounts.map(entry).collect();
        entries.into_iter().collect()
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (input, picture) = (problem.view::<u8>(0)?, picture(problem, O::OPERATION)?);
        let results = reference(O::OPERATION, input, picture);
        let expected = move |i: usize, _| Expected::exactly(Value::Int(results[i].into()));
        Ok(Oracle::elements::<u8>(result_shape(problem, O::OPERATION), expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel>]) -> Result<Input<'j>> {
        let (input, picture) = (job.problem.view::<u8>(0)?, picture(job.problem, O::OPERATION)?);
        let result = result_shape(job.problem, O::OPERATION);
        let bytes = (input.len() + result.iter().product::<usize>()) as u64;
        require_memory(job.device, Some(bytes), "picture of a picture into another one", "use a smaller one")?;
        Ok(Input { bytes: Buffer::from_slice(job.device, input, "picture")?, picture, result })
    }

    fn work(input: &Input<'_>) -> Work {
        Work::bytes((input.bytes.len() + input.results()) as u64)
    }

    fn prepare(input: &Input<'_>, rung: &Chosen<'_, Kernel>, run: Run<'_>) -> Result<()> {
        if !rung.kernel.any_grid {
            rung.require_no_grid()?;
        }
        let (block, results) = (rung.block, input.results());
        let output = rung.uninit::<u8>(results, "output")?;
        if input.bytes.is_empty() {
            return run(Plan::new(block, 0, &output, &input.result));
        }
        let (call, shape) = (rung.kernel.launch)(&Operands {
            input: input.bytes.slice(input.bytes.len()),
            picture: input.picture,
            output: output.ptr(),
            results,
            block,
            grid: rung.grid,
            multiprocessors: rung.device.info().multiprocessors,
        })?;
        // SAFETY: the kernel's own launcher made the call, with room for its results, and the table's shape.
        run(unsafe { Plan::of(call, shape, &output, &input.result) })
    }
}

/// The picture of the PMPP slides (`docs/sources.md`, 76 x 62 pixels), narrow pictures, several blocks, rows with and
/// without whole words, and windows larger than the picture.
fn cases() -> Vec<Case> {
    let case =
        |size: &[u64], radius: &str, percent: &str| Case::new(size).with("radius", radius).with("percent", percent);
    vec![
        Case::new(&[62, 76]),
        case(&[62, 76, 1], "3", "50"),
        case(&[0, 7, 3], "1", "0"),
        case(&[1, 1, 3], "2", "99"),
        case(&[3, 5, 1], "9", "1000"),
        case(&[1, 257, 3], "1", "173"),
        case(&[131, 2, 3], "4", "33"),
        case(&[17, 35, 1], "0", "255"),
        case(&[20, 400, 3], "2", "120"),
        // Small windows in rows of whole vectors: several strips, one vector in a row, windows higher than the picture.
        case(&[45, 48, 1], "1", "300"),
        case(&[45, 32, 3], "1", "7"),
        case(&[23, 16, 1], "2", "1"),
        case(&[4, 80, 3], "2", "400"),
        case(&[2, 64, 1], "3", "20"),
        case(&[38, 16, 3], "3", "256"),
        case(&[9, 1100, 1], "5", "100"),
        case(&[40, 33, 3], "31", "100000"),
    ]
}

fn sizes() -> Vec<Case> {
    vec![
        Case::new(&[1080, 1920, 3]),
        Case::new(&[8192, 8192, 3]),
        Case::new(&[8192, 8192, 3]).with("radius", "10"),
        Case::new(&[16384, 16384, 1]),
    ]
}

/// Generates height x width in three colours, or in the number of channels given by the third number.
fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let axes = "HEIGHTxWIDTH for a picture in colours, HEIGHTxWIDTHxCHANNELS, or one number for a square";
    let shape = match demand.size.len() {
        3 => demand.axes::<3>(axes)?,
        _ => {
            let [rows, columns] = demand.axes::<2>(axes)?;
            [rows, columns, 3]
        }
    };
    Ok(vec![demand.tensor(0, &shape)?])
}

/// Checks that the operand is a picture, and returns its sizes.
fn picture(problem: Problem<'_>, operation: Operation) -> Result<Picture> {
    let shape = problem.inputs[0].shape();
    let [rows, columns, channels] = match *shape {
        [rows, columns] => [rows, columns, 1],
        [rows, columns, channels @ (1 | 3)] => [rows, columns, channels],
        [_, _, channels @ (2 | 4)] => {
            return Err(Error::Usage(format!(
                "the picture has {channels} channels, as of a file with an alpha channel (transparency), which picture \
                 does not filter: save it without alpha, or filter it by conv2d, which takes any number of channels"
            )));
        }
        _ => {
            return Err(Error::Usage(format!(
                "a picture is height x width, or height x width x 1 or 3 channels, not {}",
                text(shape)
            )));
        }
    };
    if rows > MAX_AXIS || columns.saturating_mul(channels) > MAX_AXIS {
        return Err(Error::Usage(format!("picture takes up to 2^30 rows, and bytes in a row, not {}", text(shape))));
    }
    let amount = match operation {
        Operation::Blur => problem.settings.number(&RADIUS),
        Operation::Scale | Operation::Grey => problem.settings.number(&PERCENT),
    };
    let [rows, columns, channels] = [rows, columns, channels].map(|n| n as u32);
    Ok(Picture { rows, columns, channels, amount: amount as u32 })
}

/// Shape of the result.
fn result_shape(problem: Problem<'_>, operation: Operation) -> Vec<usize> {
    let shape = problem.inputs[0].shape();
    if operation == Operation::Grey { shape[..2].to_vec() } else { shape.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no launch of `empty` for Scale: refused")]
    fn a_rung_without_a_launch_is_not_left_out() {
        let kernel = Kernel { launch: |_| Err(Error::Usage("refused".to_owned())), any_grid: false };
        Pictures::<Scale>::entries(&Rung { name: "empty", idea: "", block: BLOCKS, kernel });
    }
    use rustwarp::element::Array;

    #[test]
    fn shapes_of_results_and_refusals() {
        let settings = crate::kernels::Settings::new(FAMILY.settings, []).expect("defaults");
        let made =
            |shape: &[usize]| [Tensor::new(shape, Array::zeros(Dtype::U8, shape.iter().product())).expect("made")];
        let problem = |inputs: &[Tensor; 1], op| {
            let problem = Problem { inputs, dtype: Dtype::U8, op: "", settings: &settings };
            picture(problem, op).map(|_| result_shape(problem, op)).map_err(|error| error.to_string())
        };
        assert_eq!(problem(&made(&[2, 3, 3]), Operation::Grey).expect("a picture"), [2, 3]);
        assert_eq!(problem(&made(&[2, 3, 3]), Operation::Blur).expect("a picture"), [2, 3, 3]);
        for shape in [&[2, 3, 2][..], &[2, 3, 4]] {
            assert!(problem(&made(shape), Operation::Scale).expect_err("no picture").contains("alpha channel"));
        }
        for shape in [&[6][..], &[2, 3, 5], &[1, 2, 3, 1]] {
            assert!(problem(&made(shape), Operation::Scale).expect_err("no picture").contains("height x width"));
        }
    }
}
