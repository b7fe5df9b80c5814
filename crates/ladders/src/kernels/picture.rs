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
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::picture::{Blur, Grey, MAX_RADIUS, Op, Picture, SIDE, Scale, best, pixel, tiled};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Value};
use rustwarp::tensor::{Tensor, text};

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
    variants: || Resolved::of::<Pictures>().variants(),
    cases,
    sizes,
    of_vectors: false,
    generate,
    resolve: |_| Ok(Resolved::of::<Pictures>()),
    specials: false,
    limits: Limits::DEFAULT,
    peer: None,
};

/// Largest number of rows, and of bytes in a row.
const MAX_AXIS: usize = 1 << 30;

/// A kernel and the shape to launch it with.
type Launch<'a> = Result<(Call<'a>, Shape)>;

/// The operands of a kernel.
#[derive(Clone, Copy)]
struct Operands<'a> {
    op: &'a str,
    input: Slice<'a, u8>,
    picture: Picture,
    output: PtrMut<'a, u8>,
    /// The output, in pixels or bytes depending on the operation.
    results: usize,
    block: u32,
    grid: Option<u32>,
    multiprocessors: u32,
}

/// The kernels of a rung, one for each operation.
struct Kernels {
    /// Makes the launch, whose kernel and shape depend on the operation.
    launch: for<'a> fn(&Operands<'a>) -> Launch<'a>,
    /// The operations whose kernels support any number of blocks.
    any_grid: &'static [&'static str],
}

/// The family.
struct Pictures;

/// The only block size: 16 x 16 threads, or 256 in a row.
const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[SIDE * SIDE], default: SIDE * SIDE };
const _: () = assert!(best::BLOCK == SIDE * SIDE && best::blur::BLOCK == SIDE * SIDE);

/// A picture on a device, and the properties of its result.
struct Input<'j> {
    op: &'j str,
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

impl Ladder for Pictures {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernels;
    type Operands<'j> = Input<'j>;

    fn rungs() -> Vec<Rung<Kernels>> {
        let rung = |name, idea, kernel| Rung { name, idea, block: BLOCKS, kernel };
        vec![
            rung("pixel", pixel::IDEA, Kernels { launch: launch_pixel, any_grid: &[] }),
            rung("tiled", tiled::IDEA, Kernels { launch: launch_tiled, any_grid: &[] }),
            rung("best", best::IDEA, Kernels { launch: launch_best, any_grid: &["scale", "grey"] }),
        ]
    }

    fn entries(rung: &Rung<Kernels>) -> Vec<Entry> {
        let picture = Picture { rows: 1, columns: 1, channels: 1, amount: 0 };
        let of = |op| Operands {
            op,
            input: Slice::nothing(),
            picture,
            output: PtrMut::nothing(),
            results: 1,
            block: 1,
            grid: None,
            multiprocessors: 1,
        };
        let entry = |op: &&'static str| (rung.kernel.launch)(&of(op)).ok().map(|(call, _)| Entry::from(call));
        FAMILY.ops.iter().filter_map(entry).collect()
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (input, picture) = (problem.view::<u8>(0)?, picture(problem)?);
        let results = reference(problem.op, input, picture);
        let expected = move |i: usize, _| Expected::exactly(Value::Int(results[i].into()));
        Ok(Oracle::elements::<u8>(result_shape(problem), expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernels>]) -> Result<Input<'j>> {
        let (input, picture) = (job.problem.view::<u8>(0)?, picture(job.problem)?);
        let result = result_shape(job.problem);
        let bytes = (input.len() + result.iter().product::<usize>()) as u64;
        require_memory(job.device, Some(bytes), "picture of a picture into another one", "use a smaller one")?;
        Ok(Input { op: job.problem.op, bytes: Buffer::from_slice(job.device, input, "picture")?, picture, result })
    }

    fn work(input: &Input<'_>) -> Work {
        Work::bytes((input.bytes.len() + input.results()) as u64)
    }

