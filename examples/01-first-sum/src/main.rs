//! Sums a vector on the default device.

fn main() -> Result<(), rustwarp::Error> {
    let device = rustwarp::Device::default()?; // a GPU if there is one, else the simulator
    let numbers: Vec<f32> = (1..=1000).map(|i| i as f32).collect();
    let x = device.upload(&numbers)?;
    let sum = device.sum(&x)?;
    assert_eq!(sum, 500_500.0);
    println!("1 + 2 + … + 1000 = {sum} on {}", device.info().device);
    Ok(())
}
