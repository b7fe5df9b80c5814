//! The simulator backend. Besides this folder, `observed`, `occupancy` and `options` are the only files that name
//! `ptx_sim`.

mod entries;
mod explains;
mod programs;
mod report;
mod streams;
pub(super) mod tensor_map;
mod texture;

use super::capacity::host_memory;
use super::identity::{DeviceId, Module};
use super::info::DeviceInfo;
use super::interface::Backend;
use super::observed::{Device, Observed};
use super::options::{Atomics, Checkers, Checks, Printed, SameValue, Simulation, Volatile};
use super::sampling::Sampling;
use super::shape::Shape;
use super::streams::Streams;
use super::tensor_map::TensorLayout;
use super::units::human;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::sync::lock;
use cuda_std::launch::Call;
use cuda_std::memory::TensorMap;
pub(super) use entries::entries;
use explains::Explains;
use report::{explain, explain_in, fidelity, finding};
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use streams::Step;

/// Number of multiprocessors that grids are sized for: the same on every machine, so that float sums are the same too.
const MULTIPROCESSORS: u32 = 16;

/// Maximum dynamic shared memory of a block in bytes: that of the largest GPU.
const MAX_SHARED: u32 = 227 * 1024;

/// One stream of a simulated GPU. Each launch has ended when `launch` returns, so streams run one after the other.
pub(super) struct Sim {
    shared: Arc<Shared>,
    /// The work of a capture so far.
    recording: Mutex<Option<Vec<Step>>>,
}

/// A simulated GPU.
struct Shared {
    id: DeviceId,
    info: DeviceInfo,
    /// How every launch is explained, if it is.
    explains: Option<Explains>,
    machine: Mutex<ptx_sim::Machine>,
    /// The loaded modules with their names.
    modules: Mutex<Vec<(String, Arc<ptx_sim::Program>)>>,
    observed: Mutex<Observed>,
    /// Bytes that the host has read since the last launch; `None` if it has read nothing.
    read: Mutex<Option<u64>>,
    printed: Printed,
    /// Memory of each texture, by its handle.
    textures: Mutex<HashMap<u64, u64>>,
    /// The graphs, by their numbers.
    graphs: Mutex<HashMap<u64, Vec<Step>>>,
    faults: Faults,
    /// The first fault, if faults are kept: every later call reports it.
    fault: Mutex<Option<Box<Diagnostic>>>,
}

/// When the fault of a kernel is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Faults {
    /// The launch reports it, and later calls run.
    AtLaunch,
    /// The next call that waits reports it, and so does every later call, as on a GPU.
    Awaited,
}

impl Sim {
    /// Creates a simulator with empty memory.
    pub fn new(checks: Checks, printed: Printed) -> Self {
        Self::with_faults(checks, printed, Faults::AtLaunch)
    }

    /// Creates a simulator with empty memory, which reports faults as given.
    pub fn with_faults(checks: Checks, printed: Printed, faults: Faults) -> Self {
        let config = ptx_sim::Config {
            checks: match checks {
                Checks::Bounds => ptx_sim::Checks::default(),
                Checks::On(checkers) => watch(checkers),
            },
            ..ptx_sim::Config::default()
        };
        Self::of(config, MULTIPROCESSORS, None, printed, faults)
    }

    /// Creates a simulator with the grid sizes of the device of this name (or TOML file), which explains its launches
    /// with the device's times, each as one that moves `stands_for` times as much data.
    ///
    /// # Errors
    /// [`Error::Argument`] for an unknown profile.
    pub fn explaining(profile: &str, stands_for: f64, printed: Printed) -> Result<Self> {
        let profile = ptx_sim::profile::Profile::find(profile).map_err(|stop| explain(&stop, "choosing a device"))?;
        let mut trace = ptx_sim::Trace::default();
        trace.every = profile.multiprocessors;
        let config = ptx_sim::Config { profile: profile.clone(), trace: Some(trace), ..ptx_sim::Config::default() };
        let multiprocessors = profile.multiprocessors;
        let explains = Explains { profile, stands_for };
        Ok(Self::of(config, multiprocessors, Some(explains), printed, Faults::AtLaunch))
    }

