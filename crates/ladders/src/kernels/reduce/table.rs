//! The variants of `reduce`, one row each: the ladder first, then other forms, `best` last. A new variant is a new row.

use crate::kernels::ladder::Rung;
use crate::kernels::{BlockRule, Entry};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::compensated::Compensate;
use kernels_gpu::reduce::double_accumulator::{Accumulate, Widen};
use kernels_gpu::reduce::*;
use rustwarp::element::Element;

/// The requirements of all rows on an operation.
pub trait Operation<T: Widen>: Accumulate<T> + Compensate<T> {}

impl<T: Widen, O: Accumulate<T> + Compensate<T>> Operation<T> for O {}

/// The launches of a rung.
pub struct Kernel<T: 'static> {
    /// Dynamic shared memory in elements per thread.
    pub cache: u32,
    /// The scheme of its launches.
    pub scheme: Scheme<T>,
}

impl<T> Kernel<T> {
    /// The entries of the kernels for these block sizes.
    pub(super) fn entries(&self, blocks: &[u32]) -> Vec<Entry> {
        match self.scheme {
            Scheme::Tree { kernel, .. }
            | Scheme::Pairs { kernel }
            | Scheme::GridStride { kernel, .. }
            | Scheme::Split { kernel, .. }
            | Scheme::Atomic { kernel } => {
                blocks.iter().map(|&block| Entry::of(move |input, output| kernel(block, input, output))).collect()
            }
            Scheme::Single { kernel, .. } => vec![Entry::of(kernel)],
        }
    }
}

/// A launcher that takes the block size, the input, and the destination of each block's partial result.
pub type PerBlock<T> = for<'a> fn(u32, Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes input, partial results, ticket, and output.
pub type Ticketed<T> = for<'a> fn(Slice<'a, T>, PtrMut<'a, T>, PtrMut<'a, u32>, PtrMut<'a, T>) -> Call<'a>;

/// The launches that reduce many values to one.
pub enum Scheme<T: 'static> {
    /// Enough blocks for all elements, launched again on the partial results until one is left.
    Tree {
        /// Number of elements that one thread loads.
        per_thread: u32,
        /// Writes `output[block index]`.
        kernel: PerBlock<T>,
    },
    /// A thread for each pair of elements, launched again on the results until one is left.
    Pairs {
        /// Writes `output[thread index]`.
        kernel: PerBlock<T>,
    },
    /// A grid that fills the device, then one block for the partial results.
    GridStride {
        /// Number of elements that one thread reads in one round.
        per_thread: u32,
        /// Writes `output[block index]`.
        kernel: PerBlock<T>,
    },
    /// As `GridStride` with one element per round, but a block writes two numbers: the result, and its rounding error.
    Split {
        /// Whether sums in the table's type have about twice its precision.
        precise: bool,
        /// Writes `output[2 * block index]` and the next element.
        kernel: PerBlock<T>,
    },
    /// A grid that fills the device; every block combines into one output, which is set to the identity first.
    Atomic {
        /// Combines into `output[0]`.
        kernel: PerBlock<T>,
    },
    /// A grid that fills the device; the last block to finish reduces the partial results.
    Single {
        /// Number of blocks per multiprocessor.
        blocks_per_sm: u32,
        /// Number of elements that one thread reads in one round.
        per_thread: u32,
        /// Leaves the ticket at 0.
        kernel: Ticketed<T>,
    },
}

impl<T> Scheme<T> {
    /// The launch for the whole input; arguments that a scheme does not use are ignored.
    pub(super) fn call<'a>(
        &self,
        block: u32,
        input: Slice<'a, T>,
        partials: PtrMut<'a, T>,
        ticket: PtrMut<'a, u32>,
        output: PtrMut<'a, T>,
    ) -> Call<'a> {
        match self {
            Self::Tree { kernel, .. }
            | Self::Pairs { kernel }
            | Self::GridStride { kernel, .. }
            | Self::Split { kernel, .. } => kernel(block, input, partials),
            Self::Atomic { kernel } => kernel(block, input, output),
            Self::Single { kernel, .. } => kernel(input, partials, ticket, output),
        }
    }
}

