//! Shows what a program with embedded kernels has for some GPUs, and launches one of the kernels.

use own_kernel_kernels::{Particle, step};
use rustwarp::{Device, Kernels, Result, Shape};

// ANCHOR: kernels
/// The kernels, compressed.
static KERNELS: Kernels = rustwarp::kernels!("kernels.rs");

// ANCHOR_END: kernels
fn main() -> Result<()> {
    // ANCHOR: choice
    for sm in [75, 80, 89, 90, 120] {
        let found = match KERNELS.machine_code(sm)? {
            Some(code) => code,
            None => KERNELS.ptx(Some(sm), None)?,
        };
        println!("sm_{sm}: {}", found.path.display());
    }
    // ANCHOR_END: choice
    let device = Device::default()?;
    let start = Particle { position: [0.0, 0.0, 2.0], velocity: [0.0, 1.0, -3.0] };
    let mut particles = device.upload(&[start; 100])?;
    // ANCHOR: load
    let module = device.load_kernels(&KERNELS)?;
    // ANCHOR_END: load
    let call = step(1.0, particles.slice_mut(100));
    // SAFETY: the kernel is safe, the module was compiled from it, and its device holds the particles.
    unsafe { module.launch(&call, Shape::linear(1, 128)) }?;
    println!("{:?} on {}", particles.download()?[99], device.info().device);
    Ok(())
}
