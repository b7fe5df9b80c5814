//! The kernel on the simulator.

use app::{KERNELS, LoadedKernels};

/// With every checker on, for lengths around a block's and a warp's.
#[test]
fn saxpy_has_no_bug_that_the_simulator_finds() -> Result<(), Box<dyn std::error::Error>> {
    let ptx = KERNELS.text()?;
    for n in [1, 31, 32, 33, 256, 1000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = vec![1.0_f32; n];
        let grid = (n as u32).div_ceil(256);
        ptx_sim::test_text(&ptx)?.entry("saxpy").grid(grid).block(256).arg(2.0_f32).slice(&x).slice_mut(&mut y).run()?;
        assert!(y.iter().enumerate().all(|(i, &y)| y == 2.0 * i as f32 + 1.0), "{n}: {y:?}");
    }
    Ok(())
}

#[test]
fn the_host_function_returns_what_the_formula_says() -> rustwarp::Result<()> {
    let kernels = LoadedKernels::new(&rustwarp::Device::sim()?)?;
    assert_eq!(kernels.saxpy(0.5, &[2.0, 4.0], &[10.0, 20.0])?, [11.0, 22.0]);
    assert_eq!(kernels.saxpy(2.0, &[1.0; 300], &[1.0; 300])?, [3.0; 300]);
    assert!(kernels.saxpy(0.5, &[], &[])?.is_empty());
    Ok(())
}
