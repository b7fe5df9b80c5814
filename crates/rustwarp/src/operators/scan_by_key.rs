//! From each element, the combination of the elements of its run up to it or before it.

use super::{ScanByKeyKernel, run};
use crate::backend::{Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::{Device, Module};
use crate::error::Result;
use crate::launch::Launch;
use crate::scan::{Config, Kind};
use kernels_gpu::scan_by_key::best;
use std::marker::PhantomData;

/// A scan of each run of equal keys by a kernel of [`scan_by_key_kernel!`](kernels_gpu::scan_by_key_kernel), with its
/// launch configuration and scratch memory. It can be launched any number of times, without further allocations.
pub struct ScanByKey<K: ScanByKeyKernel> {
    module: Module,
    n: usize,
    kind: Kind,
    /// Number of blocks, one per tile.
    grid: u32,
    /// Tickets and records, which successive launches share.
    state: Buffer<u64>,
    kernel: PhantomData<K>,
}

impl<K: ScanByKeyKernel> ScanByKey<K> {
    /// Plans a scan of `n` elements by a kernel of the module.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn new(module: &Module, _: K, n: usize, kind: Kind) -> Result<Self> {
        let bytes = size_of::<K::Value>();
        let config = Config::new(n, bytes, best::any_rows(bytes), "a scan by key")?;
        let state = module.device().zeros(config.words)?;
        Ok(Self { module: module.clone(), n, kind, grid: config.grid, state, kernel: PhantomData })
    }

    /// The launch that writes the scan of the values to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        keys: impl Into<View<'a, K::Key>>,
        values: impl Into<View<'a, K::Value>>,
        output: impl Into<View<'a, K::Value>>,
    ) -> Result<Launch<'a>> {
        let (device, keys, values, output) = (self.module.device(), keys.into(), values.into(), output.into());
        keys.require(device, self.n, "the keys")?;
        values.require(device, self.n, "the values")?;
        output.require_output(device, self.n, &[keys.span(), values.span()])?;
        let exclusive = u32::from(self.kind == Kind::Exclusive);
        let (keyed, valued) = (keys.slice(self.n), values.slice(self.n));
        let call = K::call(keyed, valued, exclusive, self.state.ptr(), output.ptr());
        // SAFETY: the block is the kernel's, every tile has a block, there are as many keys as values, and the state
        // was 0 before the first launch.
        let launch = unsafe { Launch::new(call, Shape::linear(self.grid, best::BLOCK)) };
        Ok(launch.using([keys.reads(), values.reads(), self.state.writes(), output.writes()]))
    }

    /// Starts the scan of the values into the output, in stream order.
    ///
    /// # Errors
    /// Those of [`ScanByKey::prepare`], [`Error::Argument`](crate::Error::Argument) if the module lacks the kernel, and
    /// the errors of the device.
    pub fn launch<'a>(
        &self,
        keys: impl Into<View<'a, K::Key>>,
        values: impl Into<View<'a, K::Value>>,
        output: impl Into<ViewMut<'a, K::Value>>,
    ) -> Result<()> {
        let (keys, values, output) = (keys.into(), values.into(), output.into());
        run(&self.module, &self.prepare(keys, values, output.as_view())?)
    }
}

impl Device {
    /// Scans each run of equal keys by a kernel of the module: [`ScanByKey`], once. It starts the work.
    ///
    /// # Errors
    /// Those of [`ScanByKey::new`] and [`ScanByKey::launch`].
    pub fn scan_by_key_with<'a, K: ScanByKeyKernel>(
        &self,
        module: &Module,
        kernel: K,
        keys: impl Into<View<'a, K::Key>>,
        values: impl Into<View<'a, K::Value>>,
        kind: Kind,
    ) -> Result<Buffer<K::Value>> {
        let (keys, values) = (keys.into(), values.into());
        values.require_on(self, "the values")?;
        let module = &module.on(self)?;
        let mut output = self.uninit(values.len())?;
        let plan = ScanByKey::new(module, kernel, values.len(), kind)?;
        plan.launch(keys, values, &mut output)?;
        Ok(output)
    }
}
