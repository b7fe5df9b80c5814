//! Images of `u8` and `f16`, with masks and sums of `f32`.
//!
//! Only `best` filters them: it converts elements as it reads them, where the others show one idea each.

use super::{FAMILY, by_library, frame, table};
use crate::error::Result;
use crate::kernels::convolution::{Arrays, oracle};
use crate::kernels::entry::Nothing;
use crate::kernels::images;
use crate::kernels::ladder::{Chosen, Ladder, Planned, Run, Rung};
use crate::kernels::{Entry, Job, Oracle, Problem, Work};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::conv2d::Frame;
use kernels_gpu::conv2d::channels::conv2d_channels;
use rustwarp::conv2d::Pixel;
use std::marker::PhantomData;

/// The family for one narrow element type.
pub(super) struct Narrow<T>(PhantomData<T>);

impl<T: Pixel<Tap = f32>> Ladder for Narrow<T> {
    const FAMILY: &'static str = FAMILY.name;
    /// Whether the rung has a kernel.
    type Kernel = bool;
    type Operands<'j> = Arrays<'j, T, Frame, f32>;

    fn rungs() -> Vec<Rung<bool>> {
        let row = |Rung { name, idea, block, kernel }| {
            let kernel = matches!(kernel, Planned::ByLibrary);
            Rung { name, idea, block, kernel }
        };
        table::rungs::<f32>().into_iter().map(row).collect()
    }

    fn entries(rung: &Rung<bool>) -> Vec<Entry> {
        if !rung.kernel {
            return Vec::new();
        }
        // The library uses the kernels of `channels` for three or four of them.
        let (image, mask, frame) = (Slice::nothing(), Slice::nothing(), images::square(1, 1));
        let of_channels = [
            conv2d_channels::<T::Kind, 1>(image, mask, frame, PtrMut::nothing()),
            conv2d_channels::<T::Kind, 3>(image, mask, frame, PtrMut::nothing()),
            conv2d_channels::<T::Kind, 4>(image, mask, frame, PtrMut::nothing()),
        ];
        table::library::<T>().into_iter().chain(of_channels.map(Entry::from)).collect()
    }

    fn refusal(rung: &Rung<bool>, _: Problem<'_>) -> Option<String> {
        (!rung.kernel).then(|| format!("has no kernel for {}", T::DTYPE))
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T, f32>(problem, frame(problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, bool>]) -> Result<Self::Operands<'j>> {
        super::upload(job)
    }

    fn work(image: &Self::Operands<'_>) -> Work {
        image.work()
    }

    fn prepare(image: &Self::Operands<'_>, rung: &Chosen<'_, bool>, run: Run<'_>) -> Result<()> {
        by_library(image, rung, run)
    }
}