    fn of(
        config: ptx_sim::Config,
        multiprocessors: u32,
        explains: Option<Explains>,
        printed: Printed,
        faults: Faults,
    ) -> Self {
        let shared = Shared {
            id: DeviceId::next(),
            info: DeviceInfo {
                device: "sim".into(),
                name: "the simulator".into(),
                sm: None,
                memory: host_memory("MemTotal:"),
                multiprocessors,
                max_block: 1024,
                max_shared: MAX_SHARED,
                l2: 0,
                peak_gbps: None,
                clock_mhz: None,
                driver: None,
            },
            explains,
            machine: Mutex::new(ptx_sim::Machine::new(config)),
            modules: Mutex::default(),
            observed: Mutex::default(),
            read: Mutex::default(),
            printed,
            textures: Mutex::default(),
            graphs: Mutex::default(),
            faults,
            fault: Mutex::default(),
        };
        Self { shared: Arc::new(shared), recording: Mutex::default() }
    }

    /// The device for which times are estimated.
    pub fn device(&self) -> Option<Device> {
        self.shared.explains.as_ref().map(Explains::device)
    }
}

// SAFETY: the machine bounds every access, and frees only what it allocated; a launch has ended when it returns.
unsafe impl Backend for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    fn stream(&self) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Self { shared: Arc::clone(&self.shared), recording: Mutex::default() }))
    }

    fn free_memory(&self) -> Result<u64> {
        // Data exists twice in this machine's memory: in the caller's arrays and in the simulated device's memory.
        Ok(host_memory("MemAvailable:") / 2)
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
        let text =
            text.ok_or_else(|| Error::BadPtx(format!("{name} is not PTX text: the simulator runs no other format")))?;
        let program = programs::parsed(text).map_err(|error| Error::BadPtx(format!("{name}: {error}")))?;
        let mut modules = lock(&self.shared.modules);
        modules.push((name.to_owned(), program));
        Ok(Module::new(self.shared.id, modules.len() - 1))
    }

    fn alloc(&self, bytes: u64, _align: u64, name: &str) -> Result<u64> {
        // All addresses are multiples of 256, as a driver's are.
        let address = lock(&self.shared.machine).alloc(bytes, name);
        address.map_err(|stop| match explain(&stop, &format!("allocating {} for `{name}`", human(bytes))) {
            // The machine has one reason to refuse an allocation.
            Error::Argument(text) => Error::OutOfMemory(text),
            other => other,
        })
    }

    unsafe fn free(&self, address: u64) {
        // This fails only for an address that `alloc` did not return.
        let _ = lock(&self.shared.machine).free(address);
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.refuse_in_capture("copying from memory of the host")?;
        self.shared.check()?;
        if let Some(bytes) = lock(&self.shared.read).take() {
            lock(&self.shared.observed).between.host.push(bytes);
        }
        // SAFETY: this function has the same contract.
        unsafe { self.initialise(address, bytes) }
    }

    unsafe fn initialise(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.shared.write(address, bytes)
    }

    unsafe fn clear(&self, address: u64, bytes: u64) -> Result<()> {
        self.shared.fill(address, 0, bytes)
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.refuse_in_capture("copying to memory of the host")?;
        self.shared.check()?;
        if !lock(&self.shared.observed).launches.is_empty() {
            *lock(&self.shared.read).get_or_insert(0) += bytes.len() as u64;
        }
        self.shared.read(address, bytes)
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        self.step(Step::Fill { address, byte, bytes })
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.step(Step::Copy { to, from, bytes })
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        self.make_texture(sampling, texels, name)
    }

    unsafe fn free_texture(&self, handle: u64) {
        let address = lock(&self.shared.textures).remove(&handle);
        if let Some(address) = address {
            // SAFETY: `alloc` returned the address for this texture alone, which does not exist any more.
            unsafe { self.free(address) };
        }
    }

    fn tensor_map(&self, layout: &TensorLayout) -> Result<TensorMap> {
        tensor_map::tensor_map(layout)
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        shape.require_dimensions(call)?;
        module.index_on(self.shared.id, &self.shared.info)?;
        if lock(&self.recording).is_some() {
            return self.step(Step::launch(module, call, shape));
        }
        self.shared.launch(module, call, shape)
    }

    fn synchronize(&self) -> Result<()> {
        self.refuse_in_capture("waiting")?;
        self.shared.check()
    }

    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
        self.refuse_in_capture("measuring times")?;
        run().map(|()| None)
    }

    fn simulate(&self, how: &Simulation) -> Result<()> {
        let mut machine = lock(&self.shared.machine);
        let config = machine.config_mut();
        if let Some(profile) = &how.profile {
            let found = ptx_sim::Profile::find(profile);
            config.profile = found.map_err(|stop| explain(&stop, "choosing a device profile"))?;
        }
        let Simulation { seed, fuel, timeout, keep_going, .. } = *how;
        *config = ptx_sim::Config { seed, fuel, timeout, keep_going, ..config.clone() };
        config.workers = how.workers.map_or(config.workers, |workers| workers as usize);
        Ok(())
    }

    fn observed(&self) -> Option<Observed> {
        *lock(&self.shared.read) = None;
        Some(std::mem::take(&mut *lock(&self.shared.observed)))
    }
}

