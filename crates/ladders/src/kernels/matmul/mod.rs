//! Matrix product: `c[i][j] = sum over k of a[i][k] * b[k][j]`, row-major, of any sizes; A and B also stored
//! transposed.
//!
//! Elements may differ from the exact result by `K * epsilon * sum of |a| |b|` ([`epsilon`](super::problem::epsilon));
//! the module text of `matmul/oracle.rs` describes the checks of large products. A product without terms (K = 0) is 0.

use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::settings::{Choice, Flag, Setting};
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use kernels_gpu::matmul::{A_TRANSPOSED, B_TRANSPOSED};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::Dtype;
use rustwarp::matmul::{self as library, Real, Sizes};
use rustwarp::require_grid;
use rustwarp::tensor::text;
use std::marker::PhantomData;
use table::Kernel;

mod dots;
pub(crate) mod oracle;
mod table;

pub(crate) const TRANSPOSE_A: Setting<Flag> =
    Setting { name: "transpose-a", help: "A is stored transposed, as KxM", generated: false, kind: Flag };

pub(crate) const TRANSPOSE_B: Setting<Flag> =
    Setting { name: "transpose-b", help: "B is stored transposed, as NxK", generated: false, kind: Flag };

pub(crate) const TILE: Setting<Choice> = Setting {
    name: "tile",
    help: "Tile of `best`; auto is the one expected to be fastest for the size",
    generated: false,
    kind: Choice(&["auto", "large", "small", "tiny"]),
};

/// The family.
pub const FAMILY: Family = Family {
    name: "matmul",
    idea: "C = A * B: every element is needed often, so it is kept close",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64],
    only: &[],
    settings: &[TRANSPOSE_A.listed(), TRANSPOSE_B.listed(), TILE.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate: |demand| {
        let [m, n, k] = demand.axes::<3>("MxNxK, or one number for a cube")?;
        let stored =
            |setting, shape: [usize; 2]| if demand.settings.flag(setting) { [shape[1], shape[0]] } else { shape };
        Ok(vec![demand.tensor(0, &stored(&TRANSPOSE_A, [m, k]))?, demand.tensor(1, &stored(&TRANSPOSE_B, [k, n]))?])
    },
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    // The work grows with the cube of the sides.
    limits: Limits { explained: 1 << 16, ..Limits::DEFAULT },
    peer: Some("matmul"),
};

/// Checks that the operands fit together, and returns their sizes.
pub(crate) fn sizes_of(problem: &Problem<'_>) -> Result<Sizes> {
    let [a, b] = problem.inputs else {
        return Err(Error::Usage(format!("matmul takes two operands, A and B, not {}", problem.inputs.len())));
    };
    let transposed = [&TRANSPOSE_A, &TRANSPOSE_B].map(|setting| problem.settings.flag(setting));
    let [rows, columns] = a.matrix("operand A of matmul")?;
    let (m, k) = if transposed[0] { (columns, rows) } else { (rows, columns) };
    let [rows, columns] = b.matrix("operand B of matmul")?;
    let (depth, n) = if transposed[1] { (columns, rows) } else { (rows, columns) };
    if k != depth {
        let how = |transposed| if transposed { ", stored transposed" } else { "" };
        return Err(Error::Usage(format!(
            "matmul cannot multiply A ({}{}) by B ({}{}): A has {k} columns and B {depth} rows, and these must be \
             equal \
             ({TRANSPOSE_A} and {TRANSPOSE_B} say how they are stored)",
            text(a.shape()),
            how(transposed[0]),
            text(b.shape()),
            how(transposed[1]),
        )));
    }
    Ok(Sizes { m, n, k, transposed })
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

/// Both factors on a device, and the properties of their product.
struct Factors<'j, T> {
    a: Buffer<'j, T>,
    b: Buffer<'j, T>,
    sizes: Sizes,
    /// M, N, K.
    shape: [u32; 3],
    work: Work,
    /// The tile of `best` that `--tile` names.
    tile: &'static str,
}

