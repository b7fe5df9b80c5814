//! A program of `cudarc` that calls the library on its own slices, in its own stream.

use std::error::Error;

use cudarc::driver::CudaContext;
use libtest_mimic::{Failed, Trial};
use rustwarp::cudarc::Bridge;
use rustwarp::scan::{self, Kind};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("slices_of_cudarc_are_operands_and_results", || borrowed().map_err(failed)),
        Trial::test("memory_changes_hands_with_cudarc", || handed_over().map_err(failed)),
        Trial::test("memory_of_another_device_is_rejected_by_the_bridge", || rejected().map_err(failed)),
    ]
}

fn failed(error: Box<dyn Error>) -> Failed {
    Failed::from(error.to_string())
}

/// Elements: enough that the work of a stream is not over when the next call is made.
const N: usize = 1 << 20;

fn borrowed() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let x = stream.clone_htod(&vec![1_u32; N])?;
    let mut prefixes = stream.alloc_zeros::<u32>(N)?;
    let bridge = Bridge::new(&stream)?;
    scan::sums_into(&bridge.read(&x)?, Kind::Inclusive, &mut bridge.write(&mut prefixes)?)?;
    assert_eq!(bridge.max(&bridge.read(&prefixes)?)?, N as u32);
    assert_eq!(bridge.sum(&bridge.read(&x.slice(10..30))?)?, 20);
    // Another stream of cudarc waits for the work that writes the slice.
    let other = context.new_stream()?;
    assert_eq!(other.clone_dtoh(&prefixes.slice(..4))?, [1, 2, 3, 4]);
    Ok(())
}

fn handed_over() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let bridge = Bridge::new(&stream)?;
    let taken = bridge.take(stream.clone_htod(&vec![2_u32; N])?)?;
    let sums = bridge.add(&taken, &taken)?;
    drop(taken);
    let given = bridge.give(sums)?;
    let values = stream.clone_dtoh(&given)?;
    assert!(values.len() == N && values.iter().all(|&value| value == 4));
    // What cudarc has allocated is copied when it is given back.
    let taken = bridge.take(given)?;
    assert_eq!(stream.clone_dtoh(&bridge.give(taken)?)?, values);
    Ok(())
}

fn rejected() -> Result<(), Box<dyn Error>> {
    let bridge = Bridge::new(&CudaContext::new(0)?.new_stream()?)?;
    let on_simulator = rustwarp::Device::sim()?.upload(&[1_u32, 2])?;
    assert!(matches!(bridge.sum(&on_simulator), Err(rustwarp::Error::OtherDevice { .. })));
    Ok(())
}
