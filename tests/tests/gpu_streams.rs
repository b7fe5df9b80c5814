//! Streams, events, pinned memory, pools, graphs and several devices on a GPU. The tests are compiled with
//! `--features gpu` only; then a missing GPU is a failure.

use libtest_mimic::{Arguments, Failed, Trial};
use rustwarp::{Device, Error};
use tests::asynchronous::{ALL, a_fault_is_awaited, two_devices};

fn main() {
    // A fault ends the process's context, so that test runs in a child process.
    const CHILD: &str = "RUSTWARP_TEST_AWAITED_FAULT";
    let failed = |error: Error| Failed::from(error.to_string());
    if std::env::var_os(CHILD).is_some() {
        if let Err(error) = Device::gpu(0).and_then(|device| a_fault_is_awaited(&device)) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let mut trials: Vec<_> = ALL
        .iter()
        .map(|&(name, test)| Trial::test(name, move || Device::gpu(0).and_then(|device| test(&device)).map_err(failed)))
        .collect();
    trials.push(Trial::test("two_devices", move || {
        // Where there is one GPU, it takes part twice, or with the simulator.
        let (one, sim) = (Device::gpu(0).map_err(failed)?, Device::sim().map_err(failed)?);
        let other = match Device::gpu(1) {
            Err(Error::NoDevice(_)) => Device::gpu(0),
            other => other,
        };
        two_devices(&one, &other.map_err(failed)?).map_err(failed)?;
        two_devices(&one, &sim).map_err(failed)?;
        two_devices(&sim, &one).map_err(failed)
    }));
    trials.push(Trial::test("a_fault_is_awaited", move || {
        let child = std::process::Command::new(std::env::current_exe()?).env(CHILD, "1").output()?;
        match child.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&child.stderr).into_owned().into()),
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
