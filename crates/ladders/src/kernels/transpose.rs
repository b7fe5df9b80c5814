//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns.
//!
//! Nothing is computed, so a type stands for all of its size: u8 for elements of one byte, and f16 for those of two.

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::transpose::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::{require_grid, with_dtype};
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "transpose",
    idea: "rows become columns: only coalescing and bank conflicts matter",
    operands: &[Operand::of_elements("matrix")],
    ops: &[],
    dtypes: DTYPES,
    only: &[],
    settings: &[],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate: |demand| Ok(vec![demand.tensor(0, &demand.axes::<2>("ROWSxCOLUMNS, or one number for a square")?)?]),
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["transpose", "torch_transpose"],
};

/// The types that have kernels.
const DTYPES: &[Dtype] =
    &[Dtype::F32, Dtype::F64, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64, Dtype::U8, Dtype::F16];

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(dtype, T => Ok(Resolved::of::<Transpose<T>>()), else => match dtype {
        Dtype::U8 => Ok(Resolved::of::<Narrow<u8>>()),
        Dtype::F16 => Ok(Resolved::of::<Narrow<half::f16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    })
}

/// The family for one element type.
struct Transpose<T>(PhantomData<T>);

/// A kernel whose blocks move a tile of [`TILE`] rows and columns each.
type Launcher<T> = for<'a> fn(Slice<'a, T>, u32, u32, PtrMut<'a, T>) -> Call<'a>;

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

/// A matrix on a device.
struct Matrix<'j, T> {
    input: Buffer<'j, T>,
    rows: u32,
    columns: u32,
}

const IDEAS: [(&str, &str); 5] = [
    ("naive_read", naive_read::IDEA),
    ("naive_write", naive_write::IDEA),
    ("tiled", tiled::IDEA),
    ("padded", padded::IDEA),
    ("vectorised", vectorised::IDEA),
];

/// The rungs: those of [`IDEAS`] with their kernels, and the library's.
fn rungs<K>(kernels: [K; 5], library: K) -> Vec<Rung<K>> {
    let rung = |((name, idea), kernel)| Rung { name, idea, block: BLOCKS, kernel };
    let library = rung((("best", best::IDEA), library));
    IDEAS.into_iter().zip(kernels).map(rung).chain([library]).collect()
}

impl<T: Element> Ladder for Transpose<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Launcher<T>>;
    type Operands<'j> = Matrix<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let kernels: [Launcher<T>; 5] = [
            naive_read::transpose_naive_read::<T>,
            naive_write::transpose_naive_write::<T>,
            tiled::transpose_tiled::<T>,
            padded::transpose_padded::<T>,
            vectorised::transpose_vectorised::<T>,
        ];
        rungs(kernels.map(Planned::Here), Planned::ByLibrary)
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(launcher) => vec![Entry::of(launcher)],
            // The library moves elements as integers of their size.
            Planned::ByLibrary if size_of::<T>() == 8 => vec![Entry::of(best::transpose_best::<u64>)],
            Planned::ByLibrary => vec![Entry::of(best::transpose_best::<u32>)],
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T>(problem)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Matrix<'j, T>> {
        upload(job)
    }

    fn work(matrix: &Matrix<'_, T>) -> Work {
        Work::bytes(2 * matrix.input.bytes())
    }

    fn prepare(matrix: &Matrix<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Planned::Here(launcher) = *rung.kernel else { return by_library(matrix, rung, run) };
        rung.require_no_grid()?;
        let Matrix { ref input, rows, columns } = *matrix;
        let output = rung.uninit::<T>(input.len(), "output")?;
        let tiles = u64::from(rows.div_ceil(TILE)) * u64::from(columns.div_ceil(TILE));
        let grid = require_grid(tiles, &format!("a matrix of {rows}x{columns}"), "transpose it in parts")?;
        let call = launcher(input.slice(input.len()), rows, columns, output.ptr());
        // SAFETY: the kernel's own launcher made the call, with matrices of this size, and a block per tile.
        run(unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[columns as usize, rows as usize]) })
    }
}

