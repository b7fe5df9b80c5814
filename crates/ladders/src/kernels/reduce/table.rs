//! The variants of `reduce`, one row each: the ladder first, then other forms, `best` last. A new variant is a new row.

use super::bound::Bound;
use super::floats::{self, Operation};
use super::scheme::{ForBlock, Kernel, Launcher, Scheme, Table};
use crate::kernels::BlockRule;
use crate::kernels::ladder::{Planned, Rung};
use kernels_gpu::reduce::double_accumulator::Widen;
use kernels_gpu::reduce::*;
use rustwarp::element::Element;

/// [`Scheme::Tree`] with one kernel for every block size.
fn tree<T>(per_thread: usize, kernel: Launcher<T>) -> Kernel<T> {
    Scheme::Tree { per_thread: per_thread as u32, kernel: ForBlock::Any(kernel) }.into()
}

/// [`Scheme::GridStride`].
fn fill<T>(per_thread: u32, kernel: Launcher<T>) -> Kernel<T> {
    Scheme::GridStride { per_thread, kernel }.into()
}

/// The table.
pub(super) fn rungs<O: Operation<T>, T: Element + Widen>() -> Vec<Rung<Table<T>>> {
    vec![
        Rung {
            name: "interleaved",
            idea: interleaved::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: interleaved::BLOCK },
            kernel: Planned::Here(tree(1, interleaved::reduce_interleaved::<O, T>).cached(1).listing_search()),
        },
        Rung {
            name: "interleaved_strided",
            idea: interleaved_strided::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: interleaved_strided::BLOCK },
            kernel: Planned::Here(tree(1, interleaved_strided::reduce_interleaved_strided::<O, T>).cached(1)),
        },
        Rung {
            name: "sequential",
            idea: sequential::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: sequential::BLOCK },
            kernel: Planned::Here(tree(1, sequential::reduce_sequential::<O, T>).cached(1)),
        },
        Rung {
            name: "first_add",
            idea: first_add::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: first_add::BLOCK },
            kernel: Planned::Here(tree(first_add::PER_THREAD, first_add::reduce_first_add::<O, T>).cached(1)),
        },
        Rung {
            name: "unroll_last_warp",
            idea: unroll_last_warp::IDEA,
            block: BlockRule::PowerOfTwo { min: 64, default: unroll_last_warp::BLOCK },
            kernel: Planned::Here(
                tree(unroll_last_warp::PER_THREAD, unroll_last_warp::reduce_unroll_last_warp::<O, T>).cached(1),
            ),
        },
        Rung {
            name: "unrolled",
            idea: unrolled::IDEA,
            block: BlockRule::OneOf { sizes: &unrolled::BLOCKS, default: unrolled::BLOCK },
            kernel: Planned::Here(
                Kernel::from(Scheme::Tree {
                    per_thread: unrolled::PER_THREAD as u32,
                    kernel: ForBlock::Each(|block| match block {
                        128 => unrolled::reduce_unrolled::<O, T, 128>,
                        256 => unrolled::reduce_unrolled::<O, T, 256>,
                        _ => unrolled::reduce_unrolled::<O, T, 512>,
                    }),
                })
                .cached(1),
            ),
        },
        Rung {
            name: "many_per_thread",
            idea: many_per_thread::IDEA,
            block: BlockRule::PowerOfTwo { min: 64, default: many_per_thread::BLOCK },
            kernel: Planned::Here(fill(2, many_per_thread::reduce_many_per_thread::<O, T>).cached(1)),
        },
        Rung {
            name: "pairwise",
            idea: pairwise::IDEA,
            block: BlockRule::Any { default: pairwise::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::Pairs(|input, output| {
                pairwise::reduce_pairwise::<O, T>(input, output).into()
            }))),
        },
        Rung {
            name: "divide_and_conquer",
            idea: divide_and_conquer::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: divide_and_conquer::BLOCK },
            kernel: Planned::Here(fill(1, divide_and_conquer::reduce_divide_and_conquer::<O, T>).cached(1)),
        },
        Rung {
            name: "kogge_stone",
            idea: kogge_stone::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: kogge_stone::BLOCK },
            kernel: Planned::Here(tree(1, kogge_stone::reduce_kogge_stone::<O, T>).cached(2)),
        },
        Rung {
            name: "grid_stride",
            idea: grid_stride::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: grid_stride::BLOCK },
            kernel: Planned::Here(fill(1, grid_stride::reduce_grid_stride::<O, T>).cached(1)),
        },
        Rung {
            name: "hierarchical",
            idea: hierarchical::IDEA,
            block: BlockRule::WholeWarps { default: hierarchical::BLOCK },
            kernel: Planned::Here(tree(hierarchical::PER_THREAD, hierarchical::reduce_hierarchical::<O, T>)),
        },
        Rung {
            name: "double_accumulator",
            idea: double_accumulator::IDEA,
            block: BlockRule::OneOf { sizes: &best::BLOCKS, default: double_accumulator::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::LastBlock {
                bound: if size_of::<T>() < size_of::<T::Wide>() { Bound::Wider } else { Bound::Plain },
                blocks_per_sm: double_accumulator::BLOCKS_PER_SM,
                kernel: double_accumulator::reduce_double_accumulator::<O, T>,
            })),
        },
        Rung {
            name: "compensated",
            idea: compensated::IDEA,
            block: BlockRule::OneOf { sizes: &best::BLOCKS, default: compensated::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::LastBlock {
                bound: Bound::Compensated,
                blocks_per_sm: compensated::BLOCKS_PER_SM,
                kernel: compensated::reduce_compensated::<O, T>,
            })),
        },
        Rung {
            name: "double_float",
            idea: double_float::IDEA,
            block: BlockRule::OneOf { sizes: &best::BLOCKS, default: double_float::BLOCK },
            kernel: Planned::Here(floats::only::<O, T>(floats::double_float)),
        },
        Rung {
            name: "sorted",
            idea: sorted::IDEA,
            block: BlockRule::WholeWarps { default: sorted::BLOCK },
            kernel: Planned::Here(floats::only::<O, T>(|floats| Scheme::OneBlock(floats.sorted))),
        },
        Rung {
            name: "fixed_tree",
            idea: fixed_tree::IDEA,
            block: BlockRule::OneOf { sizes: &[fixed_tree::BLOCK], default: fixed_tree::BLOCK },
            kernel: Planned::Here(floats::only::<O, T>(|floats| Scheme::ByPlan(floats.fixed_tree))),
        },
        Rung {
            name: "warp_shuffle",
            idea: warp_shuffle::IDEA,
            block: BlockRule::WholeWarps { default: warp_shuffle::BLOCK },
            kernel: Planned::Here(fill(1, warp_shuffle::reduce_warp_shuffle::<O, T>)),
        },
        Rung {
            name: "warp_intrinsic",
            idea: warp_intrinsic::IDEA,
            block: BlockRule::WholeWarps { default: warp_intrinsic::BLOCK },
            kernel: Planned::Here(fill(1, warp_intrinsic::reduce_warp_intrinsic::<O, T>)),
        },
        Rung {
            name: "atomic",
            idea: atomic::IDEA,
            block: BlockRule::WholeWarps { default: atomic::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::Atomic(atomic::reduce_atomic::<O, T>))),
        },
        Rung {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::WholeWarps { default: best::BLOCK },
            kernel: Planned::ByLibrary,
        },
    ]
}
