//! Launches whose contract is checked when they are created.

use crate::backend::{Backend, Module, Shape};
use crate::error::Result;
use cuda_std::launch::Call;

/// Most blocks that a grid can have along its first axis.
pub const MAX_GRID: u64 = (1 << 31) - 1;

/// A kernel with its arguments and its shape, which together satisfy the kernel's contract. It can be run any number of
/// times in succession.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    call: Call<'a>,
    shape: Shape,
}

impl<'a> Launch<'a> {
    /// Creates a launch of `call` with this shape.
    ///
    /// # Safety
    /// The kernel's contract holds for these arguments and this shape, and for successive runs.
    pub unsafe fn new(call: Call<'a>, shape: Shape) -> Self {
        Self { call, shape }
    }

    /// The kernel and its arguments.
    pub fn call(&self) -> &Call<'a> {
        &self.call
    }

    /// Numbers of blocks and threads, and dynamic shared memory.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Starts the kernel in stream order, without waiting. `module` is the family's, loaded on `device`. A launch
    /// without blocks does nothing.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the module lacks the entry, [`Error::Fault`](crate::Error::Fault) if a
    /// kernel faults.
    pub fn run(&self, device: &dyn Backend, module: Module) -> Result<()> {
        if self.shape.grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: the contract of `new` covers the kernel's; `self` borrows the memory.
        unsafe { device.launch(module, &self.call, self.shape) }
    }
}
