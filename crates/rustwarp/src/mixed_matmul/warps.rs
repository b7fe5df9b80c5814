//! Products by single warps, on every GPU from compute capability 8.0 on.

use super::epilogue::Parameters;
use super::factor::{Operand, WARP_TILES, WarpKernel};
use super::for_kernels;
use crate::backend::{DeviceInfo, Handle, Shape, View};
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::Sizes;
use cuda_std::launch::{Ptr, PtrMut};
use kernels_gpu::mma::best::{A_UNALIGNED, B_UNALIGNED, BLOCK, Size};

/// Whether a device has the kernels.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm >= 80) && WARP_TILES.iter().all(|(tile, _)| tile.shared <= info.max_shared)
}

/// A plan.
pub struct Warps {
    /// `m`, `n`, `k`.
    sizes: [u32; 3],
    kernel: WarpKernel,
    shape: Shape,
    /// Bits of the factors whose rows do not start at multiples of 16 bytes.
    unaligned: u32,
}

impl Warps {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, and for types and devices without kernels.
    pub fn new<T: Operand>(info: &DeviceInfo, sizes: Sizes) -> Result<Self> {
        let (Some(kernels), true) = (T::WARP_KERNELS, supports(info)) else {
            let what = format!("single warps do not multiply {} on {}", T::DTYPE, info.name);
            return Err(Error::Argument(format!("{what}: use another type, or a GPU of compute capability 8.0")));
        };
        let [across_a, across_b] = [sizes.transposed[0], !sizes.transposed[1]];
        let sizes @ [rows, columns, depth] = for_kernels(sizes)?;
        let (tile, size) = fastest(rows, columns, info.multiprocessors);
        let blocks = require_grid(tiles(rows, columns, size), "the product", "multiply in parts")?;
        let unaligned = |row: u32, bit: u32| if aligned(u64::from(row) * size_of::<T>() as u64) { 0 } else { bit };
        Ok(Self {
            sizes,
            kernel: kernels[tile][usize::from(across_a) * 2 + usize::from(across_b)],
            shape: Shape::linear(blocks, BLOCK).with_shared(size.shared),
            unaligned: unaligned(if across_a { rows } else { depth }, A_UNALIGNED)
                | unaligned(if across_b { columns } else { depth }, B_UNALIGNED),
        })
    }

    /// The launch that writes the product of A and B.
    ///
    /// # Safety
    /// The matrices have the plan's sizes, and the epilogue its lengths.
    pub unsafe fn prepare<'a, T: Operand, O: Scalar, H: Handle>(
        &self,
        [a, b]: [View<'a, T, H>; 2],
        epilogue: Parameters<'a>,
        product: View<'a, O, H>,
    ) -> Launch<'a> {
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } = epilogue;
        let [rows, columns, depth] = self.sizes;
        let starts = |address: u64, bit: u32| if aligned(address) { 0 } else { bit };
        let how = how | self.unaligned | starts(a.address(), A_UNALIGNED) | starts(b.address(), B_UNALIGNED);
        // SAFETY: the views borrow the memory, of which these are the bytes.
        let (on_a, on_b, out) =
            unsafe { (Ptr::new(a.address()), Ptr::new(b.address()), PtrMut::new(product.address())) };
        let call = (self.kernel)(
            on_a,
            on_b,
            out,
            rows,
            columns,
            depth,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: by contract the matrices have the plan's sizes; grid, block and shared memory are the kernel's.
        unsafe { Launch::new(call, self.shape) }.using([a.reads(), b.reads(), product.writes()])
    }
}

/// Whether an address or a distance is a multiple of 16 bytes.
fn aligned(bytes: u64) -> bool {
    bytes.is_multiple_of(16)
}

/// Blocks that compute the product.
fn tiles(rows: u32, columns: u32, size: Size) -> u64 {
    u64::from(rows.div_ceil(size.rows)) * u64::from(columns.div_ceil(size.columns))
}

/// The number of the size with which the busiest multiprocessor finishes first, and the size.
fn fastest(rows: u32, columns: u32, multiprocessors: u32) -> (usize, Size) {
    let time = |(size, speed): (Size, f64)| -> f64 {
        let rounds = tiles(rows, columns, size).div_ceil(multiprocessors.into());
        rounds as f64 * f64::from(size.rows * size.columns) / speed
    };
    let number = (1..WARP_TILES.len())
        .fold(0, |best, size| if time(WARP_TILES[size]) < time(WARP_TILES[best]) { size } else { best });
    (number, WARP_TILES[number].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fill_the_device() {
        let columns = |n: u32| fastest(n, n, 132).1.columns;
        assert_eq!([8192, 4096, 2048, 1024, 512].map(columns), [256, 256, 256, 64, 64]);
    }
}
