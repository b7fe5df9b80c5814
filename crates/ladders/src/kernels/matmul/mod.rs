//! Matrix product: `c[i][j] = sum over k of a[i][k] * b[k][j]`, row-major, of any sizes; A and B also stored
//! transposed.
//!
//! Elements may differ from the exact result by `K * epsilon * sum of |a| |b|` ([`epsilon`](super::problem::epsilon));
//! the module text of `matmul/oracle.rs` describes the checks of large products. A product without terms (K = 0) is 0.

use super::entry::Nothing;
use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::settings::{Choice, Setting};
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use kernels_gpu::matmul::{A_TRANSPOSED, B_TRANSPOSED};
pub(crate) use operands::DISTRIBUTION;
pub(crate) use products::{Products, TRANSPOSE_A, TRANSPOSE_B, problem_of};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::Dtype;
use rustwarp::matmul::{self as library, Real, Sizes};
use rustwarp::require_grid;
use std::marker::PhantomData;
use table::Kernel;

mod dots;
mod operands;
pub(crate) mod oracle;
mod products;
pub(crate) mod reference;
mod table;

pub(crate) const TILE: Setting<Choice> = Setting {
    name: "tile",
    help: "Tile of `best`; auto is the one expected to be fastest for the size",
    generated: false,
    kind: Choice(&["auto", "large", "small", "tiny", "short", "tall", "mini", "pair", "single"]),
};

/// The family.
pub const FAMILY: Family = Family {
    name: "matmul",
    idea: "C = A * B: every element is needed often, so it is kept close",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64],
    only: &[],
    settings: &[TRANSPOSE_A.listed(), TRANSPOSE_B.listed(), TILE.listed(), DISTRIBUTION.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate: operands::generate,
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    // The work grows with the cube of the sides.
    limits: Limits { explained: 1 << 16, ..Limits::DEFAULT },
    peers: &["matmul"],
};

/// The sizes of the product of two matrices: see [`problem_of`].
///
/// # Errors
/// [`Error::Usage`] for operands that do not fit together, and for a batch.
pub(crate) fn sizes_of(problem: &Problem<'_>) -> Result<Sizes> {
    problem_of(problem)?.single()
}

/// The sizes as kernels take them.
pub(super) fn for_kernels(sizes: &Sizes) -> Result<[u32; 3]> {
    let fits = |n: usize| u32::try_from(n).ok();
    match (fits(sizes.m), fits(sizes.n), fits(sizes.k)) {
        (Some(m), Some(n), Some(k)) => Ok([m, n, k]),
        _ => Err(Error::Usage(format!(
            "matmul takes sizes up to 2^32 - 1, not {}x{}x{}: multiply in parts",
            sizes.m, sizes.n, sizes.k
        ))),
    }
}

/// The storage order as kernels take it.
pub(super) fn stored(sizes: &Sizes) -> u32 {
    let [a, b] = sizes.transposed;
    (u32::from(a) * A_TRANSPOSED) | (u32::from(b) * B_TRANSPOSED)
}

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_float!(FAMILY, dtype, T => Ok(Resolved::of::<Matmul<T>>()))
}

/// The family for one element type.
struct Matmul<T>(PhantomData<T>);

/// Both factors on a device, and the properties of their products.
struct Factors<'j, T> {
    a: Buffer<'j, T>,
    b: Buffer<'j, T>,
    products: Products,
    /// M, N, K.
    shape: [u32; 3],
    work: Work,
    /// The tile of `best` that `--tile` names.
    tile: &'static str,
}

impl<T: Real + Nothing> Ladder for Matmul<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs()
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) => vec![Entry::of(kernel.launcher)],
            Planned::ByLibrary => {
                let products = T::tiles();
                products.iter().flat_map(|tile| tile.kernels()).map(Entry::of).collect()
            }
        }
    }

    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        let is_batch = problem_of(&problem).is_ok_and(|products| products.is_batch);
        let one = is_batch && matches!(rung.kernel, Planned::Here(_));
        one.then(|| "multiplies two matrices, not a batch, which `best` does".to_owned())
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T, T>(problem, problem_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        let products = problem_of(&job.problem)?;
        let shape = for_kernels(&products.sizes)?;
        let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
        let work = products.work::<T>(job.problem.inputs)?;
        require_memory(job.device, Some(work.bytes), "matmul of two matrices into a third", "use smaller ones")?;
        Ok(Factors {
            a: Buffer::from_slice(job.device, a, "a")?,
            b: Buffer::from_slice(job.device, b, "b")?,
            products,
            shape,
            work,
            tile: job.problem.settings.choice(&TILE),
        })
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, products, shape, tile, .. } = *factors;
        let (Products { sizes, batch, .. }, result) = (products, products.result());
        let output = rung.uninit::<T>(products.elements()?, "c")?;
        let Planned::Here(Kernel { tile, launcher }) = *rung.kernel else {
            let tile = table::tile::<T>(tile, rung.device.info())?;
            let plan = library::Plan::batched(&rung.device, sizes, batch, tile.as_ref())?;
            let launch = plan.prepare([a, b], &output)?;
            return run(Plan::of_library(launch, &output, &result).with_depth(sizes.k as u64));
        };
        let tiles = u64::from(shape[0].div_ceil(tile)) * u64::from(shape[1].div_ceil(tile));
        let grid = require_grid(tiles, &format!("a product of {}x{}", sizes.m, sizes.n), "multiply in parts")?;
        let [m, n, k] = shape;
        let call = launcher(a.slice(a.len()), b.slice(b.len()), output.ptr(), m, n, k, stored(&sizes));
        // SAFETY: the kernel's own launcher made the call, with two matrices of these sizes (others are refused), the
        // block for which the kernel is compiled, and a block per tile.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &result) };
        run(plan.with_depth(sizes.k as u64))
    }
}

