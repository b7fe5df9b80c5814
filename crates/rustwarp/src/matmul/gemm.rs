//! BLAS's operation: a product that is scaled and added to a matrix.

use super::{Batch, Epilogue, Plan, Real, Sizes};
use crate::backend::{View, ViewMut};
use crate::error::Result;

/// `c = alpha * a * b + beta * c`, without waiting, in the stream of the device of `c`: what BLAS calls `gemm`, for
/// row-major matrices, of a batch or of [`Batch::SINGLE`]. With a `beta` of 0, `c` is not read: what is there may be
/// NaN.
///
/// It is one launch, of [`Plan::launch_with`]. The error is at most
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
/// Those of [`matmul_batched_into`](super::matmul_batched_into).
pub fn gemm<'a, T: Real>(
    alpha: T,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    beta: T,
    c: impl Into<ViewMut<'a, T>>,
    sizes: Sizes,
    batch: Batch,
) -> Result<()> {
    let c = c.into();
    let epilogue = Epilogue { alpha, beta, ..Epilogue::default() };
    Plan::batched(c.device(), sizes, batch, None)?.launch_with([a.into(), b.into()], &epilogue, c)
}
