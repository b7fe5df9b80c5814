//! Matrix product on tensor cores, warp by warp, on any GPU since sm_80: f16, bf16, f32 cut to tf32, and i8, of any
//! sizes; A and B also stored transposed.
//!
//! Operands are those of [`matmul`](super::matmul), and so is the result, but for i8, whose products are i32. The error
//! bounds are the library's ([`rustwarp::mixed_matmul`]).

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::matmul::{for_kernels, oracle, problem_of, stored};
use super::plan::Plan;
use super::tensor::{Factors, additions, launches, plan, rung, upload};
use super::{Entry, Family, Job, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use cuda_std::launch::{Call, Ptr, PtrMut};
use kernels_gpu::mma::{Bf16, F16, S8, Tf32, best, ldmatrix, naive, pad, shared};
use rustwarp::backend::Shape;
use rustwarp::element::{Dtype, Scalar};
use rustwarp::mixed_matmul::{self, Factor, WarpKernels};
use rustwarp::require_grid;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "mma",
    idea: "C = A * B on the tensor cores of any GPU since sm_80, warp by warp: of f16, bf16, tf32 and i8",
    dtypes: &[Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::I8],
    variants: || FAMILY.merge(|_, dtype| resolve(dtype)),
    // The rungs before the last multiply no batches.
    cases: super::tensor::cases,
    resolve: |problem| resolve(problem.dtype),
    ..super::tensor::FAMILY
};

fn resolve(dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::F16 => Ok(Resolved::of::<Warps<half::f16, half::f16>>()),
        Dtype::Bf16 => Ok(Resolved::of::<Warps<half::bf16, half::bf16>>()),
        Dtype::F32 => Ok(Resolved::of::<Warps<f32, f32>>()),
        Dtype::I8 => Ok(Resolved::of::<Warps<i8, i32>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for factors of a type and products of another.
struct Warps<T, O>(PhantomData<(T, O)>);

/// A launcher of a kernel: A, B, C, their sizes, and the storage order.
type Launcher = for<'a> fn(Ptr<'a, u8>, Ptr<'a, u8>, PtrMut<'a, u8>, u32, u32, u32, u32) -> Call<'a>;

/// Types of factors with their launchers.
trait Launchers {
    /// Those of the rungs before the last.
    const LAUNCHERS: [Launcher; 3];
}

macro_rules! launchers {
    ($($t:ty: $precision:ident;)*) => { $(
        impl Launchers for $t {
            const LAUNCHERS: [Launcher; 3] = [
                naive::mma_naive::<$precision>,
                shared::mma_shared::<$precision>,
                ldmatrix::mma_ldmatrix::<$precision>,
            ];
        }
    )* };
}
launchers! { half::f16: F16; half::bf16: Bf16; f32: Tf32; i8: S8; }

impl<T: Factor<O> + Launchers, O: Scalar> Ladder for Warps<T, O> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<(Launcher, u32)>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let [of_naive, of_shared, of_ldmatrix] = T::LAUNCHERS;
        let here = |launcher, tile| Planned::Here((launcher, tile));
        vec![
            rung("naive", naive::IDEA, &[naive::BLOCK], here(of_naive, naive::TILE)),
            rung("shared", shared::IDEA, &[shared::BLOCK], here(of_shared, shared::TILE)),
            rung("ldmatrix", ldmatrix::IDEA, &[ldmatrix::BLOCK], here(of_ldmatrix, ldmatrix::TILE)),
            rung("best", best::IDEA, &[best::BLOCK], Planned::ByLibrary),
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here((launcher, _)) => vec![Entry::of(launcher)],
            Planned::ByLibrary => {
                let copy = match size_of::<T>() {
                    1 => Entry::of(pad::mma_pad::<u8>),
                    2 => Entry::of(pad::mma_pad::<u16>),
                    _ => Entry::of(pad::mma_pad::<u32>),
                };
                let kernels = T::WARP_KERNELS.into_iter();
                let each = |kernels: WarpKernels| {
                    let join = Entry::of(kernels.join);
                    kernels.products.into_iter().flatten().map(Entry::of).chain([join])
                };
                kernels.flat_map(each).chain([copy]).collect()
            }
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T, O>(problem, problem_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        if !mixed_matmul::supports(job.device.info()) {
            return Err(Error::Usage(format!(
                "the kernels of `mma` need a GPU of compute capability 8.0 or later, and {} is none: use `matmul`, or \
                 the simulator",
                job.device.info().name
            )));
        }
        upload::<T, O>(job)
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, products, .. } = *factors;
        let (result, output) = (products.result(), rung.uninit::<O>(products.elements()?, "c")?);
        let additions = additions::<T>(products.sizes.k);
        let Planned::Here((launcher, tile)) = *rung.kernel else {
            let plan = plan::<T, O, _>(&rung.device, &products, true)?;
            return run(launches(plan.prepare([a, b], &output)?, &output, &result).with_depth(additions));
        };
        let sizes = products.single()?;
        // The kernels count the depth in 32 bits, in steps of up to 64.
        let [m, n, k] = for_kernels(&sizes)?;
        if k > u32::MAX - 64 {
            return Err(Error::Usage(format!("`{}` takes sums of up to 2^32 - 65 products, not {k}", rung.name)));
        }
        let tiles = u64::from(m.div_ceil(tile)) * u64::from(n.div_ceil(tile));
        let grid = require_grid(tiles, &format!("a product of {m}x{n}"), "multiply in parts")?;
        // SAFETY: the buffers live as long as the plan, and these are their bytes.
        let (on_a, on_b, out) =
            unsafe { (Ptr::new(a.address()), Ptr::new(b.address()), PtrMut::new(output.address())) };
        let call = launcher(on_a, on_b, out, m, n, k, stored(&sizes));
        // SAFETY: the kernel's own launcher made the call, with matrices of these sizes, the block for which the kernel
        // is compiled, and a block per tile.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &result) };
        run(plan.with_depth(additions))
    }
}