/// Sizes at every tile's edges with every storage order of the factors, and batches, small enough for the simulator.
fn cases() -> Vec<Case> {
    fn case<const N: usize>(size: [u64; N], tile: &str, stored: &[&'static str]) -> Case {
        let case = if tile == "auto" { Case::new(&size) } else { Case::new(&size).with("tile", tile) };
        stored.iter().fold(case, |case, name| case.with(name, ""))
    }
    let (a, b) = ("transpose-a", "transpose-b");
    vec![
        case([0, 5, 3], "auto", &[]),
        case([3, 0, 0], "auto", &[]),
        case([2, 3, 0], "auto", &[]),
        case([1, 1, 1], "auto", &[]),
        case([1, 33, 7], "auto", &[a, b]),
        case([31, 17, 33], "auto", &[a]),
        case([33, 65, 31], "auto", &[b]),
        case([33, 35, 70], "auto", &[]).with("distribution", "normal"),
        // For each kind of copy of each tile products that use a stage again, with an odd phase in front, and shallower
        // ones.
        case([64, 68, 97], "tiny", &[]).only(&[Dtype::F32]),
        case([64, 65, 98], "tiny", &[a, b]).only(&[Dtype::F32]),
        case([32, 64, 449], "short", &[]).only(&[Dtype::F32]),
        case([35, 67, 194], "short", &[a, b]).only(&[Dtype::F32]),
        case([36, 64, 64], "short", &[a]).only(&[Dtype::F32]),
        case([33, 65, 3], "short", &[b]).only(&[Dtype::F32]),
        case([64, 32, 449], "tall", &[]),
        case([67, 35, 194], "tall", &[a, b]),
        case([64, 36, 64], "tall", &[a]),
        case([65, 33, 3], "tall", &[b]),
        case([68, 36, 577], "tall", &[b]),
        case([32, 32, 320], "mini", &[]),
        case([33, 35, 195], "mini", &[a, b]),
        case([36, 40, 66], "mini", &[a]),
        case([35, 33, 1], "mini", &[b]),
        // Parts of the depth, of which the last one is odd, and which start off a boundary.
        case([33, 34, 700], "mini", &[]),
        case([64, 36, 641], "mini", &[a]),
        case([36, 68, 577], "short", &[b]).only(&[Dtype::F32]),
        case([64, 72, 577], "tiny", &[a]).only(&[Dtype::F32]),
        case([65, 69, 705], "small", &[a, b]).only(&[Dtype::F64]),
        // Less than a tile, in runs and one by one.
        case([4, 8, 5], "mini", &[a]),
        case([16, 28, 130], "mini", &[]),
        case([3, 1, 67], "mini", &[a, b]),
        case([40, 7, 66], "mini", &[b]),
        case([64, 68, 65], "small", &[]).only(&[Dtype::F64]),
        case([64, 65, 66], "small", &[a, b]).only(&[Dtype::F64]),
        case([129, 131, 98], "small", &[]),
        case([128, 129, 99], "small", &[b]),
        case([257, 132, 50], "large", &[]),
        case([256, 128, 49], "large", &[a]),
        case([256, 129, 51], "large", &[a, b]),
        // Batches: without products, of one, of products within a tile, and of several tiles with a pipeline.
        case([0, 3, 5, 2], "auto", &[]),
        case([4, 3, 0, 5], "auto", &[]),
        case([3, 2, 5, 0], "auto", &[]),
        case([1, 5, 3, 2], "auto", &[]),
        case([3, 33, 17, 9], "auto", &[]),
        case([5, 4, 3, 3], "auto", &[a, b]),
        case([2, 65, 68, 66], "tiny", &[b]).only(&[Dtype::F32]),
        case([3, 33, 66, 70], "short", &[a]).only(&[Dtype::F32]),
        case([5, 33, 36, 68], "mini", &[]),
        case([2, 9, 36, 642], "mini", &[b]),
        case([3, 65, 66, 67], "small", &[a]).only(&[Dtype::F64]),
        case([2, 129, 65, 66], "small", &[]),
        case([2, 129, 132, 34], "large", &[a]),
        // Few threads to a block: for each kind of copy, and with parts of the depth.
        case([2, 64, 68, 36], "pair", &[]),
        case([2, 65, 67, 70], "pair", &[a, b]),
        case([3, 36, 40, 17], "pair", &[a]),
        case([66, 64, 577], "pair", &[b]),
        case([2, 32, 36, 32], "single", &[]).only(&[Dtype::F32]),
        case([2, 33, 35, 47], "single", &[a, b]).only(&[Dtype::F32]),
        case([3, 12, 8, 33], "single", &[a]).only(&[Dtype::F32]),
        case([33, 32, 641], "single", &[b]).only(&[Dtype::F32]),
    ]
}

fn sizes() -> Vec<Case> {
    let sizes = [[1024; 3], [2048; 3], [4096; 3], [8192; 3], [4095, 4097, 4093]];
    sizes.iter().map(|size| Case::new(size)).collect()
}
