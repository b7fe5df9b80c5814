//! Matrix product on tensor cores: f32 matrices at the accuracy of f32, and f16 and bf16 matrices with sums in f32, of
//! any sizes; A and B also stored transposed.
//!
//! Operands and result are those of [`matmul`](super::matmul); the error bounds are the library's
//! ([`rustwarp::emulated`], [`rustwarp::half_matmul`]).

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::matmul::{TRANSPOSE_A, TRANSPOSE_B, oracle, sizes_of};
use super::plan::Plan;
use super::{BlockRule, Case, Entry, Family, Job, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use kernels_gpu::tensor::half::pad;
use kernels_gpu::tensor::{best, slices};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::emulated as library;
use rustwarp::half_matmul::{self, Half};
use rustwarp::matmul::Sizes;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "tensor",
    idea: "C = A * B on tensor cores: of f16 and bf16, and of f32 by three products of f16",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F16, Dtype::Bf16],
    only: &[],
    settings: &[TRANSPOSE_A.listed(), TRANSPOSE_B.listed()],
    variants: || FAMILY.merge(|_, dtype| resolve(dtype)),
    cases,
    sizes: || [1024, 2048, 4096, 8192].iter().map(|&n| Case::new(&[n; 3])).chain([Case::new(&RAGGED)]).collect(),
    of_vectors: false,
    generate: super::matmul::FAMILY.generate,
    resolve: |problem| resolve(problem.dtype),
    specials: false,
    limits: super::matmul::FAMILY.limits,
    peer: super::matmul::FAMILY.peer,
};

/// The types of 16-bit floats.
const HALVES: &[Dtype] = &[Dtype::F16, Dtype::Bf16];

/// Sizes that no tile divides.
const RAGGED: [u64; 3] = [4095, 4097, 4093];

fn resolve(dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::F32 => Ok(Resolved::of::<Tensor>()),
        Dtype::F16 => Ok(Resolved::of::<HalfTensor<half::f16>>()),
        Dtype::Bf16 => Ok(Resolved::of::<HalfTensor<half::bf16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for f32.
struct Tensor;

/// The family for a type of 16-bit floats.
struct HalfTensor<T>(PhantomData<T>);

/// Both factors on a device, and the properties of their product.
struct Factors<'j, T> {
    a: Buffer<'j, T>,
    b: Buffer<'j, T>,
    sizes: Sizes,
    work: Work,
}

impl Ladder for Tensor {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<()>;
    type Operands<'j> = Factors<'j, f32>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let block = BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK };
        vec![Rung { name: "best", idea: best::IDEA, block, kernel: Planned::ByLibrary }]
    }

    fn entries(_: &Rung<Self::Kernel>) -> Vec<Entry> {
        let slices = [slices::tensor_slices::<false>, slices::tensor_slices::<true>];
        std::iter::once(Entry::of(best::tensor_best)).chain(slices.map(Entry::of)).collect()
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<f32>(problem, sizes_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, f32>> {
        upload(job)
    }

    fn work(factors: &Factors<'_, f32>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, f32>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, sizes, .. } = *factors;
        let result = [sizes.m, sizes.n];
        let output = rung.uninit::<f32>(sizes.m * sizes.n, "c")?;
        let plan = library::Plan::new(&rung.device, sizes)?;
        let [slice_a, slice_b, multiply] = plan.prepare([a, b], &output)?;
        let shape = multiply.shape();
        let steps = Plan::new(shape.threads() as u32, shape.grid[0], &output, &result);
        run(steps.then(slice_a).then(slice_b).then(multiply).with_depth(sizes.k as u64 / 64 + 110))
    }
}

impl<T: Half> Ladder for HalfTensor<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<()>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        Tensor::rungs()
    }

    fn entries(_: &Rung<Self::Kernel>) -> Vec<Entry> {
        let kernels = T::KERNELS.as_flattened().as_flattened().iter().copied().map(Entry::of);
        kernels.chain([Entry::of(pad::tensor_half_pad)]).collect()
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T>(problem, sizes_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        upload(job)
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, sizes, .. } = *factors;
        let output = rung.uninit::<T>(sizes.m * sizes.n, "c")?;
        let plan = half_matmul::Plan::new(&rung.device, sizes)?;
        let launches = plan.prepare([a, b], &output)?;
        let shape = launches.last().map_or((0, 0), |last| (last.shape().threads() as u32, last.shape().grid[0]));
        let steps = Plan::new(shape.0, shape.1, &output, &[sizes.m, sizes.n]);
        let steps = launches.into_iter().fold(steps, Plan::then);
        run(steps.with_depth(sizes.k as u64 + 16))
    }
}

/// Copies the factors to the device, if it has room for them, for their slices or copies, and for the product.
fn upload<'j, T: Scalar>(job: &'j Job<'_>) -> Result<Factors<'j, T>> {
    let sizes = sizes_of(&job.problem)?;
    if !library::supports(job.device.info()) {
        return Err(Error::Usage(format!(
            "the kernels of `tensor` need a GPU of compute capability 9.0, and {} is none: use `matmul`, or the \
             simulator",
            job.device.info().name
        )));
    }
    let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
    let too_large =
        || Error::Usage(format!("a product of {}x{}x{} is too large for 64 bits", sizes.m, sizes.n, sizes.k));
    let product = (sizes.m as u64).checked_mul(sizes.n as u64).ok_or_else(too_large)?;
    let inputs = (size_of_val(a) + size_of_val(b)) as u64;
    let output = product.checked_mul(size_of::<T>() as u64);
    let bytes = output.and_then(|bytes| bytes.checked_add(inputs)).ok_or_else(too_large)?;
    // The slices take as much as the factors, and so do copies of f16 and bf16.
    let all = bytes.checked_add(inputs);
    require_memory(job.device, all, "matmul of two matrices and their slices", "use smaller ones")?;
    Ok(Factors {
        a: Buffer::from_slice(job.device, a, "a")?,
        b: Buffer::from_slice(job.device, b, "b")?,
        sizes,
        work: Work { bytes, flops: product.checked_mul(2 * sizes.k as u64).ok_or_else(too_large)? },
    })
}

/// Sizes around tiles, pieces and clusters with every storage order, small enough for the simulator.
fn cases() -> Vec<Case> {
    let case = |size: [u64; 3], stored: &[&'static str]| {
        stored.iter().fold(Case::new(&size), |case, name| case.with(name, ""))
    };
    let (a, b) = ("transpose-a", "transpose-b");
    vec![
        case([0, 5, 3], &[]),
        case([3, 0, 0], &[]),
        case([2, 3, 0], &[]),
        case([1, 1, 1], &[]),
        case([5, 9, 7], &[]),
        case([3, 16, 20], &[a, b]),
        case([31, 17, 33], &[a]),
        case([33, 65, 129], &[b]),
        case([64, 191, 65], &[a, b]),
        case([129, 193, 100], &[]),
        case([257, 48, 448], &[b]),
        // Tiles of 256 columns, and rows that need no copy.
        case([8, 4224, 72], &[]).only(HALVES),
        case([129, 264, 136], &[a]).only(HALVES),
        case([72, 136, 520], &[a, b]).only(HALVES),
        case([136, 72, 200], &[b]).only(HALVES),
    ]
}
