//! Reduces and scans by operators of its own, on a GPU if there is one, else on the simulator.

use own_operator_kernels::{Period, accounts, balances, payments, summary};
use rustwarp::scan::Kind;
use rustwarp::{Device, Result};

/// The kernels as PTX text, which `build.rs` has made.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<()> {
    let device = Device::default()?;
    println!("{}", device.choice());
    let module = device.load(PTX.as_bytes(), "kernels.ptx")?;

    // ANCHOR: reduce
    let values: Vec<f32> = (0..10_000).map(|i| ((i * 7919) % 10_007) as f32).collect();
    let x = device.upload(&values)?;
    let all = device.reduce_with(&module, summary, &x)?;
    println!("{all:?}, mean {}", all.sum / all.count as f32);
    // ANCHOR_END: reduce
    let (min, max) = values.iter().fold((f32::MAX, f32::MIN), |(min, max), &x| (min.min(x), max.max(x)));
    assert_eq!((all.min, all.max, all.count), (min, max, 10_000));

    // ANCHOR: scan
    // 2 % of interest and 100 paid in, every year for 40 years, in each of three accounts.
    let years = vec![Period { growth: 1.02, payment: 100.0 }; 120];
    let years = device.upload(&years)?;
    let of_accounts = device.segmented_reduce_with(&module, accounts, &years, &[0, 40, 80, 120])?;
    println!("after 40 years: {}", of_accounts.download()?[2].payment);
    let through = device.scan_with(&module, balances, &years, Kind::Inclusive)?;
    let balance = device.transform_with(&module, payments, &through)?.download()?;
    println!("after 120 years: {}", balance[119]);
    // ANCHOR_END: scan
    let expected = (0..40).fold(0.0_f64, |balance, _| balance * 1.02 + 100.0);
    assert!((f64::from(balance[39]) / expected - 1.0).abs() < 1e-5, "{} and {expected}", balance[39]);
    Ok(())
}
