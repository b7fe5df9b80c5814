//! One value from many.

use super::{Operator, ReduceKernel, run};
use crate::backend::{View, ViewMut};
use crate::buffer::Buffer;
use crate::device::{Device, Module, VALUE};
use crate::error::{Error, Result};
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use kernels_gpu::reduce::best;
use std::marker::PhantomData;

/// A reduction of a number of elements by a kernel of [`reduce_kernel!`](kernels_gpu::reduce_kernel), with its launch
/// configuration and scratch memory. It can be launched any number of times, without further allocations.
pub struct Reduce<K: ReduceKernel> {
    module: Module,
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Buffer<u64>,
    kernel: PhantomData<K>,
}

impl<K: ReduceKernel> Reduce<K> {
    /// Plans a reduction of `n` elements by a kernel of the module.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(module: &Module, kernel: K, n: usize) -> Result<Self> {
        Self::tuned(module, kernel, n, Tuning::default())
    }

    /// Plans with overrides of the launch configuration.
    ///
    /// # Errors
    /// [`Error::Argument`] for a block that is not a multiple of 32 threads or is larger than
    /// 256, and those of [`Reduce::new`].
    pub fn tuned(module: &Module, _: K, n: usize, tuning: Tuning) -> Result<Self> {
        let device = module.device();
        let per_thread = best::per_thread(size_of::<K::Input>());
        let tuned = Tuned {
            block: best::ANY_BLOCK,
            blocks_per_sm: best::any_blocks_per_sm(size_of::<K::Value>(), K::Operator::COMMUTATIVE),
            alone: 0,
        };
        let config = LastBlock::new(device.info(), n as u64, per_thread, tuned, tuning)?;
        if config.block > best::ANY_BLOCK {
            let (block, most) = (config.block, best::ANY_BLOCK);
            return Err(Error::Argument(format!("a block has a multiple of 32 threads up to {most}, not {block}")));
        }
        Ok(Self {
            module: module.clone(),
            n,
            config,
            words: device.zeros(config.words::<K::Value>())?,
            kernel: PhantomData,
        })
    }

    /// The launch that writes the reduction of the input to the output, which has one element. Without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length,
    /// [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, K::Input>>,
        output: impl Into<View<'a, K::Value>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.module.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        let call = K::call(input.slice(self.n), self.words.ptr(), output.ptr());
        // SAFETY: whole warps, and the words for these blocks, which are 0 and which every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.words.writes(), output.writes()]))
    }

    /// Starts the reduction of the input into the output, which has one element, in stream order. Without elements that
    /// is the operator's identity.
    ///
    /// # Errors
    /// Those of [`Reduce::prepare`], [`Error::Argument`] if the module lacks the kernel, and
    /// the errors of the device.
    pub fn launch<'a>(
        &self,
        input: impl Into<View<'a, K::Input>>,
        output: impl Into<ViewMut<'a, K::Value>>,
    ) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.module.device().upload(&[K::Operator::identity()])?),
            _ => run(&self.module, &launch),
        }
    }
}

impl Device {
    /// Reduces the input by a kernel of the module: [`Reduce`], once.
    ///
    /// # Errors
    /// Those of [`Reduce::new`] and [`Reduce::launch`].
    pub fn reduce_with<'a, K: ReduceKernel>(
        &self,
        module: &Module,
        kernel: K,
        input: impl Into<View<'a, K::Input>>,
    ) -> Result<K::Value> {
        let input = input.into();
        input.require_on(self, "the input")?;
        self.refuse_in_capture(VALUE)?;
        let module = &module.on(self)?;
        let mut output = self.uninit(1)?;
        Reduce::new(module, kernel, input.len())?.launch(input, &mut output)?;
        Ok(output.read(1)?[0])
    }
}
