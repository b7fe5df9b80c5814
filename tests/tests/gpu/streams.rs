//! Streams, events, pinned memory, pools, graphs and several devices.

use libtest_mimic::Trial;
use rustwarp::{Device, Error};
use tests::asynchronous::{ALL, a_fault_is_awaited, two_devices};

use crate::{again, failed, trial};

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<_> = ALL
        .iter()
        .map(|&(name, test)| Trial::test(name, move || Device::gpu(0).and_then(|device| test(&device)).map_err(failed)))
        .collect();
    trials.push(Trial::test("two_devices", || devices().map_err(failed)));
    trials.push(trial("a_fault_is_awaited", fault));
    trials
}

/// Where there is one GPU, it takes part twice, or with the simulator.
fn devices() -> rustwarp::Result<()> {
    let (one, sim) = (Device::gpu(0)?, Device::sim()?);
    let other = match Device::gpu(1) {
        Err(Error::NoDevice(_)) => Device::gpu(0),
        other => other,
    };
    two_devices(&one, &other?)?;
    two_devices(&one, &sim)?;
    two_devices(&sim, &one)
}

/// A fault ends the process's context, so it happens in a child process.
fn fault() {
    const CHILD: &str = "RUSTWARP_TEST_AWAITED_FAULT";
    if std::env::var_os(CHILD).is_some() {
        let device = Device::gpu(0).expect("a GPU");
        return a_fault_is_awaited(&device).expect("an awaited fault");
    }
    let child = again("a_fault_is_awaited").env(CHILD, "1").output().expect("a child");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}
