//! Moves particles on a GPU if there is one, else on the simulator.

use own_kernel_kernels::{Particle, step};
use rustwarp::{Device, Result, Shape};

/// The kernels as PTX text, which `build.rs` has made.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<()> {
    let device = Device::default()?;
    println!("{}", device.choice());
    // ANCHOR: launch
    let start: Vec<Particle> =
        (0..1000).map(|i| Particle { position: [i as f32, 0.0, 2.0], velocity: [0.0, 1.0, -3.0] }).collect();
    let module = device.load(PTX.as_bytes(), "kernels.ptx")?;
    let mut particles = device.upload(&start)?;
    let n = start.len();
    let (grid, block) = ((n as u32).div_ceil(256), 256);
    for _ in 0..4 {
        let call = step(0.25, particles.slice_mut(n));
        // SAFETY: the kernel is safe, the module was compiled from it, and its device holds the particles.
        unsafe { module.launch(&call, Shape::linear(grid, block)) }?;
    }
    let end = particles.download()?;
    // ANCHOR_END: launch
    println!("the last of {n} particles: {:?}", end[999]);
    // After a second it has fallen by 3 m from a height of 2 m.
    assert_eq!(end[999], Particle { position: [999.0, 1.0, 1.0], velocity: [0.0, 1.0, 3.0] });
    Ok(())
}