/// The family for elements of one or two bytes: only `best` moves them, since the other rungs show one idea each.
struct Narrow<T>(PhantomData<T>);

impl<T: Scalar> Ladder for Narrow<T> {
    const FAMILY: &'static str = FAMILY.name;
    /// Whether the rung has a kernel.
    type Kernel = bool;
    type Operands<'j> = Matrix<'j, T>;

    fn rungs() -> Vec<Rung<bool>> {
        rungs([false; 5], true)
    }

    fn entries(rung: &Rung<bool>) -> Vec<Entry> {
        match (rung.kernel, size_of::<T>()) {
            (false, _) => Vec::new(),
            (true, 1) => vec![Entry::of(narrow::transpose_narrow::<u8>), Entry::of(small::transpose_small::<u8>)],
            (true, _) => vec![Entry::of(narrow::transpose_narrow::<u16>), Entry::of(small::transpose_small::<u16>)],
        }
    }

    fn refusal(rung: &Rung<bool>, _: Problem<'_>) -> Option<String> {
        (!rung.kernel).then(|| format!("has no kernel for {}", T::DTYPE))
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T>(problem)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, bool>]) -> Result<Matrix<'j, T>> {
        upload(job)
    }

    fn work(matrix: &Matrix<'_, T>) -> Work {
        Work::bytes(2 * matrix.input.bytes())
    }

    fn prepare(matrix: &Matrix<'_, T>, rung: &Chosen<'_, bool>, run: Run<'_>) -> Result<()> {
        by_library(matrix, rung, run)
    }
}

fn oracle<T: Scalar>(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let [rows, columns] = problem.inputs[0].matrix("the operand of transpose")?;
    let input = problem.view::<T>(0)?;
    let expected = move |i: usize, _| Expected::exactly(input[i % rows * columns + i / rows].value());
    Ok(Oracle::elements::<T>(vec![columns, rows], expected))
}

fn upload<'j, T: Scalar>(job: &'j Job<'_>) -> Result<Matrix<'j, T>> {
    let input = job.problem.view::<T>(0)?;
    let [rows, columns] = job.problem.inputs[0].matrix("the operand of transpose")?;
    let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
        return Err(Error::Usage(format!("transpose takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
    };
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "transpose of a matrix into another one", "use a smaller one")?;
    Ok(Matrix { input: Buffer::from_slice(job.device, input, "input")?, rows: height, columns: width })
}

/// Prepares the library's plan.
fn by_library<T: Scalar, K>(matrix: &Matrix<'_, T>, rung: &Chosen<'_, K>, run: Run<'_>) -> Result<()> {
    rung.require_no_grid()?;
    let Matrix { ref input, rows, columns } = *matrix;
    let result = [columns as usize, rows as usize];
    let output = rung.uninit::<T>(input.len(), "output")?;
    let plan = rustwarp::transpose::Plan::new(&rung.device, [rows as usize, columns as usize])?;
    run(Plan::of_library(plan.prepare(input, &output)?, &output, &result))
}

fn cases() -> Vec<Case> {
    let shapes =
        [[0, 0], [0, 5], [1, 1], [1, 33], [257, 1], [31, 32], [32, 33], [64, 64], [65, 127], [128, 192], [67, 130]];
    // Of one and two bytes: enough tiles for the kernel of large matrices, with and without rows of whole words.
    let narrow = [Case::new(&[516, 512]).only(&[Dtype::U8, Dtype::F16]), Case::new(&[1023, 1021]).only(&[Dtype::U8])];
    shapes.iter().map(|shape| Case::new(shape)).chain(narrow).collect()
}

fn sizes() -> Vec<Case> {
    [[1024, 1024], [4096, 4096], [16384, 16384], [4095, 4097]].iter().map(|shape| Case::new(shape)).collect()
}
