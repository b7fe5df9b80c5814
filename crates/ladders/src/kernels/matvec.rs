//! Product of a matrix and a vector: `y[i] = sum over k of a[i][k] * x[k]`, row-major, of any sizes; the matrix also
//! stored transposed.
//!
//! Entries of f16 and bf16 have products of f32. Elements may differ from the exact result by `d * epsilon * sum of |a|
//! |x|`, where `d` is the largest number of products and additions in a chain. A product without terms is 0.

use super::entry::Nothing;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::matmul::oracle;
use super::plan::Plan;
use super::settings::{Flag, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::matvec::{self as kernels, A_TRANSPOSED, best, columns, thread_per_row, warp_per_row};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::Dtype;
use rustwarp::matvec::{self as library, Sizes};
use rustwarp::{matmul, require_grid};
use std::marker::PhantomData;

const TRANSPOSE: Setting<Flag> = Setting {
    name: "transpose-a",
    help: "The matrix is stored transposed, as COLUMNSxROWS",
    generated: false,
    kind: Flag,
};

/// The family.
pub const FAMILY: Family = Family {
    name: "matvec",
    idea: "y = A * x: every element of A is needed once, so only reading it fast counts",
    operands: &[Operand::of_elements("a"), Operand::of_elements("x")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16],
    only: &[],
    settings: &[TRANSPOSE.listed()],
    variants: || FAMILY.merge(|_, dtype| resolve(dtype)),
    cases,
    sizes,
    of_vectors: false,
    generate: |demand| {
        let [rows, columns] = demand.axes("ROWSxCOLUMNS, or one number for a square")?;
        let stored = if demand.settings.flag(&TRANSPOSE) { [columns, rows] } else { [rows, columns] };
        Ok(vec![demand.tensor(0, &stored)?, demand.tensor(1, &[columns])?])
    },
    resolve: |problem| resolve(problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["matvec"],
};

fn resolve(dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::F32 => Ok(Resolved::of::<Matvec<f32>>()),
        Dtype::F64 => Ok(Resolved::of::<Matvec<f64>>()),
        Dtype::F16 => Ok(Resolved::of::<Matvec<half::f16>>()),
        Dtype::Bf16 => Ok(Resolved::of::<Matvec<half::bf16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for one element type.
struct Matvec<T>(PhantomData<T>);

/// Entries in memory, as the kernels take them.
type Bits<T> = <<T as library::Operand>::Entry as kernels::Entry>::Bits;

/// A launcher of a rung that has a matrix in either storage order.
type Launcher<T> = for<'a> fn(
    Slice<'a, Bits<T>>,
    Slice<'a, Bits<T>>,
    PtrMut<'a, <T as library::Operand>::Output>,
    u32,
    u32,
    u32,
) -> Call<'a>;

/// A kernel with the threads that each row has.
struct Kernel<T: library::Operand> {
    launcher: Launcher<T>,
    threads: u64,
}

/// The operands on a device.
struct Operands<'j, T> {
    a: Buffer<'j, T>,
    x: Buffer<'j, T>,
    sizes: Sizes,
}

/// Checks that the operands fit together, and returns their sizes.
fn sizes_of(problem: &Problem<'_>) -> Result<Sizes> {
    let [a, x] = problem.inputs else {
        return Err(Error::Usage(format!("matvec takes a matrix and a vector, not {} operands", problem.inputs.len())));
    };
    let transposed = problem.settings.flag(&TRANSPOSE);
    let [down, across] = a.matrix("operand A of matvec")?;
    let (rows, columns) = if transposed { (across, down) } else { (down, across) };
    let length = x.len();
    if x.shape().len() != 1 || length != columns {
        let stored = if transposed { ", stored transposed" } else { "" };
        return Err(Error::Usage(format!(
            "matvec cannot multiply A ({down}x{across}{stored}) by x ({}): A has {columns} columns, and x must be a \
             vector of as many elements ({TRANSPOSE} says how A is stored)",
            rustwarp::tensor::text(x.shape()),
        )));
    }
    Ok(Sizes { rows, columns, transposed, leading_dimension: 0 })
}

impl<T: library::Operand<Output: Nothing>> Ladder for Matvec<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = Operands<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let thread = Kernel::<T> { launcher: thread_per_row::matvec_thread_per_row::<T::Entry>, threads: 1 };
        let warp = Kernel::<T> { launcher: warp_per_row::matvec_warp_per_row::<T::Entry>, threads: 32 };
        vec![
            Rung {
                name: "thread_per_row",
                idea: thread_per_row::IDEA,
                block: BlockRule::Any { default: thread_per_row::BLOCK },
                kernel: Planned::Here(thread),
            },
            Rung {
                name: "warp_per_row",
                idea: warp_per_row::IDEA,
                block: BlockRule::WholeWarps { default: warp_per_row::BLOCK },
                kernel: Planned::Here(warp),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) => vec![Entry::of(kernel.launcher)],
            Planned::ByLibrary => {
                vec![Entry::of(best::matvec_best::<T::Entry>), Entry::of(columns::matvec_columns::<T::Entry>)]
            }
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let Sizes { rows: m, columns: k, transposed, .. } = sizes_of(&problem)?;
        let of_product = matmul::Sizes { m, n: 1, k, transposed: [transposed, false], ..matmul::Sizes::default() };
        Ok(oracle::oracle::<T, T::Output>(problem, of_product)?.with_size(&[m, k]))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Operands<'j, T>> {
        let sizes = sizes_of(&job.problem)?;
        if u32::try_from(sizes.rows).is_err() || u32::try_from(sizes.columns).is_err() {
            let Sizes { rows, columns, .. } = sizes;
            return Err(Error::Usage(format!("matvec takes sizes up to 2^32 - 1, not {rows}x{columns}")));
        }
        let (a, x) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
        let bytes = size_of_val(a) + size_of_val(x) + sizes.rows * size_of::<T::Output>();
        require_memory(job.device, Some(bytes as u64), "matvec of a matrix and a vector", "use smaller ones")?;
        Ok(Operands { a: Buffer::from_slice(job.device, a, "a")?, x: Buffer::from_slice(job.device, x, "x")?, sizes })
    }

    fn work(Operands { a, x, sizes }: &Operands<'_, T>) -> Work {
        let bytes = a.bytes() + x.bytes() + (sizes.rows * size_of::<T::Output>()) as u64;
        Work::bytes(bytes)
    }

    fn prepare(operands: &Operands<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Operands { ref a, ref x, sizes } = *operands;
        let Sizes { rows, columns, transposed, .. } = sizes;
        let output = rung.uninit::<T::Output>(rows, "y")?;
        let Planned::Here(Kernel { launcher, threads }) = *rung.kernel else {
            let plan = library::Plan::<T, _>::new(&rung.device, sizes)?;
            let launch = plan.prepare(a, x, &output)?;
            return run(Plan::of_library(launch, &output, &[rows]).with_depth(plan.depth()));
        };
        let blocks = (rows as u64 * threads).div_ceil(rung.block.into());
        let grid = require_grid(blocks, &format!("a matrix of {rows}x{columns}"), "multiply in parts")?;
        // SAFETY: the memory lives as long as the buffers; entries of 16 bits are taken as integers.
        let (matrix, vector) = unsafe { (Slice::new(a.address(), a.len()), Slice::new(x.address(), x.len())) };
        let stored = u32::from(transposed) * A_TRANSPOSED;
        let call = launcher(matrix, vector, output.ptr(), rows as u32, columns as u32, stored);
        // SAFETY: the kernel's own launcher made the call, with operands of these sizes, whole warps where a row has
        // one, and threads for every row.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[rows]) };
        run(plan.with_depth((columns as u64).div_ceil(threads) + 5))
    }
}

/// Sizes with every kind of team and of load, in both storage orders, with one block for some rows and several, small
/// enough for the simulator.
fn cases() -> Vec<Case> {
    let shapes = [
        [0, 5],
        [3, 0],
        [9, 0],
        [1, 1],
        [1, 33],
        [257, 1],
        [5, 7],
        [9, 16],
        [33, 48],
        [130, 200],
        [64, 264],
        [31, 1031],
        [128, 2000],
        [256, 2000],
        [300, 1001],
        [1100, 256],
        [1100, 33],
        [3, 9000],
        [5, 9001],
        [2, 40_000],
        [40_000, 2],
        [5000, 16],
        [4100, 24],
        [70_000, 9],
        [70_001, 9],
    ];
    let case = |shape: &[u64; 2]| Case::new(shape);
    shapes.iter().map(case).chain(shapes.iter().map(|shape| case(shape).with(TRANSPOSE.name, ""))).collect()
}

fn sizes() -> Vec<Case> {
    let shapes = [[1024, 1024], [4096, 4096], [16384, 16384], [4095, 4097], [16, 1 << 22], [1 << 22, 16], [1, 1 << 24]];
    let case = |shape: &[u64; 2]| Case::new(shape);
    shapes.iter().map(case).chain(shapes.iter().map(|shape| case(shape).with(TRANSPOSE.name, ""))).collect()
}
