//! The launches and buffers of one run.

use super::problem::Oracle;
use cuda_std::launch::Call;
use rustwarp::Launch;
use rustwarp::backend::{Backend, Buffer, Module, Shape};
use rustwarp::diagnostic::Diagnostic;
use rustwarp::element::Scalar;
use rustwarp::error::Result;
use rustwarp::tensor::Tensor;

/// Returns a finding about a result, if there is one.
pub(crate) type Judge<'m> = Box<dyn Fn(&Tensor) -> Option<Diagnostic> + 'm>;

/// The steps by which a rung solves its problem once, and the location of the result. A plan can be run any number of
/// times.
pub(crate) struct Plan<'m> {
    /// Threads per block, and blocks, of the first launch; 0 blocks without a launch.
    pub shape: (u32, u32),
    /// Largest number of additions in a chain from an element to the result: see [`Oracle::judge`].
    pub depth: u64,
    /// Oracle that replaces the job's.
    pub oracle: Option<Oracle<'m>>,
    /// Returns a finding about a result besides the oracle's verdict.
    pub findings: Option<Judge<'m>>,
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
    /// Run work on the host after waiting for the device.
    Host(Box<dyn Fn() -> Result<()> + 'm>),
}

impl<'m> Plan<'m> {
    /// Creates a plan without steps for a result of this shape in `output`; rows show `blocks` and `block`.
    pub fn new<T: Scalar>(block: u32, blocks: u32, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let none = || Ok(Tensor::from(T::wrap(Vec::new())));
        Self::reading(block, blocks, none).with_result(output, result)
    }

    /// Creates a plan without steps whose result `read` makes.
    pub fn reading(block: u32, blocks: u32, read: impl Fn() -> Result<Tensor> + 'm) -> Self {
        let (shape, steps) = ((block, blocks), Vec::new());
        Self { shape, depth: 0, oracle: None, findings: None, steps, result: Box::new(read) }
    }

    /// Creates a plan with one launch of this shape, or without a launch if the shape has no blocks.
    ///
    /// # Safety
    /// That of [`Plan::launch`].
    pub unsafe fn of<T: Scalar>(call: Call<'m>, shape: Shape, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let plan = Self::new(shape.threads() as u32, shape.grid.iter().product(), output, result);
        // SAFETY: this function has the same contract.
        unsafe { plan.launch(call, shape) }
    }

    /// Creates a plan with a launch of the library.
    pub fn of_library<T: Scalar>(launch: Launch<'m>, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let shape = launch.shape();
        Self::new(shape.threads() as u32, shape.grid.iter().product(), output, result).then(launch)
    }

    /// Adds a launch of the library, unless its shape has no blocks.
    pub fn then(self, launch: Launch<'m>) -> Self {
        // SAFETY: the library has checked the kernel's contract.
        unsafe { self.launch(launch.call().clone(), launch.shape()) }
    }

    /// Adds a launch, unless the shape has no blocks.
    ///
    /// # Safety
    /// The kernel's contract holds for this call and shape on every run: see [`Backend::launch`].
    pub unsafe fn launch(mut self, call: Call<'m>, shape: Shape) -> Self {
        if !shape.grid.contains(&0) {
            self.steps.push(Step::Launch(call, shape));
        }
        self
    }

    /// Adds a copy of all elements of `from` to the first elements of `to`.
    pub fn copy<T>(mut self, to: &'m Buffer<'_, T>, from: &'m Buffer<'_, T>) -> Self {
        assert!(from.bytes() <= to.bytes(), "copying {} bytes into {}", from.bytes(), to.bytes());
        self.steps.push(Step::Copy { to: to.address(), from: from.address(), bytes: from.bytes() });
        self
    }

    /// Adds a step that sets a buffer to 0.
    pub fn clear<T>(mut self, buffer: &'m Buffer<'_, T>) -> Self {
        if !buffer.is_empty() {
            self.steps.push(Step::Clear { address: buffer.address(), bytes: buffer.bytes() });
        }
        self
    }

    /// Adds work of the host; its error ends the run.
    pub fn host(mut self, work: impl Fn() -> Result<()> + 'm) -> Self {
        self.steps.push(Step::Host(Box::new(work)));
        self
    }

    /// Reads the result, of this shape, from `output` instead.
    pub fn with_result<T: Scalar>(self, output: &'m Buffer<'_, T>, result: &[usize]) -> Self {
        let result = result.to_vec();
        let read = move || Tensor::new(&result, T::wrap(output.read(result.iter().product())?));
        Self { result: Box::new(read), ..self }
    }

    /// Replaces the job's oracle.
    pub fn with_oracle(self, oracle: Oracle<'m>) -> Self {
        Self { oracle: Some(oracle), ..self }
    }

    /// Sets the function that returns a finding about a result besides the oracle's verdict.
    pub fn with_findings(self, find: impl Fn(&Tensor) -> Option<Diagnostic> + 'm) -> Self {
        Self { findings: Some(Box::new(find)), ..self }
    }

    /// Sets the largest number of additions in a chain from an element to the result.
    pub fn with_depth(self, depth: u64) -> Self {
        Self { depth, ..self }
    }

    /// Starts everything; does not wait for the device unless the host has work to do.
    ///
    /// # Errors
    /// Those of [`Backend::launch`] and of the work of the host.
    pub fn run(&self, device: &dyn Backend, module: Module) -> Result<()> {
        self.steps.iter().try_for_each(|step| match step {
            // SAFETY: the contract of `Plan::launch` covers the kernel's; `self` borrows the buffers.
            Step::Launch(call, shape) => unsafe { device.launch(module, call, *shape) },
            // SAFETY: `copy` has checked the sizes; `self` borrows both buffers.
            Step::Copy { to, from, bytes } => unsafe { device.copy(*to, *from, *bytes) },
            // SAFETY: `self` borrows the buffer, which has this size.
            Step::Clear { address, bytes } => unsafe { device.fill(*address, 0, *bytes) },
            Step::Host(work) => work(),
        })
    }

    /// Waits for the result and reads it.
    ///
    /// # Errors
    /// Those of [`Backend::read`].
    pub fn result(&self) -> Result<Tensor> {
        (self.result)()
    }
}
