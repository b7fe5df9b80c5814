//! From each element, the combination of all elements up to it or before it.

use super::{ScanKernel, run};
use crate::backend::{Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::{Device, Module};
use crate::error::Result;
use crate::launch::Launch;
use crate::scan::{Config, Kind};
use kernels_gpu::scan::best;
use std::marker::PhantomData;

/// A scan of a number of elements by a kernel of [`scan_kernel!`](kernels_gpu::scan_kernel), with its launch
/// configuration and scratch memory. It can be launched any number of times, without further allocations.
pub struct Scan<K: ScanKernel> {
    module: Module,
    n: usize,
    kind: Kind,
    /// Number of blocks, one per tile.
    grid: u32,
    /// Tickets and records, which successive launches share.
    state: Buffer<u64>,
    kernel: PhantomData<K>,
}

impl<K: ScanKernel> Scan<K> {
    /// Plans a scan of `n` elements by a kernel of the module.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn new(module: &Module, _: K, n: usize, kind: Kind) -> Result<Self> {
        let bytes = size_of::<K::Value>();
        let config = Config::new(n, bytes, best::any_rows(bytes), "a scan")?;
        let state = module.device().zeros(config.words)?;
        Ok(Self { module: module.clone(), n, kind, grid: config.grid, state, kernel: PhantomData })
    }

    /// The launch that writes the scan of the input to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, K::Value>>,
        output: impl Into<View<'a, K::Value>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.module.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, self.n, &[input.span()])?;
        let exclusive = u32::from(self.kind == Kind::Exclusive);
        let call = K::call(input.slice(self.n), exclusive, self.state.ptr(), output.ptr());
        // SAFETY: the block is the kernel's, every tile has a block, and the state was 0 before the first launch.
        let launch = unsafe { Launch::new(call, Shape::linear(self.grid, best::BLOCK)) };
        Ok(launch.using([input.reads(), self.state.writes(), output.writes()]))
    }

    /// Starts the scan of the input into the output, in stream order.
    ///
    /// # Errors
    /// Those of [`Scan::prepare`], [`Error::Argument`](crate::Error::Argument) if the module lacks the kernel, and the
    /// errors of the device.
    pub fn launch<'a>(
        &self,
        input: impl Into<View<'a, K::Value>>,
        output: impl Into<ViewMut<'a, K::Value>>,
    ) -> Result<()> {
        let (input, output) = (input.into(), output.into());
        run(&self.module, &self.prepare(input, output.as_view())?)
    }
}

impl Device {
    /// Scans the input by a kernel of the module: [`Scan`], once. It starts the work.
    ///
    /// # Errors
    /// Those of [`Scan::new`] and [`Scan::launch`].
    pub fn scan_with<'a, K: ScanKernel>(
        &self,
        module: &Module,
        kernel: K,
        input: impl Into<View<'a, K::Value>>,
        kind: Kind,
    ) -> Result<Buffer<K::Value>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        let module = &module.on(self)?;
        let mut output = self.uninit(input.len())?;
        let plan = Scan::new(module, kernel, input.len(), kind)?;
        plan.launch(input, &mut output)?;
        Ok(output)
    }
}
