//! Runs the kernel on a GPU if there is one, and on the simulator otherwise.

fn main() -> rustwarp::Result<()> {
    let device = rustwarp::Device::default()?;
    let kernels = app::LoadedKernels::new(&device)?;
    let x: Vec<f32> = (0..10).map(|i| i as f32).collect();
    let y = kernels.saxpy(2.0, &x, &[1.0; 10])?;
    println!("2 * {x:?} + 1 = {y:?} on {}", device.info().name);
    Ok(())
}
