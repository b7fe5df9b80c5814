//! Divides a sum among all GPUs; where there are fewer than two, simulators take part.

use rustwarp::{Buffer, Device, Error};

fn main() -> Result<(), Error> {
    let mut devices = Vec::new();
    loop {
        match Device::gpu(devices.len() as u32) {
            Ok(device) => devices.push(device),
            Err(Error::NoDevice(_)) => break,
            Err(error) => return Err(error),
        }
    }
    while devices.len() < 2 {
        devices.push(Device::sim()?);
    }
    let numbers: Vec<i64> = (1..=100_000).collect();
    let parts = numbers.chunks(numbers.len().div_ceil(devices.len()));
    // Memory belongs to the device that it was uploaded to; the calls of different devices may alternate.
    let parts: Vec<Buffer<i64>> =
        devices.iter().zip(parts).map(|(device, part)| device.upload(part)).collect::<Result<_, _>>()?;
    let mut sum = 0;
    for (device, part) in devices.iter().zip(&parts) {
        let share = device.sum(part)?;
        println!("{share} on {} ({})", device.info().device, device.info().name);
        sum += share;
    }
    assert_eq!(sum, 5_000_050_000);
    let foreign = devices[0].sum(&parts[1]).expect_err("the memory is on another device");
    println!("sum: {sum}; {foreign}");
    drop(devices);
    // The memory keeps its device open.
    assert_eq!(parts[1].download()?.last(), Some(&100_000));
    Ok(())
}
