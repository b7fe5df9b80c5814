//! Streams, events, pinned memory, pools, graphs and several devices on the simulator.

use libtest_mimic::{Arguments, Failed, Trial};
use rustwarp::Device;
use tests::asynchronous::{ALL, a_fault_is_awaited, two_devices};

fn main() {
    let of = |name: &str, test: fn() -> rustwarp::Result<()>| {
        Trial::test(name, move || test().map_err(|error| Failed::from(error.to_string())))
    };
    let mut trials: Vec<_> = ALL
        .iter()
        .map(|&(name, test)| {
            Trial::test(name, move || test(&Device::sim()?).map_err(|error| Failed::from(error.to_string())))
        })
        .collect();
    trials.push(of("two_devices", || two_devices(&Device::sim()?, &Device::sim()?)));
    trials.push(of("a_fault_is_awaited", || a_fault_is_awaited(&Device::sim()?)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
