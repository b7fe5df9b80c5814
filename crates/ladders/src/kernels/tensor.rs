//! Matrix product on tensor cores: f32 matrices at the accuracy of f32 or of tf32, and matrices of f16, bf16, f8 and
//! i8, of any sizes; A and B also stored transposed.
//!
//! Operands are those of [`matmul`](super::matmul), and so is the result, but for f8, whose products are bf16, and i8,
//! whose products are i32. The error bounds are the library's ([`rustwarp::emulated`], [`rustwarp::mixed_matmul`]).

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::matmul::{DISTRIBUTION, Products, TRANSPOSE_A, TRANSPOSE_B, oracle, problem_of};
use super::plan::Plan;
use super::{BlockRule, Case, Entry, Family, Job, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use kernels_gpu::tensor::mixed::{pad, product, turn};
use kernels_gpu::tensor::{best, slices};
use rustwarp::Launch;
use rustwarp::backend::{Buffer, Handle, require_memory};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::emulated as library;
use rustwarp::mixed_matmul::{self, Factor, Forced};
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "tensor",
    idea: "C = A * B on tensor cores: of f16, bf16, tf32, f8 and i8, and of f32 by three products of f16",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F8, Dtype::I8],
    only: &[],
    settings: &[TRANSPOSE_A.listed(), TRANSPOSE_B.listed(), DISTRIBUTION.listed()],
    variants: || FAMILY.merge(|_, dtype| resolve(dtype)),
    cases: cases_with_batches,
    sizes,
    of_vectors: false,
    generate: super::matmul::FAMILY.generate,
    resolve: |problem| resolve(problem.dtype),
    specials: false,
    limits: super::matmul::FAMILY.limits,
    peers: super::matmul::FAMILY.peers,
};

/// The types that tensor cores take as they are.
const NARROW: &[Dtype] = &[Dtype::F16, Dtype::Bf16, Dtype::F8, Dtype::I8];

/// The idea of `tf32` in one line.
const TF32: &str = "f32 factors as they are, of which tensor cores read tf32: fast, at the accuracy of 10 bits";

/// Sizes that no tile divides.
const RAGGED: [u64; 3] = [4095, 4097, 4093];

/// Sizes to measure.
pub(super) fn sizes() -> Vec<Case> {
    [1024, 2048, 4096, 8192].iter().map(|&n| Case::new(&[n; 3])).chain([Case::new(&RAGGED)]).collect()
}

fn resolve(dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::F32 => Ok(Resolved::of::<Tensor>()),
        Dtype::F16 => Ok(Resolved::of::<Mixed<half::f16, half::f16>>()),
        Dtype::Bf16 => Ok(Resolved::of::<Mixed<half::bf16, half::bf16>>()),
        Dtype::F8 => Ok(Resolved::of::<Mixed<float8::F8E4M3, half::bf16>>()),
        Dtype::I8 => Ok(Resolved::of::<Mixed<i8, i32>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for f32.
struct Tensor;

/// The family for factors of a narrow type and products of another.
struct Mixed<T, O>(PhantomData<(T, O)>);

/// How a product is made.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// At the accuracy of the type.
    Best,
    /// Cut to tf32.
    Tf32,
}

/// Both factors on a device, and the properties of their product.
pub(super) struct Factors<'j, T> {
    pub a: Buffer<'j, T>,
    pub b: Buffer<'j, T>,
    pub products: Products,
    pub work: Work,
}

/// A rung with one size of block.
pub(super) fn rung<K>(name: &'static str, idea: &'static str, block: &'static [u32; 1], kernel: K) -> Rung<K> {
    Rung { name, idea, block: BlockRule::OneOf { sizes: block, default: block[0] }, kernel }
}

impl Ladder for Tensor {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Way>;
    type Operands<'j> = Factors<'j, f32>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            rung("tf32", TF32, &[product::BLOCK], Planned::Here(Way::Tf32)),
            rung("best", best::IDEA, &[best::BLOCK], Planned::Here(Way::Best)),
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        if let Planned::Here(Way::Tf32) = rung.kernel {
            return entries_of::<f32>();
        }
        let slices = [slices::tensor_slices::<false>, slices::tensor_slices::<true>];
        std::iter::once(Entry::of(best::tensor_best)).chain(slices.map(Entry::of)).collect()
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<f32, f32>(problem, problem_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, f32>> {
        require_warpgroups(job, FAMILY.name)?;
        upload::<f32, f32>(job)
    }

    fn work(factors: &Factors<'_, f32>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, f32>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        if let Planned::Here(Way::Tf32) = rung.kernel {
            return multiply::<f32, f32, _>(factors, rung, run);
        }
        let Factors { ref a, ref b, products, .. } = *factors;
        let (Products { sizes, batch, .. }, result) = (products, products.result());
        let output = rung.uninit::<f32>(products.elements()?, "c")?;
        let plan = library::Plan::batched(&rung.device, sizes, batch)?;
        let [slice_a, slice_b, multiply] = plan.prepare([a, b], &output)?;
        let shape = multiply.shape();
        let steps = Plan::new(shape.threads() as u32, shape.grid[0], &output, &result);
        run(steps.then(slice_a).then(slice_b).then(multiply).with_depth(sizes.k as u64 / 64 + 110))
    }
}

