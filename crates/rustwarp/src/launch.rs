//! Launches whose contract was checked where they were made.

use crate::backend::{Backend, Module, Shape};
use crate::error::Result;
use cuda_std::launch::Call;

/// Most blocks that a grid can have along its first axis.
pub const MAX_GRID: u64 = (1 << 31) - 1;

/// A kernel with its arguments and its shape, which together satisfy the kernel's contract. Can be run any number of
/// times, one after the other.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    call: Call<'a>,
    shape: Shape,
}

impl<'a> Launch<'a> {
    /// A launch of `call` in this shape.
    ///
    /// # Safety
    /// The kernel's own contract holds for these arguments and this shape, and for runs one after the other.
    pub unsafe fn new(call: Call<'a>, shape: Shape) -> Self {
        Self { call, shape }
    }

    /// The kernel and its arguments.
    pub fn call(&self) -> &Call<'a> {
        &self.call
    }

    /// Blocks and threads.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Starts the kernel, in stream order; does not wait. `module` is the family's, loaded on `device`. A launch
    /// without blocks does nothing.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) when the module lacks the entry, [`Error::Fault`](crate::Error::Fault)
    /// when a kernel broke.
    pub fn run(&self, device: &dyn Backend, module: Module) -> Result<()> {
        if self.shape.grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: promised when the launch was made; the memory is borrowed.
        unsafe { device.launch(module, &self.call, self.shape) }
    }
}
