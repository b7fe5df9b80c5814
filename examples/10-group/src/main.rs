//! A vector that is divided among GPUs which work as one: those of this machine, or those of all processes that
//! torchrun, mpirun or srun has started. Where there are none, simulators take part.

use rustwarp::{Device, Error, Group, Launcher};

fn main() -> Result<(), Error> {
    let group = group()?;
    // Each process makes the parts of its own ranks only.
    let x = group.shard_with(30_000, |part| Ok(part.map(|i| i as i64).collect()))?;
    let (sum, largest) = (group.sum(&x)?, group.max(&x)?);
    let sums = group.inclusive_scan(&x)?;
    assert_eq!(group.max(&sums)?, sum);
    // Every rank has the results; one prints them.
    if group.ranks().contains(&0) {
        println!("sum {sum}, largest {largest}, on {} devices", group.size());
    }
    Ok(())
}

/// The GPUs of this machine; this process's place among the others, if a launcher has started it.
fn group() -> Result<Group, Error> {
    if let Some(launcher) = Launcher::from_environment()? {
        let device = match Device::gpu(launcher.local_rank as u32) {
            Err(Error::NoDevice(_)) => Device::sim()?,
            other => other?,
        };
        return Group::join(device, &launcher);
    }
    match Group::all() {
        Err(Error::NoDevice(_)) => Group::simulated(3),
        other => other,
    }
}