impl<T: Factor<O>, O: Scalar> Ladder for Mixed<T, O> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Way>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        // All types of a family have the same rungs; `refusal` has those that they do not support.
        vec![
            rung("tf32", TF32, &[product::BLOCK], Planned::Here(Way::Tf32)),
            rung("best", product::IDEA, &[product::BLOCK], Planned::Here(Way::Best)),
        ]
    }

    fn refusal(rung: &Rung<Self::Kernel>, _: Problem<'_>) -> Option<String> {
        matches!(rung.kernel, Planned::Here(Way::Tf32)).then(|| "multiplies f32 only".to_owned())
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(Way::Tf32) => Vec::new(),
            _ => entries_of::<T>(),
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T, O>(problem, problem_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        require_warpgroups(job, FAMILY.name)?;
        upload::<T, O>(job)
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        multiply::<T, O, _>(factors, rung, run)
    }
}

/// The entries of the kernels for factors of a narrow type, and of those that copy such factors.
fn entries_of<T: mixed_matmul::Operand>() -> Vec<Entry> {
    let products = T::KERNELS.into_iter().flatten().copied().map(Entry::of);
    let copies = match size_of::<T>() {
        1 => vec![Entry::of(pad::tensor_pad::<u8>), Entry::of(turn::tensor_turn::<u8>)],
        2 => vec![Entry::of(pad::tensor_pad::<u16>)],
        _ => vec![Entry::of(pad::tensor_pad::<u32>), Entry::of(turn::tensor_turn::<u32>)],
    };
    products.chain(copies).collect()
}

/// Runs the product of narrow factors.
fn multiply<T: Factor<O>, O: Scalar, K>(factors: &Factors<'_, T>, rung: &Chosen<'_, K>, run: Run<'_>) -> Result<()> {
    let Factors { ref a, ref b, products, .. } = *factors;
    let output = rung.uninit::<O>(products.elements()?, "c")?;
    let plan = plan::<T, O, _>(&rung.device, &products, false)?;
    let steps = launches(plan.prepare([a, b], &output)?, &output, &products.result());
    run(steps.with_depth(additions::<T>(products.sizes.k)))
}

/// The library's plan of products by warpgroups, or by single warps.
///
/// # Errors
/// Those of the library.
pub(super) fn plan<T: Factor<O>, O: Scalar, H: Handle>(
    device: &H,
    products: &Products,
    warps: bool,
) -> Result<mixed_matmul::Plan<T, O, H>> {
    let forced = Forced { warps: Some(warps), ..Forced::default() };
    Ok(mixed_matmul::Plan::forced(device, products.sizes, products.batch, forced)?)
}

/// A plan with these launches, with the shape of the last.
pub(super) fn launches<'m, O: Scalar>(
    launches: Vec<Launch<'m>>,
    output: &'m Buffer<'_, O>,
    result: &[usize],
) -> Plan<'m> {
    let shape = launches.last().map_or((0, 0), |last| (last.shape().threads() as u32, last.shape().grid[0]));
    launches.into_iter().fold(Plan::new(shape.0, shape.1, output, result), Plan::then)
}

/// The bound of `mixed_matmul` in units of 2^-23 of the sum of magnitudes.
pub(super) fn additions<T: Scalar>(k: usize) -> u64 {
    let k = k as u64;
    match T::DTYPE {
        Dtype::F32 => (1 << 14) + k + 24,
        Dtype::F8 => (k.div_ceil(32) * 33) << 10,
        _ => k + 16,
    }
}

/// Refuses devices without the kernels of this family.
pub(super) fn require_warpgroups(job: &Job<'_>, family: &str) -> Result<()> {
    if library::supports(job.device.info()) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the kernels of `{family}` need a GPU of compute capability 9.0, and {} is none: use `mma`, `matmul`, or the \
         simulator",
        job.device.info().name
    )))
}

/// Copies the factors to the device, if it has room for them, for their slices or copies, and for the product.
pub(super) fn upload<'j, T: Scalar, O: Scalar>(job: &'j Job<'_>) -> Result<Factors<'j, T>> {
    let products = problem_of(&job.problem)?;
    let work = products.work::<O>(job.problem.inputs)?;
    let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
    // The slices take as much as the factors, and so do copies of f16 and bf16.
    let all = work.bytes.checked_add((size_of_val(a) + size_of_val(b)) as u64);
    require_memory(job.device, all, "matmul of two matrices and their slices", "use smaller ones")?;
    Ok(Factors {
        a: Buffer::from_slice(job.device, a, "a")?,
        b: Buffer::from_slice(job.device, b, "b")?,
        products,
        work,
    })
}

/// Those of [`cases`], and batches: without products, of one, of products within a tile and of several.
fn cases_with_batches() -> Vec<Case> {
    let (a, b) = ("transpose-a", "transpose-b");
    let mut cases = cases();
    cases.extend([
        Case::new(&[0, 3, 5, 2]),
        Case::new(&[3, 2, 5, 0]).with(a, ""),
        Case::new(&[1, 5, 3, 2]),
        Case::new(&[3, 33, 17, 9]).with(a, "").with(b, ""),
        Case::new(&[2, 129, 40, 136]),
        Case::new(&[3, 40, 200, 67]).with(a, ""),
        Case::new(&[2, 260, 24, 65]).with(b, ""),
    ]);
    cases
}

/// Sizes around tiles, pieces and clusters with every storage order, small enough for the simulator.
pub(super) fn cases() -> Vec<Case> {
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
        case([33, 40, 136], &[]).with("distribution", "normal"),
        case([64, 191, 65], &[a, b]),
        case([129, 193, 100], &[]),
        case([257, 48, 448], &[b]),
        // Tiles of 256 columns, and rows that need no copy.
        case([8, 4224, 72], &[]).only(NARROW),
        case([129, 264, 136], &[a]).only(NARROW),
        case([72, 136, 520], &[a, b]).only(NARROW),
        case([136, 72, 200], &[b]).only(NARROW),
    ]
}
