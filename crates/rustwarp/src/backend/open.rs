//! Opens devices, and lists them.

use super::allocation::Foreign;
use super::info::DeviceInfo;
use super::interface::Backend;
use super::observed::{Device, Entry};
use super::options::{Checks, Choice, Printed};
use super::streams::RawStream;
use super::{gpu, sim};
use crate::error::{Error, Result};

/// Opens the simulator and explains every launch for a device: a built-in name such as `H200`, or a TOML file.
///
/// # Errors
/// [`Error::Argument`] for an unknown profile.
pub fn explaining(profile: &str, printed: Printed) -> Result<(Box<dyn Backend>, Device)> {
    explaining_larger(profile, 1.0, printed)
}

/// Opens the simulator as [`explaining`] does, with estimates at the rates of memory of launches that move `times` as
/// much data: small launches that stand for large ones.
///
/// # Errors
/// Those of [`explaining`].
pub fn explaining_larger(profile: &str, times: f64, printed: Printed) -> Result<(Box<dyn Backend>, Device)> {
    let sim = sim::Sim::explaining(profile, times, printed)?;
    let device = sim.device().ok_or_else(|| Error::Argument(format!("unknown device profile `{profile}`")))?;
    Ok((Box::new(sim), device))
}

/// Opens a device. `Choice::Auto` takes the simulator if there is no driver or no GPU; the text names the device and
/// the reason.
///
/// # Errors
/// [`Error::NoDevice`] if the requested GPU does not exist; [`Error::Device`] if a GPU or its driver is there and
/// fails, also for `Choice::Auto`.
pub fn open(choice: Choice, checks: Checks) -> Result<(Box<dyn Backend>, String)> {
    open_printing(choice, checks, Printed::Stdout)
}

/// Opens a device as [`open`] does, with a destination for the text that simulated kernels print.
///
/// # Errors
/// Those of [`open`].
pub fn open_printing(choice: Choice, checks: Checks, printed: Printed) -> Result<(Box<dyn Backend>, String)> {
    open_with(choice, || sim::Sim::new(checks, printed))
}

/// Opens a device whose faults are reported where work is awaited, also by the simulator.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn open_asynchronous(choice: Choice) -> Result<(Box<dyn Backend>, String)> {
    open_with(choice, || sim::Sim::with_faults(Checks::Bounds, Printed::Stdout, sim::Faults::Awaited))
}

/// Uses a context and a stream of the CUDA driver that another library has made.
///
/// # Errors
/// [`Error::NoDevice`] if there is no driver; [`Error::Device`] if the driver fails.
///
/// # Safety
/// The stream belongs to the context, and both exist as long as `owner`, which is dropped after the device, its streams
/// and its memory.
pub(crate) unsafe fn adopt(raw: RawStream, owner: Foreign) -> Result<Box<dyn Backend>> {
    // SAFETY: this function has the same contract.
    Ok(Box::new(unsafe { gpu::Gpu::adopt(raw, owner)? }))
}

fn open_with(choice: Choice, sim: impl FnOnce() -> sim::Sim) -> Result<(Box<dyn Backend>, String)> {
    match choice {
        Choice::Sim => Ok((Box::new(sim()), "using the simulator, as requested".to_owned())),
        Choice::Gpu(number) => {
            let gpu = gpu::Gpu::open(number)?;
            let text = format!("using {} ({}), as requested", gpu.info().device, gpu.info().name);
            Ok((Box::new(gpu), text))
        }
        Choice::Auto => first_or_simulator(gpu::Gpu::open(0), sim),
    }
}

/// The first GPU, or the simulator if there is none.
fn first_or_simulator<B: Backend + 'static>(
    first: Result<B>,
    sim: impl FnOnce() -> sim::Sim,
) -> Result<(Box<dyn Backend>, String)> {
    match first {
        Ok(gpu) => {
            let text = format!("using {} ({}), since it is present", gpu.info().device, gpu.info().name);
            Ok((Box::new(gpu), text))
        }
        Err(Error::NoDevice(reason)) => Ok((Box::new(sim()), format!("using the simulator: {reason}"))),
        Err(error) => Err(error),
    }
}

/// The entries of a PTX file; `None` for a file that the simulator cannot parse (a cubin, unsupported PTX).
pub fn entries(image: &[u8]) -> Option<Vec<Entry>> {
    sim::entries(image)
}

/// Lists the GPUs.
///
/// # Errors
/// [`Error::NoDevice`] if there is no driver.
pub fn gpus() -> Result<Vec<DeviceInfo>> {
    gpu::list()
}

/// Properties of the simulator, as `host devices` shows them.
pub fn simulator() -> DeviceInfo {
    sim::Sim::new(Checks::Bounds, Printed::Stdout).info().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_gpu_leads_to_the_simulator() {
        let sim = || sim::Sim::new(Checks::Bounds, Printed::Stdout);
        let open = |error| first_or_simulator::<sim::Sim>(Err(error), sim);
        let (device, text) = open(Error::NoDevice("no driver".to_owned())).expect("the simulator");
        assert_eq!((device.info().is_gpu(), text.as_str()), (false, "using the simulator: no driver"));
        assert!(matches!(open(Error::Device("out of memory".to_owned())), Err(Error::Device(_))));
    }
}
