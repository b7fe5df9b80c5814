//! The rungs that only sums of floats have.

use super::bound::Bound;
use super::oracle;
use super::scheme::{ByPlan, Kernel, LastBlock, Scheme, Table};
use crate::kernels::Entry;
use crate::kernels::ladder::Chosen;
use crate::kernels::plan::Plan;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::compensated::Compensate;
use kernels_gpu::reduce::double_accumulator::{Accumulate, Widen};
use kernels_gpu::reduce::{Max, Min, Sum, double_float, fixed_tree, sorted};
use rustwarp::backend::Buffer;
use rustwarp::element::Element;
use rustwarp::reproducible;

/// The requirements of all rows on an operation.
pub trait Operation<T: Element + Widen>: Accumulate<T> + Compensate<T> {
    /// The kernels that sums of floats have; `None` for other operations and types.
    fn floats() -> Option<Floats<T>> {
        None
    }
}

impl<T: Element + Widen> Operation<T> for Max {}
impl<T: Element + Widen> Operation<T> for Min {}

impl<T: Element + Widen + Summed> Operation<T> for Sum {
    fn floats() -> Option<Floats<T>> {
        T::floats()
    }
}

/// Numbers, of which some are floats.
pub trait Summed: Element + Widen + kernels_gpu::reduce::compensated::Summable {
    /// The kernels of [`Operation::floats`].
    fn floats() -> Option<Floats<Self>> {
        None
    }
}

impl Summed for i32 {}
impl Summed for u32 {}
impl Summed for i64 {}
impl Summed for u64 {}

/// Kernels for sums of floats.
pub struct Floats<T: 'static> {
    pub(super) fixed_tree: ByPlan<T>,
    pub(super) double_float: LastBlock<T>,
    pub(super) sorted: for<'a> fn(Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>,
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Summed for $t {
            fn floats() -> Option<Floats<$t>> {
                Some(Floats {
                    fixed_tree: ByPlan {
                        entry: || Entry::of(fixed_tree::reduce_fixed_tree::<$t>),
                        bytes: reproducible::scratch_bytes::<$t>,
                        sum: oracle::fixed_tree,
                        prepare: |rung: &Chosen<'_, Table<$t>>, input: &Buffer<'_, $t>, n, run| {
                            let plan = reproducible::Plan::<$t, _>::new(&rung.device, n, rung.tuning())?;
                            let output = rung.uninit::<$t>(1, "output")?;
                            let launch = plan.prepare(input, &output)?;
                            run(Plan::of_library(launch, &output, &[1]).with_depth(plan.depth()), &output)
                        },
                    },
                    double_float: double_float::reduce_double_float::<$t>,
                    sorted: sorted::reduce_sorted::<$t>,
                })
            }
        }
    )* };
}
float!(f32 f64);

/// The kernel of a row that only sums of floats have.
pub(super) fn only<O: Operation<T>, T: Element + Widen>(scheme: impl Fn(Floats<T>) -> Scheme<T>) -> Kernel<T> {
    O::floats().map_or(Scheme::Missing, scheme).into()
}

/// `double_float`.
pub(super) fn double_float<T>(floats: Floats<T>) -> Scheme<T> {
    let blocks_per_sm = double_float::blocks_per_sm(size_of::<T>());
    Scheme::LastBlock { bound: Bound::Doubled, blocks_per_sm, kernel: floats.double_float }
}
