//! Products of f32 matrices at a chosen accuracy: on tensor cores several times as fast, at f32's accuracy for elements
//! that are not too far apart.

use crate::backend::{View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::emulated;
use crate::error::Result;
use crate::matmul::{Batch, Sizes, matmul_into};
use crate::mixed_matmul::{self, mixed_matmul_into};

/// How a product of f32 is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accuracy {
    /// Each product and each sum rounded as f32 (fused multiply-adds).
    #[default]
    F32,
    /// On tensor cores, with elements cut to the first 10 bits of their fractions: [`mixed_matmul`] has the bound. As
    /// [`Accuracy::F32`] on devices without the kernels ([`mixed_matmul::supports`]).
    Tf32,
    /// On tensor cores, at f32's accuracy for elements that are not too far apart: [`emulated`] has the bounds and the
    /// memory that it takes. As [`Accuracy::F32`] on devices without the kernels ([`emulated::supports`]), and for
    /// products where these are not faster ([`emulated::pays`]).
    F32Emulated,
}

/// Writes the product of A and B, computed as `accuracy` says, as [`matmul_into`] does.
///
/// # Errors
/// Those of [`matmul_into`], and [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has too
/// little for slices or copies of the factors.
pub fn matmul_into_with<'a>(
    a: impl Into<View<'a, f32>>,
    b: impl Into<View<'a, f32>>,
    sizes: Sizes,
    accuracy: Accuracy,
    product: impl Into<ViewMut<'a, f32>>,
) -> Result<()> {
    let (a, b, product) = (a.into(), b.into(), product.into());
    match accuracy {
        Accuracy::F32Emulated if emulated::supports(product.device().info()) && emulated::pays(sizes) => {
            b.require_on(product.device(), "B")?;
            emulated::Plan::new(product.device(), sizes)?.launch([a, b], product)
        }
        Accuracy::Tf32 if mixed_matmul::supports(product.device().info()) => {
            mixed_matmul_into::<f32, f32>(a, b, sizes, product)
        }
        _ => matmul_into(a, b, sizes, product),
    }
}

impl Device {
    /// The product of two f32 matrices of this device, computed as `accuracy` says.
    ///
    /// # Errors
    /// Those of [`matmul_into_with`].
    pub fn matmul_with<'a>(
        &self,
        a: impl Into<View<'a, f32>>,
        b: impl Into<View<'a, f32>>,
        sizes: Sizes,
        accuracy: Accuracy,
    ) -> Result<Buffer<f32>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        let mut output = self.uninit::<f32>(Batch::SINGLE.without_gaps(sizes)?)?;
        matmul_into_with(a, b, sizes, accuracy, &mut output)?;
        Ok(output)
    }
}