    fn prepare(input: &Input<'_>, rung: &Chosen<'_, Kernels>, run: Run<'_>) -> Result<()> {
        if !rung.kernel.any_grid.contains(&input.op) {
            rung.require_no_grid()?;
        }
        let (block, results) = (rung.block, input.results());
        let output = rung.uninit::<u8>(results, "output")?;
        if input.bytes.is_empty() {
            return run(Plan::new(block, 0, &output, &input.result));
        }
        let (call, shape) = (rung.kernel.launch)(&Operands {
            op: input.op,
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

/// Runs code that is generic over the operation.
macro_rules! with_op {
    ($op:expr, $o:ident => $body:expr) => {
        match $op {
            "grey" => {
                type $o = Grey;
                $body
            }
            "blur" => {
                type $o = Blur;
                $body
            }
            _ => {
                type $o = Scale;
                $body
            }
        }
    };
}

/// Shape with these numbers of blocks along two axes.
fn shape(across: u32, down: u32, block: [u32; 2], shared: u32) -> Result<Shape> {
    if down > 65_535 {
        let why = format!(
            "the picture needs {down} blocks below each other, and a grid has at most 65535: use a lower picture"
        );
        return Err(Error::Usage(why));
    }
    Ok(Shape { grid: [across, down, 1], block: [block[0], block[1], 1], shared, cluster: None, cooperative: false })
}

fn launch_pixel<'a>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, .. } = of.picture;
    let call = with_op!(of.op, O => pixel::picture_pixel::<O>(of.input, of.picture, of.output));
    Ok((call, shape(columns.div_ceil(SIDE), rows.div_ceil(SIDE), [SIDE; 2], 0)?))
}

fn launch_tiled<'a>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, channels, amount } = of.picture;
    let reach = with_op!(of.op, O => <O as Op>::reach(amount));
    let call = with_op!(of.op, O => tiled::picture_tiled::<O>(of.input, of.picture, of.output));
    let shared = tiled::shared_bytes(channels, reach);
    Ok((call, shape(columns.div_ceil(SIDE), rows.div_ceil(SIDE), [SIDE; 2], shared)?))
}

fn launch_best<'a>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, channels, amount } = of.picture;
    if of.op == "blur" {
        let across = columns.div_ceil(best::blur::width(channels, amount));
        let strip = best::blur::strip(of.picture, across, of.multiprocessors * (2048 / best::blur::BLOCK));
        let shape = shape(across, rows.div_ceil(strip), [best::blur::BLOCK, 1], 0)?;
        return Ok((best::blur::picture_best_blur(of.input, of.picture, strip, of.output), shape));
    }
    let call = match of.op {
        "grey" => best::picture_best_grey(of.input, of.picture, of.output),
        _ => best::picture_best_scale(of.input, of.picture, of.output),
    };
    // The grid has enough blocks to fill the device, and at most one for each part of the work.
    let needed = of.results.div_ceil(best::EACH * of.block as usize).max(1);
    let fill = of.multiprocessors * (2048 / of.block).max(1);
    let grid = of.grid.unwrap_or_else(|| u32::try_from(needed).unwrap_or(fill).min(fill));
    Ok((call, Shape::linear(grid, of.block)))
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
fn picture(problem: Problem<'_>) -> Result<Picture> {
    let shape = problem.inputs[0].shape();
    let [rows, columns, channels] = match *shape {
        [rows, columns] => [rows, columns, 1],
        [rows, columns, channels @ (1 | 3)] => [rows, columns, channels],
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
    let amount = match problem.op {
        "blur" => problem.settings.number(&RADIUS),
        _ => problem.settings.number(&PERCENT),
    };
    let [rows, columns, channels] = [rows, columns, channels].map(|n| n as u32);
    Ok(Picture { rows, columns, channels, amount: amount as u32 })
}

/// Shape of the result.
fn result_shape(problem: Problem<'_>) -> Vec<usize> {
    let shape = problem.inputs[0].shape();
    if problem.op == "grey" { shape[..2].to_vec() } else { shape.to_vec() }
}

/// The right results by the definition; the sums of squares are computed by a table of the sums of all rectangles that
/// start at the first pixel.
fn reference(op: &str, input: &[u8], picture: Picture) -> Vec<u8> {
    let Picture { rows, columns, channels, amount } = picture;
    let [rows, columns, channels, amount] = [rows, columns, channels, amount].map(|n| n as usize);
    let rounded = |sum: usize, count: usize| ((2 * sum + count) / (2 * count)).min(255) as u8;
    match (op, channels) {
        ("scale", _) => input.iter().map(|&x| rounded(usize::from(x) * amount, 100)).collect(),
        ("grey", 3) => {
            let [red, green, blue] = [299, 587, 114];
            let grey = |x: &[u8]| red * usize::from(x[0]) + green * usize::from(x[1]) + blue * usize::from(x[2]);
            input.chunks(3).map(|pixel| rounded(grey(pixel), 1000)).collect()
        }
        ("grey", _) => input.to_vec(),
        _ => {
            let mut results = vec![0; input.len()];
            for channel in 0..channels {
                // table[y][x]: the sum of the first y rows' first x pixels.
                let mut table = vec![vec![0_usize; columns + 1]; rows + 1];
                for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                    let byte = usize::from(input[(y * columns + x) * channels + channel]);
                    table[y + 1][x + 1] = byte + table[y][x + 1] + table[y + 1][x] - table[y][x];
                }
                for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                    let (top, bottom) = (y.saturating_sub(amount), rows.min(y + amount + 1));
                    let (left, right) = (x.saturating_sub(amount), columns.min(x + amount + 1));
                    let sum = table[bottom][right] + table[top][left] - table[top][right] - table[bottom][left];
                    results[(y * columns + x) * channels + channel] = rounded(sum, (bottom - top) * (right - left));
                }
            }
            results
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Array;

    #[test]
    fn results_by_hand() {
        let picture = |rows, columns, channels, amount| Picture { rows, columns, channels, amount };
        assert_eq!(reference("scale", &[0, 3, 127, 128, 255], picture(1, 5, 1, 200)), [0, 6, 254, 255, 255]);
        assert_eq!(reference("scale", &[1, 2, 3], picture(1, 3, 1, 50)), [1, 1, 2], "halves are rounded up");
        let colours = [255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30];
        assert_eq!(reference("grey", &colours, picture(1, 5, 3, 0)), [255, 76, 150, 29, 18]);
        assert_eq!(reference("grey", &[7, 9], picture(1, 2, 1, 0)), [7, 9]);
        // 1 2 | 3 4 | 5 6: the corners see four pixels, the middle all six.
        assert_eq!(reference("blur", &[1, 2, 3, 4, 5, 6], picture(3, 2, 1, 1)), [3, 3, 4, 4, 5, 5]);
        assert_eq!(reference("blur", &[0, 9, 30, 0, 0, 9], picture(1, 2, 3, 1)), [0, 5, 20, 0, 5, 20]);
    }

    #[test]
    fn shapes_of_results_and_refusals() {
        let settings = crate::kernels::Settings::new(FAMILY.settings, []).expect("defaults");
        let made =
            |shape: &[usize]| [Tensor::new(shape, Array::zeros(Dtype::U8, shape.iter().product())).expect("made")];
        let problem = |inputs: &[Tensor; 1], op| {
            let problem = Problem { inputs, dtype: Dtype::U8, op, settings: &settings };
            picture(problem).map(|_| result_shape(problem)).map_err(|error| error.to_string())
        };
        assert_eq!(problem(&made(&[2, 3, 3]), "grey").expect("a picture"), [2, 3]);
        assert_eq!(problem(&made(&[2, 3, 3]), "blur").expect("a picture"), [2, 3, 3]);
        for shape in [&[6][..], &[2, 3, 4], &[1, 2, 3, 1]] {
            assert!(problem(&made(shape), "scale").expect_err("no picture").contains("height x width"));
        }
    }
}