impl<T: Real> Ladder for Matmul<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs()
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) => vec![Entry::of(kernel.launcher)],
            Planned::ByLibrary => T::tiles().iter().flat_map(|tile| tile.kernels()).map(Entry::of).collect(),
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T, T>(problem, sizes_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        let sizes = sizes_of(&job.problem)?;
        let shape = for_kernels(&sizes)?;
        let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
        let too_large =
            || Error::Usage(format!("a product of {}x{} elements is too large for 64 bits", sizes.m, sizes.n));
        let bytes = sizes.m.checked_mul(sizes.n).and_then(|len| len.checked_mul(size_of::<T>()));
        let bytes = bytes.and_then(|bytes| bytes.checked_add(size_of_val(a) + size_of_val(b)));
        let bytes = bytes.ok_or_else(too_large)? as u64;
        require_memory(job.device, Some(bytes), "matmul of two matrices into a third", "use smaller ones")?;
        let flops = [sizes.m, sizes.n, sizes.k].iter().try_fold(2_u64, |product, &n| product.checked_mul(n as u64));
        Ok(Factors {
            a: Buffer::from_slice(job.device, a, "a")?,
            b: Buffer::from_slice(job.device, b, "b")?,
            sizes,
            shape,
            work: Work { bytes, flops: flops.ok_or_else(too_large)? },
            tile: job.problem.settings.choice(&TILE),
        })
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, sizes, shape, tile, .. } = *factors;
        let result = [sizes.m, sizes.n];
        let output = rung.uninit::<T>(sizes.m * sizes.n, "c")?;
        let Planned::Here(Kernel { tile, launcher }) = *rung.kernel else {
            let tile = table::tile::<T>(tile, rung.device.info())?;
            let plan = library::Plan::new(&rung.device, sizes, tile.as_ref())?;
            let launch = plan.prepare([a, b], &output)?;
            return run(Plan::of_library(launch, &output, &result).with_depth(sizes.k as u64));
        };
        let tiles = u64::from(shape[0].div_ceil(tile)) * u64::from(shape[1].div_ceil(tile));
        let grid = require_grid(tiles, &format!("a product of {}x{}", sizes.m, sizes.n), "multiply in parts")?;
        let [m, n, k] = shape;
        let call = launcher(a.slice(a.len()), b.slice(b.len()), output.ptr(), m, n, k, stored(&sizes));
        // SAFETY: the kernel's own launcher made the call, with matrices of these sizes, the block for which the kernel
        // is compiled, and a block per tile.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &result) };
        run(plan.with_depth(sizes.k as u64))
    }
}

/// Sizes at every tile's edges with every storage order of the factors, small enough for the simulator.
fn cases() -> Vec<Case> {
    let case = |size: [u64; 3], tile: &str, stored: &[&'static str]| {
        let case = if tile == "auto" { Case::new(&size) } else { Case::new(&size).with("tile", tile) };
        stored.iter().fold(case, |case, name| case.with(name, ""))
    };
    let (a, b) = ("transpose-a", "transpose-b");
    vec![
        case([0, 5, 3], "auto", &[]),
        case([3, 0, 0], "auto", &[]),
        case([2, 3, 0], "auto", &[]),
        case([1, 1, 1], "auto", &[]),
        case([1, 33, 7], "auto", &[a, b]),
        case([31, 17, 33], "auto", &[a]),
        case([33, 65, 31], "auto", &[b]),
        // These are deeper than the stages of a tile hold, with an odd phase in front, for each kind of copy of each
        // tile.
        case([64, 68, 65], "tiny", &[]).only(&[Dtype::F32]),
        case([64, 65, 66], "tiny", &[a, b]).only(&[Dtype::F32]),
        case([64, 68, 65], "small", &[]).only(&[Dtype::F64]),
        case([64, 65, 66], "small", &[a, b]).only(&[Dtype::F64]),
        case([129, 131, 66], "small", &[]),
        case([128, 129, 67], "small", &[b]),
        case([257, 132, 34], "large", &[]),
        case([256, 128, 33], "large", &[a]),
        case([256, 129, 35], "large", &[a, b]),
    ]
}

fn sizes() -> Vec<Case> {
    let sizes = [[1024; 3], [2048; 3], [4096; 3], [8192; 3], [4095, 4097, 4093]];
    sizes.iter().map(|size| Case::new(size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;
    use rustwarp::tensor::Tensor;

    fn sizes(a: [usize; 2], b: [usize; 2], given: &[&str]) -> Result<Sizes> {
        let matrix = |shape: [usize; 2]| Tensor::new(&shape, Array::F32(vec![0.0; shape[0] * shape[1]]));
        let inputs = [matrix(a)?, matrix(b)?];
        let settings = Settings::new(FAMILY.settings, given.iter().map(|name| (*name, "")))?;
        sizes_of(&Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings })
    }

    #[test]
    fn sizes_follow_from_shapes_and_storage() {
        let plain = sizes([2, 3], [3, 4], &[]).expect("they fit");
        assert_eq!((plain.m, plain.n, plain.k), (2, 4, 3));
        let both = sizes([3, 2], [4, 3], &["transpose-a", "transpose-b"]).expect("they fit");
        assert_eq!((both.m, both.n, both.k, stored(&both)), (2, 4, 3, A_TRANSPOSED | B_TRANSPOSED));
        let refusal = sizes([2, 3], [4, 3], &[]).expect_err("they don't fit").to_string();
        assert!(
            refusal.contains("3 columns") && refusal.contains("4 rows") && refusal.contains("--transpose-b"),
            "{refusal}"
        );
    }
}
