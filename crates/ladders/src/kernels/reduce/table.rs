//! The variants of `reduce`, one row each: the ladder first, then other forms, `best` last. A new variant is a new row.

use crate::kernels::ladder::{Planned, Rung};
use crate::kernels::{BlockRule, Entry};
use cuda_std::launch::{Call, PtrMut, Slice, SliceMut};
use kernels_gpu::reduce::compensated::Compensate;
use kernels_gpu::reduce::double_accumulator::{Accumulate, Widen};
use kernels_gpu::reduce::*;
use rustwarp::element::Element;

/// The requirements of all rows on an operation.
pub trait Operation<T: Widen>: Accumulate<T> + Compensate<T> {}

impl<T: Widen, O: Accumulate<T> + Compensate<T>> Operation<T> for O {}

/// The launches of a rung, planned in this crate.
pub struct Kernel<T: 'static> {
    /// Dynamic shared memory in elements per thread.
    pub cache: u32,
    /// The scheme of its launches.
    pub scheme: Scheme<T>,
    /// Whether the row lists the entry of the search that all rows launch for `argmax` and `argmin`.
    pub lists_search: bool,
}

impl<T> Kernel<T> {
    /// The entries of the kernels for these block sizes.
    pub(super) fn entries(&self, blocks: &[u32]) -> Vec<Entry> {
        match self.scheme {
            Scheme::Tree { ref kernel, .. } => blocks.iter().map(|&block| Entry::of(kernel.of(block))).collect(),
            Scheme::Pairs(kernel) => vec![Entry::of(kernel)],
            Scheme::GridStride { kernel, .. } | Scheme::Split { kernel, .. } | Scheme::Atomic(kernel) => {
                vec![Entry::of(kernel)]
            }
        }
    }

    /// Sets the dynamic shared memory in elements per thread.
    fn cached(self, cache: u32) -> Self {
        Self { cache, ..self }
    }

    /// Lists the entry of the search.
    fn listing_search(self) -> Self {
        Self { lists_search: true, ..self }
    }
}

impl<T> From<Scheme<T>> for Kernel<T> {
    fn from(scheme: Scheme<T>) -> Self {
        Self { cache: 0, scheme, lists_search: false }
    }
}

/// A launcher that takes the input, and the destination of the results.
pub type Launcher<T> = for<'a> fn(Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;

/// A launcher that takes the input, and the destination of half as many results.
pub type Pairs<T> = for<'a> fn(Slice<'a, T>, SliceMut<'a, T>) -> Call<'a>;

/// The launcher for a block size.
pub enum ForBlock<T: 'static> {
    /// One kernel for every size.
    Any(Launcher<T>),
    /// A kernel for each size that the row's rule allows.
    Each(fn(block: u32) -> Launcher<T>),
}

impl<T> ForBlock<T> {
    /// The launcher for this block size.
    pub(super) fn of(&self, block: u32) -> Launcher<T> {
        match *self {
            Self::Any(kernel) => kernel,
            Self::Each(kernel) => kernel(block),
        }
    }
}

/// The launches that reduce many values to one.
pub enum Scheme<T: 'static> {
    /// Enough blocks for all elements, launched again on the partial results until one is left.
    Tree {
        /// Number of elements that one thread loads.
        per_thread: u32,
        /// Writes `output[block index]`.
        kernel: ForBlock<T>,
    },
    /// A thread for each pair of elements, which writes `output[thread index]`, launched again on the results until one
    /// is left.
    Pairs(Pairs<T>),
    /// A grid that fills the device, then one block for the partial results.
    GridStride {
        /// Number of elements that one thread reads in one round.
        per_thread: u32,
        /// Writes `output[block index]`.
        kernel: Launcher<T>,
    },
    /// As `GridStride` with one element per round, but a block writes two numbers: the result, and its rounding error.
    Split {
        /// Whether sums in the table's type have about twice its precision.
        precise: bool,
        /// Writes `output[2 * block index]` and the next element.
        kernel: Launcher<T>,
    },
    /// A grid that fills the device; every block combines into one output, which is set to the identity first.
    Atomic(Launcher<T>),
}

impl<T> Scheme<T> {
    /// The launch for the whole input; the output is ignored by a scheme with partial results, and these by the other.
    pub(super) fn call<'a>(
        &self,
        block: u32,
        input: Slice<'a, T>,
        partials: PtrMut<'a, T>,
        output: PtrMut<'a, T>,
    ) -> Call<'a> {
        match self {
            Self::Tree { kernel, .. } => kernel.of(block)(input, partials),
            Self::Pairs(kernel) => {
                // SAFETY: the launches borrow the memory of the results, and read it after this one.
                kernel(input, unsafe { SliceMut::new(partials.address(), input.len().div_ceil(2)) })
            }
            Self::GridStride { kernel, .. } | Self::Split { kernel, .. } => kernel(input, partials),
            Self::Atomic(kernel) => kernel(input, output),
        }
    }
}

/// [`Scheme::Tree`] with one kernel for every block size.
fn tree<T>(per_thread: usize, kernel: Launcher<T>) -> Kernel<T> {
    Scheme::Tree { per_thread: per_thread as u32, kernel: ForBlock::Any(kernel) }.into()
}

/// [`Scheme::GridStride`].
fn fill<T>(per_thread: u32, kernel: Launcher<T>) -> Kernel<T> {
    Scheme::GridStride { per_thread, kernel }.into()
}

/// The table.
pub(super) fn rungs<O: Operation<T>, T: Element + Widen>() -> Vec<Rung<Planned<Kernel<T>>>> {
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
            block: BlockRule::WholeWarps { default: double_accumulator::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::Split {
                precise: size_of::<T>() < size_of::<T::Wide>(),
                kernel: double_accumulator::reduce_double_accumulator::<O, T>,
            })),
        },
        Rung {
            name: "compensated",
            idea: compensated::IDEA,
            block: BlockRule::WholeWarps { default: compensated::BLOCK },
            kernel: Planned::Here(Kernel::from(Scheme::Split {
                precise: true,
                kernel: compensated::reduce_compensated::<O, T>,
            })),
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
