//! Products by warpgroups, fed by tensor maps; without tensor cores, by each thread.

use super::epilogue::Parameters;
use super::factor::{Factor, Kernel, Operand, TILES};
use super::stored::{Copies, Request, Stored, map};
use super::{for_kernels, has_warpgroups, tile};
use crate::backend::{Handle, Shape, View};
use crate::element::Scalar;
use crate::error::Result;
use crate::launch::Launch;
use crate::matmul::Sizes;
use cuda_std::launch::{Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::tensor::mixed::epilogue::FINISHED;
use kernels_gpu::tensor::mixed::problem::{A_ACROSS, B_ACROSS, BY_ELEMENTS, PLAIN};
use kernels_gpu::tensor::mixed::product::BLOCK;
use kernels_gpu::tensor::mixed::{COPY_ROWS, pad};

/// Least number of multiplications for which a copy of a factor with rows of whole cache lines costs less than it saves
/// (`docs/results/h200`).
const COPY_PAYS: u128 = 1 << 32;

/// A plan.
pub struct Warpgroups<H: Handle> {
    /// `m`, `n`, `k`.
    sizes: [u32; 3],
    factors: [Stored<H>; 2],
    kernel: Kernel,
    /// The launch on tensor cores; `None` on devices without them, and if nothing is added.
    shape: Option<Shape>,
    /// The launch without them.
    plain: Shape,
    /// Bits for the storage orders of the factors, which PTX for older GPUs reads.
    orders: u32,
}

impl<H: Handle> Warpgroups<H> {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// Those of [`Plan::new`](super::Plan::new).
    pub fn new<T: Operand>(device: &H, sizes: Sizes) -> Result<Self> {
        let (info, Sizes { transposed, .. }) = (device.backend().info(), sizes);
        let sizes @ [rows, columns, depth] = for_kernels(sizes)?;
        let number = tile::fastest(&TILES, rows, columns, info.multiprocessors);
        let (size, _) = TILES[number];
        let tensor = has_warpgroups(info) && depth > 0;
        let tiles = tile::count(rows, columns, size);
        let (blocks, elements) = (u64::from(info.multiprocessors), u64::from(rows) * u64::from(columns));
        let [across_a, across_b] = [transposed[0], !transposed[1]];
        // Copies of boxes whose rows are not whole cache lines take twice the time.
        let large = u128::from(elements).saturating_mul(depth.into()) >= COPY_PAYS;
        let multiple = tensor.then_some(if large { pad::LINE } else { pad::UNIT });
        let factor =
            |lines, across, tile| Request { lines, depth, across, tile, turns: tensor && !T::EITHER, multiple };
        let order = if T::EITHER { usize::from(across_a) * 2 + usize::from(across_b) } else { 0 };
        let orders = (u32::from(across_a) * A_ACROSS) | (u32::from(across_b) * B_ACROSS);
        Ok(Self {
            sizes,
            factors: [
                Stored::new::<T>(device, &factor(rows, across_a, size.rows))?,
                Stored::new::<T>(device, &factor(columns, across_b, size.columns))?,
            ],
            kernel: T::KERNELS[number][order],
            shape: tensor.then(|| Shape::linear(blocks.min(tiles) as u32, BLOCK).with_shared(size.shared)),
            plain: Shape::linear((blocks * 4).min(elements.div_ceil(BLOCK.into())) as u32, BLOCK),
            orders,
        })
    }

    /// The launches that write the product of A and B, in order.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// The matrices have the plan's sizes, and the epilogue its lengths.
    pub unsafe fn prepare<'a, T: Factor<O>, O: Scalar>(
        &'a self,
        device: &H,
        [a, b]: [View<'a, T, H>; 2],
        epilogue: Parameters<'a>,
        product: View<'a, O, H>,
    ) -> Result<Vec<Launch<'a>>> {
        let Parameters { how: finish, alpha, beta, addend, vectors } = epilogue;
        let ([row_scales, column_scales, bias], [rows, columns, depth]) = (vectors, self.sizes);
        let factors = [(&self.factors[0], a), (&self.factors[1], b)];
        let mapped = factors.iter().all(|(stored, view)| stored.has_map(view.address()));
        let whole = (columns as usize * size_of::<O>()).is_multiple_of(pad::UNIT as usize);
        let by_map = whole && product.address().is_multiple_of(16) && finish & FINISHED == 0;
        let none = TensorMap::new([0; 16]);
        let empty = rows == 0 || columns == 0;
        let (mut launches, mut maps, mut shape, mut how) = (Vec::new(), [none; 3], self.plain, PLAIN);
        if let (Some(on_tensor_cores), true, false) = (self.shape, mapped, empty) {
            (how, shape) = (if by_map { 0 } else { BY_ELEMENTS }, on_tensor_cores);
            for (i, (stored, view)) in factors.into_iter().enumerate() {
                launches.extend(stored.prepare(view, Copies::Tensor));
                maps[i] = stored.map::<T>(device, view.address())?;
            }
            if by_map {
                maps[2] = map::<O, H>(device, product.address(), [rows, columns], pad::UNIT, COPY_ROWS)?;
            }
        }
        let [a_map, b_map, c_map] = maps;
        // SAFETY: the views borrow the memory, of which these are the bytes.
        let (on_a, on_b, out) =
            unsafe { (Ptr::new(a.address()), Ptr::new(b.address()), PtrMut::new(product.address())) };
        let how = how | finish | self.orders;
        let call = (self.kernel)(
            a_map,
            b_map,
            c_map,
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
        // SAFETY: by contract the matrices have the plan's sizes, the maps describe them with the kernel's boxes, the
        // launches before write the copies, and block and shared memory are the kernel's.
        let launch = unsafe { Launch::new(call, shape) }.using([a.reads(), b.reads(), product.writes()]);
        let copies = self.factors.iter().filter_map(Stored::copy);
        launches.push(copies.fold(launch, |launch, copy| launch.using([copy.reads()])));
        Ok(launches)
    }
}
