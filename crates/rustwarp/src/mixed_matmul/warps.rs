//! Products by single warps, on every GPU from compute capability 8.0 on.

use super::epilogue::Parameters;
use super::factor::{Operand, WARP_TILES, WarpKernel};
use super::stored::{Copies, Request, Stored};
use super::{for_kernels, tile};
use crate::backend::{DeviceInfo, Handle, Shape, View};
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::Sizes;
use cuda_std::launch::{Ptr, PtrMut};
use kernels_gpu::mma::best::{A_UNALIGNED, B_UNALIGNED, BLOCK};
use kernels_gpu::tensor::mixed::pad;
use std::ops::RangeInclusive;

/// Whether a device has the kernels.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm >= 80) && tile::fit(&WARP_TILES, info)
}

/// Rows, columns and lengths of sums of products of bytes for which single warps, which read factors in either storage
/// order, take less time than warpgroups and the copy of a factor (`docs/results/h200/2026-11-26-mma.txt`).
const COPY_COSTS: RangeInclusive<usize> = 512..=2048;

/// Whether single warps are faster than warpgroups.
pub fn pay<T: Operand>(sizes: Sizes) -> bool {
    let Sizes { m, n, k, transposed } = sizes;
    let turned = !T::EITHER && (transposed[0] || !transposed[1]);
    size_of::<T>() == 1 && turned && [m, n, k].iter().all(|n| COPY_COSTS.contains(n))
}

/// A plan.
pub struct Warps<H: Handle> {
    /// `m`, `n`, `k`.
    sizes: [u32; 3],
    factors: [Stored<H>; 2],
    /// The kernel with its launch; that for factors that start anywhere.
    kernels: [(WarpKernel, Shape); 2],
}

impl<H: Handle> Warps<H> {
    /// Plans products of these sizes, by this number of [`WARP_TILES`] or the fastest.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, and for types and devices without kernels,
    /// [`Error::OutOfMemory`] if the device has too little memory for copies of the factors that need one.
    pub fn new<T: Operand>(device: &H, sizes: Sizes, tile: Option<usize>) -> Result<Self> {
        let info = device.backend().info();
        let (Some(kernels), true) = (T::WARP_KERNELS, supports(info)) else {
            let what = format!("single warps do not multiply {} on {}", T::DTYPE, info.name);
            return Err(Error::Argument(format!("{what}: use f16, bf16, f32 or i8, on a GPU of sm_80 or later")));
        };
        let [across_a, across_b] = [sizes.transposed[0], !sizes.transposed[1]];
        let sizes @ [rows, columns, depth] = for_kernels(sizes)?;
        let kernel = |number: usize| {
            let (size, _) = WARP_TILES[number];
            let blocks = require_grid(tile::count(rows, columns, size), "the product", "multiply in parts")?;
            let kernel = kernels[number][usize::from(across_a) * 2 + usize::from(across_b)];
            Ok((kernel, Shape::linear(blocks, BLOCK).with_shared(size.shared)))
        };
        let factor = |lines, across| {
            let multiple = Some(pad::UNIT);
            Stored::new::<T>(device, &Request { lines, depth, across, tile: 0, turns: false, multiple })
        };
        let fastest = || tile::fastest(&WARP_TILES, rows, columns, info.multiprocessors);
        Ok(Self {
            sizes,
            factors: [factor(rows, across_a)?, factor(columns, across_b)?],
            kernels: [kernel(tile.unwrap_or_else(fastest))?, kernel(WARP_TILES.len() - 1)?],
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
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } = epilogue;
        let ([stored_a, stored_b], [rows, columns, depth]) = (&self.factors, self.sizes);
        let copies = [stored_a.prepare(a, Copies::Mma), stored_b.prepare(b, Copies::Mma)];
        let ((a_address, a_pitch), (b_address, b_pitch)) =
            (stored_a.place::<T>(a.address()), stored_b.place::<T>(b.address()));
        let bit = |address: u64, bit: u32| if address.is_multiple_of(16) { 0 } else { bit };
        let unaligned = bit(a_address, A_UNALIGNED) | bit(b_address, B_UNALIGNED);
        let (kernel, shape) = self.kernels[usize::from(unaligned != 0)];
        // SAFETY: the views borrow the memory, of which these are the bytes; so does the plan its copies.
        let (on_a, on_b, out) = unsafe { (Ptr::new(a_address), Ptr::new(b_address), PtrMut::new(product.address())) };
        let call = kernel(
            on_a,
            on_b,
            out,
            rows,
            columns,
            depth,
            a_pitch,
            b_pitch,
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
        let launch = unsafe { Launch::new(call, shape) }.using([a.reads(), b.reads(), product.writes()]);
        let read = self.factors.iter().filter_map(Stored::copy);
        let launch = read.fold(launch, |launch, copy| launch.using([copy.reads()]));
        copies.into_iter().flatten().chain([launch]).collect()
    }
}
