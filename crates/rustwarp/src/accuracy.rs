//! Products of f32 matrices at a chosen [`Accuracy`]: on tensor cores several times as fast, at f32's accuracy for
//! elements that are not too far apart.
//!
//! [`Plan`] takes the same at each accuracy: batches, matrices stored transposed and as
//! parts of larger ones, and an [`Epilogue`] in the launch of the product. [`Device::matmul_with`] and
//! [`matmul_into_with`] compute a single product as it is.
//!
//! ```
//! use rustwarp::accuracy::{Accuracy, Plan};
//! use rustwarp::matmul::{Batch, Epilogue, Sizes};
//! use rustwarp::{Device, View};
//!
//! let device = Device::sim()?;
//! // Two products that share B, with a bias for each column.
//! let sizes = Sizes { m: 1, n: 2, k: 2, ..Sizes::default() };
//! let batch = Batch::contiguous(2, sizes)?.sharing(1);
//! let a = device.upload(&[1.0_f32, 2.0, 3.0, 4.0])?;
//! let b = device.upload(&[1.0_f32, 2.0, 3.0, 4.0])?;
//! let (bias, mut c) = (device.upload(&[0.5_f32, -1.0])?, device.uninit(4)?);
//! let epilogue = Epilogue { bias: Some(View::from(&bias)), ..Epilogue::default() };
//! Plan::batched(&device, sizes, batch, Accuracy::Tf32)?.launch_with([&a, &b], &epilogue, &mut c)?;
//! assert_eq!(c.download()?, [7.5, 9.0, 15.5, 21.0]);
//! # Ok::<(), rustwarp::Error>(())
//! ```

use crate::backend::{View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::emulated;
use crate::error::Result;
use crate::matmul::{self, Batch, Epilogue, Sizes};
use crate::mixed_matmul;

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

/// A product of f32 matrices of one size, or a batch, at an accuracy, with its scratch memory. It can be launched any
/// number of times.
pub struct Plan {
    way: Way,
}

enum Way {
    F32(matmul::Plan<f32>),
    Tf32(mixed_matmul::Plan<f32>),
    F32Emulated(emulated::Plan),
}

impl Plan {
    /// Plans products of these sizes: [`Plan::batched`] for one product.
    ///
    /// # Errors
    /// Those of [`Plan::batched`].
    pub fn new(device: &Device, sizes: Sizes, accuracy: Accuracy) -> Result<Self> {
        Self::batched(device, sizes, Batch::SINGLE, accuracy)
    }

    /// Plans batches of products.
    ///
    /// # Errors
    /// Those of [`matmul::Plan::batched`], [`mixed_matmul::Plan::batched`] or [`emulated::Plan::batched`].
    pub fn batched(device: &Device, sizes: Sizes, batch: Batch, accuracy: Accuracy) -> Result<Self> {
        let has = match accuracy {
            Accuracy::F32 => true,
            Accuracy::Tf32 => mixed_matmul::supports(device.info()),
            Accuracy::F32Emulated => emulated::supports(device.info()) && emulated::pays(sizes, batch),
        };
        Self::forced(device, sizes, batch, if has { accuracy } else { Accuracy::F32 })
    }

    /// Plans batches of products for this accuracy, also where it is not faster; for tests.
    ///
    /// # Errors
    /// Those of [`Plan::batched`], and [`Error::Argument`](crate::Error::Argument) on devices without the kernels.
    #[doc(hidden)]
    pub fn forced(device: &Device, sizes: Sizes, batch: Batch, accuracy: Accuracy) -> Result<Self> {
        let way = match accuracy {
            Accuracy::F32 => Way::F32(matmul::Plan::batched(device, sizes, batch, None)?),
            Accuracy::Tf32 => Way::Tf32(mixed_matmul::Plan::batched(device, sizes, batch)?),
            Accuracy::F32Emulated => Way::F32Emulated(emulated::Plan::batched(device, sizes, batch)?),
        };
        Ok(Self { way })
    }

    /// How the products are computed: as was asked for, or [`Accuracy::F32`] where the kernels of the other do not run
    /// or are not faster.
    pub fn accuracy(&self) -> Accuracy {
        match self.way {
            Way::F32(_) => Accuracy::F32,
            Way::Tf32(_) => Accuracy::Tf32,
            Way::F32Emulated(_) => Accuracy::F32Emulated,
        }
    }

    /// Starts the product of A and B, or those of a batch, in stream order. A, B and the products have
    /// [`Batch::spans`] elements; those between rows and products are not written.
    ///
    /// # Errors
    /// Those of [`matmul::Plan::launch`].
    pub fn launch<'a>(
        &'a self,
        factors: [impl Into<View<'a, f32>>; 2],
        product: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()> {
        self.launch_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::launch`] with an epilogue, whose sums have the accuracy, and which is itself computed in f32.
    ///
    /// # Errors
    /// Those of [`matmul::Plan::launch_with`].
    pub fn launch_with<'a>(
        &'a self,
        factors: [impl Into<View<'a, f32>>; 2],
        epilogue: &Epilogue<'a, f32>,
        product: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()> {
        match &self.way {
            Way::F32(plan) => plan.launch_with(factors, epilogue, product),
            Way::Tf32(plan) => plan.launch_with(factors, epilogue, product),
            Way::F32Emulated(plan) => plan.launch_with(factors, epilogue, product),
        }
    }
}

/// Writes the product of A and B, computed as `accuracy` says, to a matrix of `m` x `n`, without waiting, in the stream
/// of the device of the product. Elements of gaps between its rows are not written.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn matmul_into_with<'a>(
    a: impl Into<View<'a, f32>>,
    b: impl Into<View<'a, f32>>,
    sizes: Sizes,
    accuracy: Accuracy,
    product: impl Into<ViewMut<'a, f32>>,
) -> Result<()> {
    let (a, b, product) = (a.into(), b.into(), product.into());
    b.require_on(product.device(), "B")?;
    Plan::new(product.device(), sizes, accuracy)?.launch([a, b], product)
}

impl Device {
    /// The product of two f32 matrices of this device, computed as `accuracy` says.
    ///
    /// # Errors
    /// Those of [`matmul_into_with`], and [`Error::Argument`](crate::Error::Argument) for gaps between the product's
    /// rows.
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
