//! Every element converted.

use super::{TransformKernel, run};
use crate::backend::{Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::{Device, Module};
use crate::error::Result;
use crate::launch::{Launch, require_grid};
use kernels_gpu::operator::transform::{BLOCK, per_thread};
use std::marker::PhantomData;

/// A transformation of a number of elements by a kernel of [`transform_kernel!`](kernels_gpu::transform_kernel), with
/// its launch configuration. It can be launched any number of times.
pub struct Transform<K: TransformKernel> {
    module: Module,
    n: usize,
    grid: u32,
    kernel: PhantomData<K>,
}

impl<K: TransformKernel> Transform<K> {
    /// Plans a transformation of `n` elements by a kernel of the module.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take.
    pub fn new(module: &Module, _: K, n: usize) -> Result<Self> {
        let each = per_thread(size_of::<K::Input>(), size_of::<K::Value>()) as u64;
        let blocks = (n as u64).div_ceil(each * u64::from(BLOCK));
        let grid = require_grid(blocks, &format!("a transformation of {n} elements"), "transform them in parts")?;
        Ok(Self { module: module.clone(), n, grid, kernel: PhantomData })
    }

    /// The launch that writes the result for each element of the input to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, K::Input>>,
        output: impl Into<View<'a, K::Value>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.module.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, self.n, &[input.span()])?;
        // SAFETY: input and output have the same length and are separate memory.
        let launch =
            unsafe { Launch::new(K::call(input.slice(self.n), output.ptr()), Shape::linear(self.grid, BLOCK)) };
        Ok(launch.using([input.reads(), output.writes()]))
    }

    /// Starts the transformation of the input into the output, in stream order.
    ///
    /// # Errors
    /// Those of [`Transform::prepare`], [`Error::Argument`](crate::Error::Argument) if the module lacks the kernel, and
    /// the errors of the device.
    pub fn launch<'a>(
        &self,
        input: impl Into<View<'a, K::Input>>,
        output: impl Into<ViewMut<'a, K::Value>>,
    ) -> Result<()> {
        let (input, output) = (input.into(), output.into());
        run(&self.module, &self.prepare(input, output.as_view())?)
    }
}

impl Device {
    /// Converts every element by a kernel of the module: [`Transform`], once. It starts the work.
    ///
    /// # Errors
    /// Those of [`Transform::new`] and [`Transform::launch`].
    pub fn transform_with<'a, K: TransformKernel>(
        &self,
        module: &Module,
        kernel: K,
        input: impl Into<View<'a, K::Input>>,
    ) -> Result<Buffer<K::Value>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        let module = &module.on(self)?;
        let mut output = self.uninit(input.len())?;
        Transform::new(module, kernel, input.len())?.launch(input, &mut output)?;
        Ok(output)
    }
}
