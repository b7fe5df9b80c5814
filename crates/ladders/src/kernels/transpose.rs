//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns.

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::transpose::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element};
use rustwarp::{require_grid, with_dtype};
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "transpose",
    idea: "rows become columns: only coalescing and bank conflicts matter",
    operands: &[Operand::of_elements("matrix")],
    ops: &[],
    dtypes: Dtype::NUMBERS,
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
    peer: Some("transpose"),
};

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(dtype, T => Ok(Resolved::of::<Transpose<T>>()), else => Err(FAMILY.no_kernel(dtype)))
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

impl<T: Element> Ladder for Transpose<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Launcher<T>>;
    type Operands<'j> = Matrix<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let rung =
            |name, idea, launcher: Launcher<T>| Rung { name, idea, block: BLOCKS, kernel: Planned::Here(launcher) };
        vec![
            rung("naive_read", naive_read::IDEA, naive_read::transpose_naive_read::<T>),
            rung("naive_write", naive_write::IDEA, naive_write::transpose_naive_write::<T>),
            rung("tiled", tiled::IDEA, tiled::transpose_tiled::<T>),
            rung("padded", padded::IDEA, padded::transpose_padded::<T>),
            rung("vectorised", vectorised::IDEA, vectorised::transpose_vectorised::<T>),
            Rung { name: "best", idea: best::IDEA, block: BLOCKS, kernel: Planned::ByLibrary },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(launcher) => vec![Entry::of(launcher)],
            // The library moves elements as integers of their size; it takes smaller ones than the family, too.
            Planned::ByLibrary if size_of::<T>() == 8 => vec![Entry::of(best::transpose_best::<u64>)],
            Planned::ByLibrary => vec![
                Entry::of(best::transpose_best::<u32>),
                Entry::of(narrow::transpose_narrow::<u8>),
                Entry::of(narrow::transpose_narrow::<u16>),
            ],
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let [rows, columns] = problem.inputs[0].matrix("the operand of transpose")?;
        let input = problem.view::<T>(0)?;
        let expected = move |i: usize, _| Expected::exactly(input[i % rows * columns + i / rows].value());
        Ok(Oracle::elements::<T>(vec![columns, rows], expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Matrix<'j, T>> {
        let input = job.problem.view::<T>(0)?;
        let [rows, columns] = job.problem.inputs[0].matrix("the operand of transpose")?;
        let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
            return Err(Error::Usage(format!("transpose takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
        };
        let bytes = 2 * size_of_val(input) as u64;
        require_memory(job.device, Some(bytes), "transpose of a matrix into another one", "use a smaller one")?;
        Ok(Matrix { input: Buffer::from_slice(job.device, input, "input")?, rows: height, columns: width })
    }

    fn work(matrix: &Matrix<'_, T>) -> Work {
        Work::bytes(2 * matrix.input.bytes())
    }

    fn prepare(matrix: &Matrix<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Matrix { ref input, rows, columns } = *matrix;
        let result = [columns as usize, rows as usize];
        let output = rung.uninit::<T>(input.len(), "output")?;
        let Planned::Here(launcher) = *rung.kernel else {
            let plan = rustwarp::transpose::Plan::new(&rung.device, [rows as usize, columns as usize])?;
            return run(Plan::of_library(plan.prepare(input, &output)?, &output, &result));
        };
        let tiles = u64::from(rows.div_ceil(TILE)) * u64::from(columns.div_ceil(TILE));
        let grid = require_grid(tiles, &format!("a matrix of {rows}x{columns}"), "transpose it in parts")?;
        let call = launcher(input.slice(input.len()), rows, columns, output.ptr());
        // SAFETY: the kernel's own launcher made the call, with matrices of this size, and a block per tile.
        run(unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &result) })
    }
}

fn cases() -> Vec<Case> {
    let shapes =
        [[0, 0], [0, 5], [1, 1], [1, 33], [257, 1], [31, 32], [32, 33], [64, 64], [65, 127], [128, 192], [67, 130]];
    shapes.iter().map(|shape| Case::new(shape)).collect()
}

fn sizes() -> Vec<Case> {
    [[1024, 1024], [4096, 4096], [16384, 16384], [4095, 4097]].iter().map(|shape| Case::new(shape)).collect()
}
