//! Products by single warps, on every GPU from compute capability 8.0 on.

use super::factor::{ANYWHERE, Operand, WARP_TILES, WarpKernel};
use super::parts::{self, Parts};
use super::problem::Problem;
use super::stored::{Copies, Place, Request, Stored};
use super::{Forced, tile};
use crate::backend::{DeviceInfo, Handle, Shape, View};
use crate::element::Scalar;
use crate::epilogue::Parameters;
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::Sizes;
use cuda_std::launch::{Ptr, PtrMut};
use kernels_gpu::mma::best::{A_UNALIGNED, B_UNALIGNED, BLOCK};
use kernels_gpu::tensor::mixed::pad::{self, UNIT};
use std::ops::RangeInclusive;

/// Whether a device has the kernels.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm >= 80) && tile::fit(&WARP_TILES, info)
}

/// Rows, columns and lengths of sums of products of bytes for which single warps, which read factors in either storage
/// order, take less time than warpgroups and the copy of a factor (`docs/results/h200/2026-11-26-mma.txt`).
const COPY_COSTS: RangeInclusive<usize> = 512..=2048;

/// Most multiplications of a small product, times the bytes of an element. Single warps compute it sooner than
/// warpgroups, whose copies and stores by tensor maps take longer to start (`docs/results/h200/2026-11-30-brief.txt`).
const MOST_WORK: u64 = 1 << 27;

/// The same, if warpgroups need a turned copy of a factor.
const MOST_WORK_TURNED: u64 = 1 << 29;

/// Most bytes of the depth of a small product.
const MOST_DEPTH: u64 = 4096;

/// Most bytes of its factors: memory limits larger ones, from which warpgroups read sooner.
const MOST_BYTES: u64 = 2 << 20;

/// Most elements of it.
const MOST_ELEMENTS: u64 = 1 << 20;

/// Whether single warps are faster than warpgroups for a batch of `count` products.
pub fn pay<T: Operand>(sizes: Sizes, count: usize) -> bool {
    let turned = !T::EITHER && (sizes.transposed[0] || !sizes.transposed[1]);
    let lengths = [sizes.m, sizes.n, sizes.k];
    count == 1 && is_small::<T>(sizes, turned) && (turned || !pads_more::<T>(sizes))
        || size_of::<T>() == 1 && turned && lengths.iter().all(|n| COPY_COSTS.contains(n))
}

fn is_small<T>(sizes: Sizes, turned: bool) -> bool {
    let [m, n, k] = [sizes.m, sizes.n, sizes.k].map(|n| n as u64);
    let (elements, depth) = (m.saturating_mul(n), k.saturating_mul(size_of::<T>() as u64));
    depth <= MOST_DEPTH
        && elements <= MOST_ELEMENTS
        && m.saturating_add(n).saturating_mul(depth) <= MOST_BYTES
        && elements.saturating_mul(depth) <= if turned { MOST_WORK_TURNED } else { MOST_WORK }
}

/// Whether single warps copy a factor that warpgroups read as it is: one whose rows start on units of 16 bytes, but do
/// not consist of them.
fn pads_more<T>(sizes: Sizes) -> bool {
    let in_units = |elements: usize| (elements * size_of::<T>()).is_multiple_of(UNIT as usize);
    let [a, b, _] = sizes.stored().map(|[_, columns]| columns);
    let [pitch_a, pitch_b, _] = sizes.leading_dimensions;
    [(a, pitch_a), (b, pitch_b)].iter().any(|&(row, pitch)| pitch > 0 && in_units(pitch) && !in_units(row))
}

/// A plan.
pub struct Warps<H: Handle> {
    problem: Problem,
    factors: [Stored<H>; 2],
    across: [bool; 2],
    parts: Option<Parts<H>>,
    /// The kernel with its launch; that for factors that start anywhere.
    kernels: [(WarpKernel, Shape); 2],
}

