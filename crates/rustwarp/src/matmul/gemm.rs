//! BLAS's operation: a product that is scaled and added to a matrix.

use super::sizes::{elements, small};
use super::{Batch, Plan, Real, Sizes};
use crate::backend::{Shape, View, ViewMut};
use crate::error::Result;
use crate::launch::Launch;
use crate::ptx::library;
use kernels_gpu::matmul::scaled::{BLOCK, matmul_scaled};

/// Most blocks that add products to matrices; their warps then have several rows.
const BLOCKS: u64 = 4096;

/// `c = alpha * a * b + beta * c`, without waiting, in the stream of the device of `c`: what BLAS calls `gemm`, for
/// row-major matrices, of a batch or of [`Batch::SINGLE`]. With a `beta` of 0, `c` is not read: what is there may be
/// NaN.
///
/// With an `alpha` of 1 and a `beta` of 0 this is [`matmul_batched_into`](super::matmul_batched_into). Otherwise the
/// product takes memory of its own until the call has run, and a second launch adds it to `c`. The error is at most
/// `(K + 2) * epsilon * (sum of |alpha| |a| |b| + |beta| |c|)`.
///
/// ```
/// use rustwarp::Device;
/// use rustwarp::matmul::{Batch, Sizes, gemm};
///
/// let device = Device::sim()?;
/// let (a, b) = (device.upload(&[1.0_f32, 2.0])?, device.upload(&[3.0_f32, 4.0])?);
/// let mut c = device.upload(&[100.0_f32])?;
/// gemm(2.0, &a, &b, 1.0, &mut c, Sizes { m: 1, n: 1, k: 2, ..Sizes::default() }, Batch::SINGLE)?;
/// assert_eq!(c.download()?, [2.0 * (1.0 * 3.0 + 2.0 * 4.0) + 100.0]);
/// # Ok::<(), rustwarp::Error>(())
/// ```
///
/// # Errors
/// Those of [`matmul_batched_into`](super::matmul_batched_into), and
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has no room for the product.
pub fn gemm<'a, T: Real>(
    alpha: T,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    beta: T,
    c: impl Into<ViewMut<'a, T>>,
    sizes: Sizes,
    batch: Batch,
) -> Result<()> {
    let (a, b, c) = (a.into(), b.into(), c.into());
    let device = c.device();
    if alpha.to_f64() == 1.0 && beta.to_f64() == 0.0 {
        return Plan::batched(device, sizes, batch, None)?.launch([a, b], c);
    }
    let ([.., span], [.., pitch]) = (batch.spans(sizes)?, sizes.pitches()?);
    c.as_view().require_output(device, span, &[a.span(), b.span()])?;
    let [of_a, of_b, _] = sizes.leading_dimensions;
    let tight = Sizes { leading_dimensions: [of_a, of_b, 0], ..sizes };
    let [step_a, step_b, step] = batch.steps;
    let products = Batch::new(batch.count, [step_a, step_b, elements(sizes.m, sizes.n)?]);
    let mut product = device.uninit::<T>(products.spans(tight)?[2])?;
    Plan::batched(device, tight, products, None)?.launch([a, b], &mut product)?;
    let [rows, columns, pitch] = small([sizes.m, sizes.n, pitch])?;
    let [count, ..] = small([batch.count, 0, 0])?;
    let product = View::from(&product);
    let (from, to) = (product.slice(product.len()), c.as_view().ptr());
    let call = matmul_scaled::<T>(from, to, count, rows, columns, step as u64, pitch, alpha, beta);
    let warps = u64::from(count) * u64::from(rows);
    let blocks = warps.div_ceil(u64::from(BLOCK / 32)).min(BLOCKS) as u32;
    // SAFETY: the products and the matrices have these sizes, and the kernel takes any number of blocks.
    let launch = unsafe { Launch::new(call, Shape::linear(blocks, BLOCK)) };
    device.run(&library::MATMUL, &launch.using([product.reads(), c.as_view().writes()]))
}
