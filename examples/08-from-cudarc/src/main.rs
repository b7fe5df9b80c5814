//! A program of `cudarc` that calls this library on its own slices, in its own stream. It needs an NVIDIA GPU, and
//! does nothing without one.

use cudarc::driver::CudaContext;
use rustwarp::cudarc::Bridge;
use rustwarp::scan::{self, Kind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Err(error) = rustwarp::Device::gpu(0) {
        println!("skipped: {error}");
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let n = 1 << 20;
    // ANCHOR: bridge
    let x = stream.clone_htod(&vec![1_u32; n])?;
    let mut prefixes = stream.alloc_zeros::<u32>(n)?;

    let bridge = Bridge::new(&stream)?;
    // Borrowed slices are operands and results of every function, without copies.
    scan::sums_into(&bridge.read(&x)?, Kind::Inclusive, &mut bridge.write(&mut prefixes)?)?;
    assert_eq!(bridge.max(&bridge.read(&prefixes)?)?, n as u32);
    // ANCHOR_END: bridge

    // ANCHOR: back
    // cudarc's own calls see the result, also in another stream.
    let other = context.new_stream()?;
    let first = other.clone_dtoh(&prefixes.slice(..4))?;
    assert_eq!(first, [1, 2, 3, 4]);

    // Memory changes hands: a slice becomes a buffer, and a buffer a slice.
    let taken = bridge.take(prefixes)?;
    let sums = bridge.add(&taken, &bridge.read(&x)?)?;
    drop(taken);
    let given = bridge.give(sums)?;
    assert_eq!(stream.clone_dtoh(&given)?[n - 1], n as u32 + 1);
    // ANCHOR_END: back
    println!("{n} running sums by rustwarp on slices of cudarc: {first:?} …");
    Ok(())
}
