//! The launches and buffers of one run.

use super::problem::Oracle;
use cuda_std::launch::Call;
use rustwarp::backend::{Backend, Buffer, Module, Shape};
use rustwarp::diagnostic::Diagnostic;
use rustwarp::element::Scalar;
use rustwarp::error::Result;
use rustwarp::tensor::Tensor;

/// What a rung does to solve its problem once, and where the result is then. A plan can be run any number of times.
pub(crate) struct Plan<'m> {
    /// Threads per block, and blocks, of the first launch; 0 blocks where nothing is launched.
    pub shape: (u32, u32),
    /// Most additions in a chain from an element to the result: see [`Oracle::judge`].
    pub depth: u64,
    /// Judges the result in place of the job's oracle.
    pub oracle: Option<Oracle<'m>>,
    /// What is known about a result beside the oracle's verdict.
    pub findings: Option<Box<dyn Fn(&Tensor) -> Option<Diagnostic> + 'm>>,
    steps: Vec<Step<'m>>,
    result: Box<dyn Fn() -> Result<Tensor> + 'm>,
}

/// A step of a run, in stream order.
enum Step<'m> {
    /// Start a kernel, whose contract holds for this call and shape.
    Launch(Call<'m>, Shape),
    /// Copy these bytes on the device.
    Copy { to: u64, from: u64, bytes: u64 },
    /// Set these bytes to 0.
    Clear { address: u64, bytes: u64 },
    /// Work of the host, which waits for the device.
    Host(Box<dyn Fn() -> Result<()> + 'm>),
}

impl<'m> Plan<'m> {
    /// No step yet, for a result of this shape in `output`; `blocks` of `block` threads are what rows show.
    pub fn new<T: Scalar>(block: u32, blocks: u32, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let result = result.to_vec();
        let read = move || Tensor::new(&result, T::wrap(output.read(result.iter().product())?));
        let (shape, steps) = ((block, blocks), Vec::new());
        Self { shape, depth: 0, oracle: None, findings: None, steps, result: Box::new(read) }
    }

    /// One launch, in this shape; none where the shape has no blocks.
    ///
    /// # Safety
    /// As [`Plan::launch`].
    pub unsafe fn of<T: Scalar>(call: Call<'m>, shape: Shape, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let plan = Self::new(shape.threads() as u32, shape.grid.iter().product(), output, result);
        // SAFETY: the caller's promise.
        unsafe { plan.launch(call, shape) }
    }

    /// With one more launch; without it where the shape has no blocks.
    ///
    /// # Safety
    /// The kernel's contract holds for this call and shape on every run: see [`Backend::launch`].
    pub unsafe fn launch(mut self, call: Call<'m>, shape: Shape) -> Self {
        if !shape.grid.contains(&0) {
            self.steps.push(Step::Launch(call, shape));
        }
        self
    }

    /// With a copy of all elements of `from` to the first ones of `to`.
    pub fn copy<T>(mut self, to: &'m Buffer<'_, T>, from: &'m Buffer<'_, T>) -> Self {
        assert!(from.bytes() <= to.bytes(), "copying {} bytes into {}", from.bytes(), to.bytes());
        self.steps.push(Step::Copy { to: to.address(), from: from.address(), bytes: from.bytes() });
        self
    }

    /// With a buffer set to 0.
    pub fn clear<T>(mut self, buffer: &'m Buffer<'_, T>) -> Self {
        if !buffer.is_empty() {
            self.steps.push(Step::Clear { address: buffer.address(), bytes: buffer.bytes() });
        }
        self
    }

    /// With work of the host.
    pub fn host(mut self, work: impl Fn() -> Result<()> + 'm) -> Self {
        self.steps.push(Step::Host(Box::new(work)));
        self
    }

    /// With an oracle in place of the job's.
    pub fn with_oracle(self, oracle: Oracle<'m>) -> Self {
        Self { oracle: Some(oracle), ..self }
    }

    /// With what `find` says about a result, beside the oracle's verdict.
    pub fn with_findings(self, find: impl Fn(&Tensor) -> Option<Diagnostic> + 'm) -> Self {
        Self { findings: Some(Box::new(find)), ..self }
    }

    /// With the most additions in a chain from an element to the result.
    pub fn with_depth(self, depth: u64) -> Self {
        Self { depth, ..self }
    }

    /// Starts everything; does not wait for the device unless the host has work to do.
    pub fn run(&self, device: &dyn Backend, module: Module) -> Result<()> {
        self.steps.iter().try_for_each(|step| match step {
            // SAFETY: the code that added the launch promised that its contract holds; `self` borrows the buffers.
            Step::Launch(call, shape) => unsafe { device.launch(module, call, *shape) },
            Step::Copy { to, from, bytes } => device.copy(*to, *from, *bytes),
            Step::Clear { address, bytes } => device.fill(*address, 0, *bytes),
            Step::Host(work) => work(),
        })
    }

    /// Waits for the result and reads it.
    pub fn result(&self) -> Result<Tensor> {
        (self.result)()
    }
}
