//! Matrix product by warpgroups, on GPUs of compute capability 9.0: bf16 and f16, A and B also stored transposed.
//!
//! Operands, results and error bounds are those of [`tensor`](super::tensor), whose `best` is the rung to use.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::matmul::{for_kernels, oracle, problem_of};
use super::plan::Plan;
use super::tensor::{Factors, additions, require_warpgroups, rung, upload};
use super::{Case, Entry, Family, Job, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::wgmma::{Bf16, DEPTH, F16, LINES, ROWS, copied, persistent, producer, tma};
use rustwarp::backend::{Buffer, Shape};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::mixed_matmul::{self, Factor, Operand};
use rustwarp::require_grid;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "wgmma",
    idea: "C = A * B by warpgroups, of bf16 and f16: how the factors come to the tensor cores of sm_90",
    dtypes: &[Dtype::Bf16, Dtype::F16],
    variants: || FAMILY.merge(|_, dtype| resolve(dtype)),
    cases,
    resolve: |problem| resolve(problem.dtype),
    ..super::tensor::FAMILY
};

fn resolve(dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::Bf16 => Ok(Resolved::of::<Warpgroups<half::bf16>>()),
        Dtype::F16 => Ok(Resolved::of::<Warpgroups<half::f16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for factors of a type.
struct Warpgroups<T>(PhantomData<T>);

/// A launcher of a kernel that reads factors: A, B, C and their sizes.
type Reads = for<'a> fn(Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32) -> Call<'a>;

/// A launcher of a kernel that takes maps of the factors, too, and whether there are any.
type Maps<P> =
    for<'a> fn(TensorMap<P>, TensorMap<P>, Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32, u32) -> Call<'a>;

/// Launchers for each storage order: number 2 if A is transposed, and 1 more if B is not.
#[derive(Clone, Copy)]
enum Launchers<P> {
    Reads([Reads; 4]),
    Maps([Maps<P>; 4]),
}

/// A rung's launchers and the shape of its launches.
struct Kernel<P> {
    launchers: Launchers<P>,
    /// Columns of a tile.
    columns: u32,
    shared: u32,
    /// Blocks of a cluster, for a rung whose blocks stay; 0 for a block per tile.
    cluster: u32,
}

/// Types of factors with their launchers.
trait Rungs: Operand {
    /// Those of the rungs, in order.
    const LAUNCHERS: [Launchers<Self::Precision>; 4];
}

macro_rules! rungs {
    ($($t:ty: $precision:ident;)*) => { $(
        impl Rungs for $t {
            const LAUNCHERS: [Launchers<$precision>; 4] = [
                rungs!(Reads copied::wgmma_copied $precision),
                rungs!(Maps tma::wgmma_tma $precision),
                rungs!(Maps producer::wgmma_producer $precision),
                rungs!(Maps persistent::wgmma_persistent $precision),
            ];
        }
    )* };
    ($kind:ident $module:ident :: $kernel:ident $precision:ident) => {
        Launchers::$kind([
            $module::$kernel::<$precision, false, false>,
            $module::$kernel::<$precision, false, true>,
            $module::$kernel::<$precision, true, false>,
            $module::$kernel::<$precision, true, true>,
        ])
    };
}
rungs! { half::bf16: Bf16; half::f16: F16; }

impl<T: Factor<T> + Scalar + Rungs> Ladder for Warpgroups<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel<T::Precision>;
    type Operands<'j> = Factors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let [of_copied, of_tma, of_producer, of_persistent] = T::LAUNCHERS;
        let kernel = |launchers, columns, shared, cluster| Kernel { launchers, columns, shared, cluster };
        vec![
            rung("copied", copied::IDEA, &[copied::BLOCK], kernel(of_copied, copied::COLUMNS, copied::SHARED, 0)),
            rung("tma", tma::IDEA, &[tma::BLOCK], kernel(of_tma, tma::COLUMNS, tma::SHARED, 0)),
            rung(
                "producer",
                producer::IDEA,
                &[producer::BLOCK],
                kernel(of_producer, producer::COLUMNS, producer::SHARED, 0),
            ),
            rung(
                "persistent",
                persistent::IDEA,
                &[persistent::BLOCK],
                kernel(of_persistent, persistent::COLUMNS, persistent::SHARED, persistent::CLUSTER),
            ),
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel.launchers {
            Launchers::Reads(launchers) => launchers.map(Entry::of).into(),
            Launchers::Maps(launchers) => launchers.map(Entry::of).into(),
        }
    }

    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        let Launchers::Maps(_) = rung.kernel.launchers else { return None };
        let without = if problem.inputs.iter().any(|input| input.is_empty()) {
            "without elements"
        } else if problem.inputs.iter().any(|input| input.shape().last().is_some_and(|row| row % 8 != 0)) {
            "with rows off 16 bytes"
        } else {
            return None;
        };
        Some(format!("has no tensor maps for factors {without} (`best` of `tensor` takes them)"))
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle::<T, T>(problem, problem_of(&problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Factors<'j, T>> {
        require_warpgroups(job, FAMILY.name)?;
        upload::<T, T>(job)
    }

    fn work(factors: &Factors<'_, T>) -> Work {
        factors.work
    }

    fn prepare(factors: &Factors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Factors { ref a, ref b, products, .. } = *factors;
        let sizes = products.single()?;
        let (result, output) = (products.result(), rung.uninit::<T>(products.elements()?, "c")?);
        let [m, n, k] = for_kernels(&sizes)?;
        let Kernel { launchers, columns, shared, cluster } = *rung.kernel;
        // Places in a map are signed; without maps the depth is counted in 32 bits, a stage ahead.
        let (most, largest) = match launchers {
            Launchers::Reads(_) => (u32::MAX - DEPTH, k),
            Launchers::Maps(_) => ((1 << 31) - 512, m.max(n).max(k)),
        };
        if largest > most {
            return Err(Error::Usage(format!("`{}` takes sizes of up to {most}, not {largest}", rung.name)));
        }
        // A cluster's tile is as many tiles high as it has blocks.
        let high = cluster.max(1);
        let tiles = u64::from(m.div_ceil(ROWS * high) * high) * u64::from(n.div_ceil(columns));
        let mut grid = require_grid(tiles, &format!("a product of {m}x{n}"), "multiply in parts")?;
        if cluster > 0 {
            grid = grid.min(rung.device.info().multiprocessors.next_multiple_of(cluster));
        }
        let order = usize::from(sizes.transposed[0]) * 2 + usize::from(!sizes.transposed[1]);
        // SAFETY: the buffers live as long as the plan, and their elements have 16 bits.
        let (on_a, on_b, out) =
            unsafe { (Ptr::new(a.address()), Ptr::new(b.address()), PtrMut::new(output.address())) };
        let call = match launchers {
            Launchers::Reads(launchers) => launchers[order](on_a, on_b, out, m, n, k),
            Launchers::Maps(launchers) => {
                let mapped = [a, b].iter().all(|factor| factor.address().is_multiple_of(16));
                let map = |matrix: &Buffer<'_, T>, [columns, rows]: [u32; 2]| {
                    let sizes = [columns, rows, 1];
                    mixed_matmul::map::<T, _>(&rung.device, matrix.address(), sizes, [columns.into(), 0], LINES)
                };
                let [of_a, of_b] = [
                    if sizes.transposed[0] { [m, k] } else { [k, m] },
                    if sizes.transposed[1] { [k, n] } else { [n, k] },
                ];
                let maps = if mapped { [map(a, of_a)?, map(b, of_b)?] } else { [TensorMap::new([0; 16]); 2] };
                launchers[order](maps[0], maps[1], on_a, on_b, out, m, n, k, mapped.into())
            }
        };
        let shape = Shape::linear(grid, rung.block).with_shared(shared);
        // SAFETY: the kernel's own launcher made the call, with matrices of these sizes, the block for which the kernel
        // is compiled, its shared memory, and a block per tile, or a multiple of the cluster.
        let plan = unsafe { Plan::of(call, shape, &output, &result) };
        run(plan.with_depth(additions::<T>(sizes.k)))
    }
}

/// Those of `tensor`, and small ones with rows that tensor maps take.
fn cases() -> Vec<Case> {
    let (a, b) = ("transpose-a", "transpose-b");
    let mut cases = super::tensor::cases();
    cases.extend([
        Case::new(&[136, 264, 136]).with(a, ""),
        Case::new(&[16, 16, 24]),
        Case::new(&[8, 8, 16]),
        Case::new(&[8, 8, 16]).with(a, ""),
        Case::new(&[8, 8, 16]).with(b, ""),
        Case::new(&[8, 8, 16]).with(a, "").with(b, ""),
    ]);
    cases
}
