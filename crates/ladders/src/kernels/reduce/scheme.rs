//! The kinds of launches that reduce many values to one, with their kernels.

use super::bound::Bound;
use crate::error::Result;
use crate::kernels::Entry;
use crate::kernels::ladder::{Chosen, Planned};
use crate::kernels::plan::Plan;
use cuda_std::launch::{Call, PtrMut, Slice, SliceMut};
use kernels_gpu::reduce::two_sum::Pair;
use rustwarp::backend::Buffer;

/// The launches of a row of the table.
pub(super) type Table<T> = Planned<Kernel<T>>;

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
            Scheme::GridStride { kernel, .. } | Scheme::Atomic(kernel) => vec![Entry::of(kernel)],
            Scheme::OneBlock(kernel) => vec![Entry::of(kernel)],
            Scheme::LastBlock { kernel, .. } => vec![Entry::of(kernel)],
            Scheme::ByPlan(ref plan) => vec![(plan.entry)()],
            Scheme::Missing => Vec::new(),
        }
    }

    /// Sets the dynamic shared memory in elements per thread.
    pub(super) fn cached(self, cache: u32) -> Self {
        Self { cache, ..self }
    }

    /// Lists the entry of the search.
    pub(super) fn listing_search(self) -> Self {
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

/// A launcher that takes the input, the words of [`gather`](kernels_gpu::reduce::gather) for results of up to
/// [`PARTIAL`] bytes, and the output.
pub type LastBlock<T> = for<'a> fn(Slice<'a, T>, PtrMut<'a, u64>, PtrMut<'a, T>) -> Call<'a>;

/// Largest size of the result of a block of a [`Scheme::LastBlock`] in bytes.
pub const PARTIAL: usize = 16;

const _: () = assert!(size_of::<Pair<f64>>() <= PARTIAL && size_of::<f64>() <= PARTIAL);

/// A function that takes a plan and the memory of its value.
pub(super) type RunValue<'r, T> = &'r mut dyn FnMut(Plan<'_>, &Buffer<'_, T>) -> Result<()>;

/// Plans the reduction of the first elements of a buffer.
type Prepare<T> = fn(&Chosen<'_, Table<T>>, &Buffer<'_, T>, usize, RunValue<'_, T>) -> Result<()>;

/// A plan of the library whose sum has fixed bits.
pub struct ByPlan<T: 'static> {
    /// Its kernel's entry.
    pub entry: fn() -> Entry,
    /// Bytes of scratch memory for this number of elements.
    pub bytes: fn(usize) -> u64,
    /// The sum on the CPU, with the same bits.
    pub sum: fn(&[T]) -> T,
    /// Plans the sum of the first elements, and passes the plan on with the memory of the value.
    pub(super) prepare: Prepare<T>,
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
    /// As `best`: a grid that fills the device, of which the block that starts last combines the results of all.
    LastBlock {
        /// Error bound of its sums.
        bound: Bound,
        /// Blocks per multiprocessor.
        blocks_per_sm: u32,
        /// Writes `output[0]`.
        kernel: LastBlock<T>,
    },
    /// One block, with shared memory for all elements in the slots of `sorted`, and one thread that adds them.
    OneBlock(Launcher<T>),
    /// The library's.
    ByPlan(ByPlan<T>),
    /// None: the row has no kernel for this operation and type.
    Missing,
    /// A grid that fills the device; every block combines into one output, which is set to the identity first.
    Atomic(Launcher<T>),
}

impl<T> Scheme<T> {
    /// The error bound of its sums of floats.
    pub(super) fn bound(&self) -> Bound {
        match self {
            Self::LastBlock { bound, .. } => *bound,
            Self::OneBlock(_) => Bound::Sorted,
            _ => Bound::Plain,
        }
    }

    /// The launch for the whole input; the output is ignored by a scheme that launches again on partial results, and
    /// these by the atomic one. Only the last block takes words. `None` if it is not planned here.
    pub(super) fn call<'a>(
        &self,
        block: u32,
        input: Slice<'a, T>,
        partials: PtrMut<'a, T>,
        words: PtrMut<'a, u64>,
        output: PtrMut<'a, T>,
    ) -> Option<Call<'a>> {
        Some(match self {
            Self::Tree { kernel, .. } => kernel.of(block)(input, partials),
            Self::Pairs(kernel) => {
                // SAFETY: the launches borrow the memory of the results, and read it after this one.
                kernel(input, unsafe { SliceMut::new(partials.address(), input.len().div_ceil(2)) })
            }
            Self::GridStride { kernel, .. } | Self::OneBlock(kernel) => kernel(input, partials),
            Self::LastBlock { kernel, .. } => kernel(input, words, output),
            Self::Atomic(kernel) => kernel(input, output),
            Self::ByPlan(_) | Self::Missing => return None,
        })
    }
}