impl Shared {
    /// Reports the fault of an earlier kernel.
    fn check(&self) -> Result<()> {
        lock(&self.fault).clone().map_or(Ok(()), |fault| Err(Error::Fault(fault)))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let result = lock(&self.machine).write(address, bytes);
        result.map_err(|stop| explain(&stop, "copying to the simulator"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let result = lock(&self.machine).read(address, bytes);
        result.map_err(|stop| explain(&stop, "copying from the simulator"))
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        let result = lock(&self.machine).fill(address, byte, bytes);
        result.map_err(|stop| explain(&stop, "filling memory"))
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        lock(&self.observed).between.copies += 1;
        let mut buffer = vec![0; bytes as usize];
        self.read(from, &mut buffer)?;
        self.write(to, &buffer)
    }

    /// Runs a kernel. Its fault is kept for a later call where that reports it.
    fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        self.check()?;
        match self.run(module, call, shape) {
            Err(Error::Fault(fault)) if self.faults == Faults::Awaited => {
                *lock(&self.fault) = Some(fault);
                Ok(())
            }
            result => result,
        }
    }

    fn run(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        *lock(&self.read) = None;
        let modules = lock(&self.modules);
        let (name, program) = &modules[module.index_on(self.id, &self.info)?];
        let launch = ptx_sim::Launch {
            entry: &call.entry,
            grid: shape.grid,
            block: shape.block,
            dynamic_shared: u64::from(shape.shared),
            params: &call.params,
            cluster: shape.cluster,
            cooperative: shape.cooperative,
            ..ptx_sim::Launch::default()
        };
        let report = lock(&self.machine).launch(program, &launch);
        let report = report.map_err(|stop| {
            // The text that a failed kernel has printed may explain the fault.
            print(stop.printed(), self.printed);
            lock(&self.observed).findings.extend(stop.findings().iter().map(|found| finding(found, name)));
            explain_in(&stop, name, &format!("running `{}` with {shape}", call.entry))
        })?;
        print(&report.printed, self.printed);
        let mut observed = lock(&self.observed);
        observed.counters += report.counters;
        observed.findings.extend(report.findings.iter().map(|found| finding(found, name)));
        observed.fidelity = report.fidelity(program).into_iter().map(fidelity).collect();
        if let Some(explains) = &self.explains {
            observed.launches.push(explains.analyse(program, &launch, &report)?);
        }
        Ok(())
    }
}

fn watch(checkers: Checkers) -> ptx_sim::Checks {
    let same_value_writes = match checkers.same_value {
        SameValue::Report => ptx_sim::SameValue::Report,
        SameValue::Ignore => ptx_sim::SameValue::Ignore,
    };
    let atomics = policy(checkers.atomics);
    let volatile = match checkers.volatile {
        Volatile::Strong => ptx_sim::Volatile::Strong,
        Volatile::Weak => ptx_sim::Volatile::Weak,
    };
    ptx_sim::Checks { atomics, same_value_writes, volatile, ..checkers.on }
}

fn policy(atomics: Atomics) -> Option<ptx_sim::Atomics> {
    match atomics {
        Atomics::Auto => None,
        Atomics::Source => Some(ptx_sim::Atomics::Source),
        Atomics::Ptx => Some(ptx_sim::Atomics::Ptx),
    }
}

fn print(text: &str, to: Printed) {
    // A failure (a closed pipe) is ignored, since the results are still valid.
    let _ = match to {
        Printed::Stdout => std::io::stdout().write_all(text.as_bytes()),
        Printed::Stderr => std::io::stderr().write_all(text.as_bytes()),
    };
}
