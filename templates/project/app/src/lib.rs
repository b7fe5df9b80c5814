//! The host's side of the kernels.

use rustwarp::{Device, Kernels, Module, Result, Shape};

/// The kernels, inside the program.
pub static KERNELS: Kernels = rustwarp::kernels!("kernels.rs");

/// The kernels on a device. Load them once and keep them: every load takes memory of the driver.
#[derive(Clone, Debug)]
pub struct LoadedKernels {
    module: Module,
}

impl LoadedKernels {
    /// Loads the kernels on a device.
    ///
    /// # Errors
    /// If the device cannot run the kernels.
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { module: device.load_kernels(&KERNELS)? })
    }

    /// Computes `a * x + y`.
    ///
    /// # Panics
    /// If the lengths of `x` and `y` differ.
    ///
    /// # Errors
    /// If there is too little memory on the device, or if the device fails.
    pub fn saxpy(&self, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>> {
        assert_eq!(x.len(), y.len(), "x and y have the same length");
        if x.is_empty() {
            return Ok(Vec::new());
        }
        let device = self.module.device();
        let (x, mut y) = (device.upload(x)?, device.upload(y)?);
        let block = 256;
        let grid = (x.len() as u32).div_ceil(block);
        let call = kernels::saxpy(a, x.slice(x.len()), y.slice_mut(x.len()));
        // SAFETY: the kernel is safe, the module was compiled from it, and its device holds `x` and `y`.
        unsafe { self.module.launch(&call, Shape::linear(grid, block)) }?;
        y.download()
    }
}
