//! One value from each segment.

use super::{SegmentedReduceKernel, run};
use crate::backend::{Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::{Device, Module};
use crate::error::Result;
use crate::launch::{Launch, MAX_GRID};
use crate::segreduce::require_offsets;
use kernels_gpu::segreduce::best;
use std::marker::PhantomData;

/// A segmented reduction of a number of elements by a kernel of
/// [`segmented_reduce_kernel!`](kernels_gpu::segmented_reduce_kernel), with its offsets, launch configuration and
/// scratch memory. It can be launched any number of times, without further allocations.
pub struct SegmentedReduce<K: SegmentedReduceKernel> {
    module: Module,
    n: usize,
    offsets: Buffer<u64>,
    grid: u32,
    carries: Buffer<K::Value>,
    keys: Buffer<u64>,
    /// The ticket, which is 0 between launches.
    ticket: Buffer<u32>,
    kernel: PhantomData<K>,
}

impl<K: SegmentedReduceKernel> SegmentedReduce<K> {
    /// Plans a reduction of `n` elements in the segments that the offsets limit, `offsets[k]..offsets[k + 1]`, by a
    /// kernel of the module, and copies the offsets to the device.
    ///
    /// # Errors
    /// Those of [`require_offsets`], and [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less
    /// memory free.
    pub fn new(module: &Module, _: K, n: usize, offsets: &[u64]) -> Result<Self> {
        require_offsets(offsets, n as u64)?;
        let device = module.device();
        let bytes = size_of::<K::Value>();
        let (segments, inside) = (offsets.len() as u64 - 1, offsets[offsets.len() - 1] - offsets[0]);
        let tiles = if segments == 0 { 0 } else { (inside + segments).div_ceil(best::tile(bytes).into()) };
        let most = device.info().multiprocessors * best::any_blocks_per_sm(bytes);
        let grid = tiles.min(most.into()).min(MAX_GRID) as u32;
        Ok(Self {
            module: module.clone(),
            n,
            offsets: device.upload(offsets)?,
            grid,
            carries: device.uninit(grid as usize)?,
            keys: device.uninit(grid as usize)?,
            ticket: device.zeros(1)?,
            kernel: PhantomData,
        })
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The launch that writes the result of each segment, for an empty one the operator's identity. Without segments it
    /// does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        values: impl Into<View<'a, K::Value>>,
        results: impl Into<View<'a, K::Value>>,
    ) -> Result<Launch<'a>> {
        let (device, values, results) = (self.module.device(), values.into(), results.into());
        values.require(device, self.n, "the vector")?;
        results.require_output(device, self.segments(), &[values.span()])?;
        let uses = [values.reads(), self.offsets.reads(), results.writes()];
        let (values, offsets) = (values.slice(self.n), self.offsets.slice(self.offsets.len()));
        let (carries, keys, ticket) = (self.carries.ptr(), self.keys.ptr(), self.ticket.ptr());
        let call = K::call(values, offsets, results.ptr(), carries, keys, ticket);
        // SAFETY: the kernel's block, offsets that ascend within the values, a carry and a key per block, and a ticket
        // that every launch leaves at 0.
        let launch = unsafe { Launch::new(call, Shape::linear(self.grid, best::BLOCK)) };
        Ok(launch.using(uses).using([self.carries.writes(), self.keys.writes(), self.ticket.writes()]))
    }

    /// Starts the reduction of the segments, which writes a result for each, in stream order.
    ///
    /// # Errors
    /// Those of [`SegmentedReduce::prepare`], [`Error::Argument`](crate::Error::Argument) if the module lacks the
    /// kernel, and the errors of the device.
    pub fn launch<'a>(
        &self,
        values: impl Into<View<'a, K::Value>>,
        results: impl Into<ViewMut<'a, K::Value>>,
    ) -> Result<()> {
        let (values, results) = (values.into(), results.into());
        run(&self.module, &self.prepare(values, results.as_view())?)
    }
}

impl Device {
    /// Reduces each segment by a kernel of the module: [`SegmentedReduce`], once. It starts the work.
    ///
    /// # Errors
    /// Those of [`SegmentedReduce::new`] and [`SegmentedReduce::launch`].
    pub fn segmented_reduce_with<'a, K: SegmentedReduceKernel>(
        &self,
        module: &Module,
        kernel: K,
        values: impl Into<View<'a, K::Value>>,
        offsets: &[u64],
    ) -> Result<Buffer<K::Value>> {
        let values = values.into();
        values.require_on(self, "the vector")?;
        let module = &module.on(self)?;
        let plan = SegmentedReduce::new(module, kernel, values.len(), offsets)?;
        let mut results = self.uninit(plan.segments())?;
        plan.launch(values, &mut results)?;
        Ok(results)
    }
}
