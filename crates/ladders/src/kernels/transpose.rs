//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns.

use super::block;
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::transpose::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;

/// The family.
pub const FAMILY: Family = Family {
    name: "transpose",
    idea: "rows become columns: coalescing and bank conflicts, and nothing else",
    operands: &[Operand::of_elements("matrix")],
    ops: &[],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[],
    variants,
    cases,
    sizes,
    generate: |demand| Ok(vec![demand.tensor(0, &demand.axes::<2>("ROWSxCOLUMNS, or one number for a square")?)?]),
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: Some("transpose"),
};

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    /// Rows and columns of the tile that one block moves.
    tile: u32,
    kernel: for<'a> fn(Slice<'a, T>, u32, u32, PtrMut<'a, T>) -> Call<'a>,
}

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

/// The table, slowest first.
fn table<T: Element>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "naive_read",
            idea: naive_read::IDEA,
            tile: TILE,
            kernel: naive_read::transpose_naive_read::<T>,
        },
        Variant {
            name: "naive_write",
            idea: naive_write::IDEA,
            tile: TILE,
            kernel: naive_write::transpose_naive_write::<T>,
        },
        Variant { name: "tiled", idea: tiled::IDEA, tile: TILE, kernel: tiled::transpose_tiled::<T> },
        Variant { name: "padded", idea: padded::IDEA, tile: TILE, kernel: padded::transpose_padded::<T> },
        Variant {
            name: "vectorised",
            idea: vectorised::IDEA,
            tile: TILE,
            kernel: vectorised::transpose_vectorised::<T>,
        },
        Variant { name: "best", idea: best::IDEA, tile: best::side(size_of::<T>()), kernel: best::transpose_best::<T> },
    ]
}

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element>(row: usize) -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0)) };
        (table::<T>()[row].kernel)(none, 0, 0, out).into()
    }
    let info = |(row, variant): (usize, Variant<f32>)| {
        let entries =
            Dtype::NUMBERS.iter().filter_map(|dtype| with_dtype!(dtype, T => Some(entry::<T>(row)), else => None));
        VariantInfo { name: variant.name, idea: variant.idea, block: BLOCKS, entries: entries.collect() }
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
}

fn cases() -> Vec<Case> {
    let shapes =
        [[0, 0], [0, 5], [1, 1], [1, 33], [257, 1], [31, 32], [32, 33], [64, 64], [65, 127], [128, 192], [67, 130]];
    shapes.iter().map(|shape| Case::new(shape)).collect()
}

fn sizes() -> Vec<Case> {
    [[1024, 1024], [4096, 4096], [16384, 16384], [4095, 4097]].iter().map(|shape| Case::new(shape)).collect()
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let [rows, columns] = problem.inputs[0].matrix("the operand of transpose")?;
    with_dtype!(problem.dtype, T => {
        let input = problem.view::<T>(0)?;
        let expected = move |i: usize, _| Expected::exactly(input[i % rows * columns + i / rows].value());
        Ok(Oracle::elements::<T>(vec![columns, rows], expected))
    }, else => Err(FAMILY.no_kernel(problem.dtype)))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(job.problem.dtype, T => typed::<T>(job, emit), else => Err(FAMILY.no_kernel(job.problem.dtype)))
}

fn typed<T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let [rows, columns] = job.problem.inputs[0].matrix("the operand of transpose")?;
    let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
        return Err(Error::Usage(format!("transpose takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
    };
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "transpose of a matrix into another one", "use a smaller one")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::new(&[columns, rows], T::wrap(input.to_vec()))?;
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("transpose has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = BLOCKS.choose(job.block, name, job.device.info().max_block)?;
        let tiles = u64::from(height.div_ceil(variant.tile)) * u64::from(width.div_ceil(variant.tile));
        let grid = block::grid(tiles, &format!("a matrix of {rows}x{columns}"), "transpose it in parts")?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(job.device, input.len(), "output")?;
        let call = (variant.kernel)(device_input.slice(input.len()), height, width, output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![columns, rows],
            depth: 0,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            // SAFETY: the call is the kernel's own launcher's, with matrices of this size, and a block per tile.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(result)
}
