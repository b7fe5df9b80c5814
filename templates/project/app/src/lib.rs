//! The host's side of the kernels.

use rustwarp::{Device, Kernels, Result, Shape};

/// The kernels, inside the program.
pub static KERNELS: Kernels = rustwarp::kernels!("kernels.rs");

/// Computes `a * x + y` on a device.
///
/// # Panics
/// If the lengths of `x` and `y` differ.
///
/// # Errors
/// If there is too little memory on the device, or if the device fails.
pub fn saxpy(device: &Device, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>> {
    assert_eq!(x.len(), y.len(), "x and y have the same length");
    if x.is_empty() {
        return Ok(Vec::new());
    }
    let module = device.load_kernels(&KERNELS)?;
    let (x, mut y) = (device.upload(x)?, device.upload(y)?);
    let block = 256;
    let grid = (x.len() as u32).div_ceil(block);
    let call = kernels::saxpy(a, x.slice(x.len()), y.slice_mut(x.len()));
    // SAFETY: the kernel is safe, the module was compiled from it, and this device holds `x` and `y`.
    unsafe { module.launch(&call, Shape::linear(grid, block)) }?;
    y.download()
}