/// The table.
pub fn rungs<O: Operation<T>, T: Element + Widen>() -> Vec<Rung<Kernel<T>>> {
    vec![
        Rung {
            name: "interleaved",
            idea: interleaved::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: interleaved::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: 1,
                    kernel: |_, input, output| interleaved::reduce_interleaved::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "interleaved_strided",
            idea: interleaved_strided::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: interleaved_strided::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: 1,
                    kernel: |_, input, output| interleaved_strided::reduce_interleaved_strided::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "sequential",
            idea: sequential::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: sequential::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: 1,
                    kernel: |_, input, output| sequential::reduce_sequential::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "first_add",
            idea: first_add::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: first_add::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: first_add::PER_THREAD as u32,
                    kernel: |_, input, output| first_add::reduce_first_add::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "unroll_last_warp",
            idea: unroll_last_warp::IDEA,
            block: BlockRule::PowerOfTwo { min: 64, default: unroll_last_warp::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: unroll_last_warp::PER_THREAD as u32,
                    kernel: |_, input, output| unroll_last_warp::reduce_unroll_last_warp::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "unrolled",
            idea: unrolled::IDEA,
            block: BlockRule::OneOf { sizes: &unrolled::BLOCKS, default: unrolled::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::Tree {
                    per_thread: unrolled::PER_THREAD as u32,
                    kernel: |block, input, output| match block {
                        128 => unrolled::reduce_unrolled::<O, T, 128>(input, output),
                        256 => unrolled::reduce_unrolled::<O, T, 256>(input, output),
                        _ => unrolled::reduce_unrolled::<O, T, 512>(input, output),
                    },
                },
            },
        },
        Rung {
            name: "many_per_thread",
            idea: many_per_thread::IDEA,
            block: BlockRule::PowerOfTwo { min: 64, default: many_per_thread::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::GridStride {
                    per_thread: 2,
                    kernel: |_, input, output| many_per_thread::reduce_many_per_thread::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "pairwise",
            idea: pairwise::IDEA,
            block: BlockRule::Any { default: pairwise::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Pairs { kernel: |_, input, output| pairwise::reduce_pairwise::<O, T>(input, output) },
            },
        },
        Rung {
            name: "divide_and_conquer",
            idea: divide_and_conquer::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: divide_and_conquer::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::GridStride {
                    per_thread: 1,
                    kernel: |_, input, output| divide_and_conquer::reduce_divide_and_conquer::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "kogge_stone",
            idea: kogge_stone::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: kogge_stone::BLOCK },
            kernel: Kernel {
                cache: 2,
                scheme: Scheme::Tree {
                    per_thread: 1,
                    kernel: |_, input, output| kogge_stone::reduce_kogge_stone::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "grid_stride",
            idea: grid_stride::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: grid_stride::BLOCK },
            kernel: Kernel {
                cache: 1,
                scheme: Scheme::GridStride {
                    per_thread: 1,
                    kernel: |_, input, output| grid_stride::reduce_grid_stride::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "hierarchical",
            idea: hierarchical::IDEA,
            block: BlockRule::WholeWarps { default: hierarchical::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Tree {
                    per_thread: hierarchical::PER_THREAD as u32,
                    kernel: |_, input, output| hierarchical::reduce_hierarchical::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "double_accumulator",
            idea: double_accumulator::IDEA,
            block: BlockRule::WholeWarps { default: double_accumulator::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Split {
                    precise: size_of::<T>() < size_of::<T::Wide>(),
                    kernel: |_, input, output| double_accumulator::reduce_double_accumulator::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "compensated",
            idea: compensated::IDEA,
            block: BlockRule::WholeWarps { default: compensated::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Split {
                    precise: true,
                    kernel: |_, input, output| compensated::reduce_compensated::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "warp_shuffle",
            idea: warp_shuffle::IDEA,
            block: BlockRule::WholeWarps { default: warp_shuffle::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::GridStride {
                    per_thread: 1,
                    kernel: |_, input, output| warp_shuffle::reduce_warp_shuffle::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "warp_intrinsic",
            idea: warp_intrinsic::IDEA,
            block: BlockRule::WholeWarps { default: warp_intrinsic::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::GridStride {
                    per_thread: 1,
                    kernel: |_, input, output| warp_intrinsic::reduce_warp_intrinsic::<O, T>(input, output),
                },
            },
        },
        Rung {
            name: "atomic",
            idea: atomic::IDEA,
            block: BlockRule::WholeWarps { default: atomic::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Atomic { kernel: |_, input, output| atomic::reduce_atomic::<O, T>(input, output) },
            },
        },
        Rung {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::WholeWarps { default: best::BLOCK },
            kernel: Kernel {
                cache: 0,
                scheme: Scheme::Single {
                    blocks_per_sm: best::BLOCKS_PER_SM,
                    per_thread: 4,
                    kernel: |input, partials, ticket, output| {
                        best::reduce_best::<O, T>(input, partials, ticket, output)
                    },
                },
            },
        },
    ]
}