impl<H: Handle> Warps<H> {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] for types and devices without kernels and for more blocks than a grid has,
    /// [`Error::OutOfMemory`] if the device has too little memory for copies of the factors that need one, and for sums
    /// of parts.
    pub fn new<T: Operand>(device: &H, problem: Problem, transposed: [bool; 2], forced: Forced) -> Result<Self> {
        let info = device.backend().info();
        let (Some(kernels), true) = (T::WARP_KERNELS, supports(info)) else {
            let what = format!("single warps do not multiply {} on {}", T::DTYPE, info.name);
            return Err(Error::Argument(format!("{what}: use f16, bf16, f32 or i8, on a GPU of sm_80 or later")));
        };
        let across @ [across_a, across_b] = [transposed[0], !transposed[1]];
        let choice = forced.choose::<T>(&WARP_TILES, tile::LAUNCH, &problem, info);
        let parts = Parts::new(device, &problem, choice.part, kernels.join)?;
        let products = parts.as_ref().map_or(problem, |parts| parts.problem(&problem));
        let kernel = |number: usize| {
            let (size, _) = WARP_TILES[number];
            let blocks = require_grid(tile::count(&products, size), "the product", "multiply in parts")?;
            let kernel = kernels.products[number][usize::from(across_a) * 2 + usize::from(across_b)];
            Ok((kernel, Shape::linear(blocks, BLOCK).with_shared(size.shared)))
        };
        let factor = |factor: usize, lines| {
            let ((count, step), multiple) = (problem.matrices(factor), Some(pad::UNIT));
            let (depth, pitch, across) = (problem.depth, problem.pitches[factor], across[factor]);
            let (tile, turns) = (0, false);
            let request = Request { lines, depth, count, step, pitch, across, tile, turns, multiple };
            Stored::new::<T>(device, &request)
        };
        Ok(Self {
            problem,
            factors: [factor(0, problem.rows)?, factor(1, problem.columns)?],
            across,
            kernels: [kernel(choice.tile)?, kernel(ANYWHERE)?],
            parts,
        })
    }

    /// The launches that write the product of A and B, in order.
    ///
    /// # Safety
    /// The matrices have the plan's sizes, and the epilogue its lengths.
    pub unsafe fn prepare<'a, T: Operand, O: Scalar>(
        &'a self,
        [a, b]: [View<'a, T, H>; 2],
        epilogue: Parameters<'a>,
        product: View<'a, O, H>,
    ) -> Vec<Launch<'a>> {
        let [stored_a, stored_b] = &self.factors;
        let copies = [stored_a.prepare(a, Copies::Mma), stored_b.prepare(b, Copies::Mma)];
        let places = [stored_a.place::<T>(a.address()), stored_b.place::<T>(b.address())];
        let (written, out) = match &self.parts {
            Some(parts) => (parts.sums.writes(), parts.sums.address()),
            None => (product.writes(), product.address()),
        };
        // SAFETY: the caller upholds this function's contract; the sums of parts have room.
        let launch = unsafe { self.products::<T>(places, epilogue, out) };
        let launch = launch.using([a.reads(), b.reads(), written]);
        let read = self.factors.iter().filter_map(Stored::copy);
        let launch = read.fold(launch, |launch, copy| launch.using([copy.reads()]));
        // SAFETY: the launch before writes the sums; the rest is this function's contract.
        let join = self.parts.as_ref().map(|parts| unsafe { parts.prepare(&self.problem, epilogue, product) });
        copies.into_iter().flatten().chain([launch]).chain(join).collect()
    }

    /// The launch that multiplies the factors at these places.
    ///
    /// # Safety
    /// The matrices are there, and at `out` room for the products, or the sums of their parts.
    unsafe fn products<'a, T: Operand>(&self, [a, b]: [Place; 2], epilogue: Parameters<'a>, out: u64) -> Launch<'a> {
        let (epilogue, part, products) = match &self.parts {
            Some(parts) => (parts::of_sums(), parts.part, parts.problem(&self.problem)),
            None => (epilogue, 0, self.problem),
        };
        let Problem { rows, columns, depth, steps: [.., out_step], pitches: [.., pitch], .. } = products;
        let [mut a_step, mut b_step] = [a.step, b.step];
        if self.parts.is_some() {
            // The next part of a factor that lies across the depth is some rows further on, of another some elements.
            let step = |across, pitch: u32| u64::from(part) * if across { u64::from(pitch) } else { 1 };
            [a_step, b_step] = [step(self.across[0], a.pitch), step(self.across[1], b.pitch)];
        }
        let size = size_of::<T>() as u64;
        let bit = |place: &Place, step: u64, bit: u32| {
            if place.address.is_multiple_of(16) && (step * size).is_multiple_of(16) { 0 } else { bit }
        };
        let unaligned = bit(&a, a_step, A_UNALIGNED) | bit(&b, b_step, B_UNALIGNED);
        let (kernel, shape) = self.kernels[usize::from(unaligned != 0)];
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } = epilogue;
        // SAFETY: by contract the matrices are there.
        let (on_a, on_b, out) = unsafe { (Ptr::new(a.address), Ptr::new(b.address), PtrMut::new(out)) };
        let call = kernel(
            on_a,
            on_b,
            out,
            rows,
            columns,
            depth,
            part,
            [a_step, b_step, out_step],
            [a.pitch, b.pitch, pitch],
            how | unaligned,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: by contract the matrices have the plan's sizes, the launches before write the copies; grid, block and
        // shared memory are the kernel's.
        unsafe { Launch::new(call, shape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Sizes of `docs/results/h200/2026-11-30-brief.txt`, and others that differ from them in one way.
    #[test]
    fn small_products_pay() {
        let along = |m, n, k| Sizes { m, n, k, transposed: [false, true], ..Sizes::default() };
        for n in [64, 128, 256, 384] {
            assert!(pay::<bf16>(along(n, n, n), 1), "{n}");
        }
        assert!(pay::<bf16>(along(256, 256, 1024), 1) && pay::<f16>(along(1024, 1024, 64), 1));
        assert!(pay::<i8>(along(512, 512, 512), 1));
        let padded = Sizes { leading_dimensions: [104, 104, 0], ..along(64, 64, 100) };
        assert!(!pay::<bf16>(padded, 1), "single warps would copy both");
        assert!(pay::<bf16>(along(64, 64, 100), 1), "warpgroups copy both, too");
        // The work, the depth, the elements, and the bytes of the factors.
        let others = [along(512, 512, 512), along(32, 32, 2049), along(4096, 4096, 1), along(16, 4096, 1024)];
        for sizes in others {
            assert!(!pay::<bf16>(sizes, 1), "{sizes:?}");
        }
        assert!(!pay::<bf16>(along(64, 64, 64), 2), "batches were not measured");
        let across = |n| Sizes { m: n, n, k: n, ..Sizes::default() };
        assert!(pay::<f32>(across(512), 1) && !pay::<f32>(along(512, 512, 512), 1) && !pay::<f32>(across(513), 1));
        assert!(pay::<i8>(across(64), 1));
    }
}
