//! The simulator. Beside `occupancy`, the only file that names `ptx_sim`.

use super::{
    Atomics, Backend, Checks, Counters, Device, DeviceInfo, Entry, Fidelity, Module, Observed, Printed, Shape,
    Simulation, host_memory, human,
};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use cuda_std::launch::Call;
pub use ptx_sim::explain::{Analysis, Line as SourceLine};
use std::cell::RefCell;
use std::io::Write;

/// What grids are sized for: the same on every machine, so that sums of floats are the same too.
const MULTIPROCESSORS: u32 = 16;

/// Most dynamic shared memory of a block: what the largest GPU allows.
const MAX_SHARED: u32 = 227 * 1024;

/// A simulated GPU. Runs each launch to its end before `launch` returns.
pub(super) struct Sim {
    info: DeviceInfo,
    /// Explains every launch for this device.
    explains: Option<ptx_sim::profile::Profile>,
    machine: RefCell<ptx_sim::Machine>,
    modules: RefCell<Vec<ptx_sim::Program>>,
    observed: RefCell<Observed>,
    printed: Printed,
}

impl Sim {
    /// A machine with empty memory.
    pub fn new(checks: Checks, printed: Printed) -> Self {
        let config = ptx_sim::Config {
            checks: match checks {
                Checks::Bounds => ptx_sim::Checks::default(),
                Checks::All(atomics) => ptx_sim::Checks { atomics: policy(atomics), ..ptx_sim::Checks::ALL },
            },
            ..ptx_sim::Config::default()
        };
        Self {
            info: DeviceInfo {
                device: "sim".into(),
                name: "the simulator".into(),
                sm: None,
                memory: host_memory("MemTotal:"),
                multiprocessors: MULTIPROCESSORS,
                max_block: 1024,
                max_shared: MAX_SHARED,
                l2: 0,
                peak_gbps: None,
                clock_mhz: None,
                driver: None,
            },
            explains: None,
            machine: RefCell::new(ptx_sim::Machine::new(config)),
            modules: RefCell::default(),
            observed: RefCell::default(),
            printed,
        }
    }
}

impl Sim {
    /// A machine that is like the device of this name (or TOML file) as far as grids and times go, and explains its launches.
    pub fn explaining(profile: &str, printed: Printed) -> Result<Self> {
        let profile = ptx_sim::profile::Profile::find(profile).map_err(|stop| explain(&stop, "choosing a device"))?;
        let mut sim = Self::new(Checks::Bounds, printed);
        sim.info.multiprocessors = profile.multiprocessors;
        let config = ptx_sim::Config {
            profile: profile.clone(),
            trace: Some(ptx_sim::Trace::default()),
            ..ptx_sim::Config::default()
        };
        sim.machine = RefCell::new(ptx_sim::Machine::new(config));
        sim.explains = Some(profile);
        Ok(sim)
    }

    /// The device that times are estimated for.
    pub fn device(&self) -> Option<Device> {
        self.explains.as_ref().map(|profile| Device {
            name: profile.name.clone(),
            multiprocessors: profile.multiprocessors,
            memory_gbps: profile.memory_gbps,
            fp32_gflops: profile.fp32_gflops,
            fp64_gflops: profile.fp64_gflops,
        })
    }
}

impl Backend for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_memory(&self) -> Result<u64> {
        // The data is here twice: once as the caller's, once as the simulated device's.
        Ok(host_memory("MemAvailable:") / 2)
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
        let text =
            text.ok_or_else(|| Error::BadPtx(format!("{name} is no PTX text, and the simulator runs nothing else")))?;
        let program = ptx_sim::Program::parse(text).map_err(|error| Error::BadPtx(format!("{name}: {error}")))?;
        let mut modules = self.modules.borrow_mut();
        modules.push(program);
        Ok(Module(modules.len() - 1))
    }

    fn alloc(&self, bytes: u64, name: &str) -> Result<u64> {
        let address = self.machine.borrow_mut().alloc(bytes, name);
        address.map_err(|stop| explain(&stop, &format!("allocating {} for '{name}'", human(bytes))))
    }

    fn free(&self, address: u64) {
        // Fails only for an address that `alloc` did not give.
        let _ = self.machine.borrow_mut().free(address);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let result = self.machine.borrow_mut().write(address, bytes);
        result.map_err(|stop| explain(&stop, "copying to the simulator"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let result = self.machine.borrow_mut().read(address, bytes);
        result.map_err(|stop| explain(&stop, "copying from the simulator"))
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        let result = self.machine.borrow_mut().fill(address, byte, bytes);
        result.map_err(|stop| explain(&stop, "filling memory"))
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.observed.borrow_mut().copies += 1;
        let mut buffer = vec![0; bytes as usize];
        self.read(from, &mut buffer)?;
        self.write(to, &buffer)
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        let modules = self.modules.borrow();
        let launch = ptx_sim::Launch {
            entry: &call.entry,
            grid: shape.grid,
            block: shape.block,
            dynamic_shared: u64::from(shape.shared),
            params: &call.params,
            ..ptx_sim::Launch::default()
        };
        let report = self.machine.borrow_mut().launch(&modules[module.0], &launch);
        let report = report.map_err(|stop| {
            // A kernel that broke has often said why.
            print(stop.printed(), self.printed);
            self.observed.borrow_mut().findings.extend(stop.findings().iter().map(finding));
            explain(&stop, &format!("running '{}' with {shape}", call.entry))
        })?;
        print(&report.printed, self.printed);
        let mut observed = self.observed.borrow_mut();
        observed.counters += counters(&report.counters);
        observed.findings.extend(report.findings.iter().map(finding));
        observed.fidelity = report.fidelity(&modules[module.0]).into_iter().map(fidelity).collect();
        if let Some(profile) = &self.explains {
            let costs = ptx_sim::explain::Costs::default();
            let analysis = ptx_sim::explain::analyse(&modules[module.0], &launch, &report, profile, &costs);
            observed.launches.push(analysis.map_err(|stop| explain(&stop, "explaining a launch"))?);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
        run()?;
        Ok(None)
    }

    fn simulate(&self, how: &Simulation) -> Result<()> {
        let mut machine = self.machine.borrow_mut();
        if let Some(profile) = &how.profile {
            machine.config_mut().profile =
                ptx_sim::Profile::find(profile).map_err(|stop| explain(&stop, "choosing a device profile"))?;
        }
        machine.config_mut().seed = how.seed;
        Ok(())
    }

    fn observed(&self) -> Option<Observed> {
        Some(self.observed.take())
    }
}

fn fidelity(line: ptx_sim::fidelity::Line) -> Fidelity {
    let (fidelity, bound) = match line.fidelity {
        ptx_sim::fidelity::Fidelity::Exact => ("exact", None),
        ptx_sim::fidelity::Fidelity::Approximate(bound) => ("approximate", Some(bound)),
        ptx_sim::fidelity::Fidelity::Unspecified(why) => ("unspecified", Some(why)),
        ptx_sim::fidelity::Fidelity::Unsupported => ("unsupported", None),
    };
    Fidelity { opcode: line.opcode, fidelity, bound, executions: line.executed, lines: line.lines }
}

fn policy(atomics: Atomics) -> Option<ptx_sim::Atomics> {
    match atomics {
        Atomics::Auto => None,
        Atomics::Source => Some(ptx_sim::Atomics::Source),
        Atomics::Ptx => Some(ptx_sim::Atomics::Ptx),
    }
}

/// The same counters under the same names.
macro_rules! copied {
    ($counted:ident: $($name:ident)*) => { Counters { $($name: $counted.$name,)* } };
}

fn counters(counted: &ptx_sim::Counters) -> Counters {
    copied!(counted:
        warp_instructions
        thread_instructions
        predicated_on
        branches
        divergent_branches
        unconditional_branches
        shared_requests
        shared_loads
        shared_stores
        shared_wavefronts
        shared_load_wavefronts
        shared_ideal_wavefronts
        bank_conflicts
        shared_bytes
        global_requests
        global_loads
        global_stores
        global_sectors
        global_load_sectors
        global_store_sectors
        global_ideal_sectors
        global_bytes
        global_load_bytes
        global_store_bytes
        atomics
        shared_atomics
        shared_atomic_wavefronts
        global_atomics
        global_reductions
        global_atomic_sectors
        global_reduction_sectors
        atomic_lanes
        atomic_addresses
        barriers
        local_requests
        local_loads
        local_stores
        local_sectors
        local_load_sectors
        local_store_sectors
        local_bytes
        f16_flops
        f32_flops
        f64_flops
        tensor_flops
        integer_operations
    )
}

fn print(text: &str, to: Printed) {
    // Nobody reads it any more when this fails (a closed pipe), and the results still count.
    let _ = match to {
        Printed::Stdout => std::io::stdout().write_all(text.as_bytes()),
        Printed::Stderr => std::io::stderr().write_all(text.as_bytes()),
    };
}

/// The entries of PTX that the simulator can read.
pub(super) fn entries(image: &[u8]) -> Option<Vec<Entry>> {
    let program = ptx_sim::Program::parse(std::str::from_utf8(image).ok()?).ok()?;
    let entry = |function: &ptx_sim::program::Function| Entry {
        name: function.name.clone(),
        params: function.params.iter().map(|param| (param.name.clone(), param.size)).collect(),
    };
    Some(program.entries().map(entry).collect())
}

fn finding(finding: &ptx_sim::Finding) -> Diagnostic {
    describe("finding", &finding.diagnostic, finding.to_string())
}

fn describe(kind: &'static str, diagnostic: &ptx_sim::stop::Diagnostic, text: String) -> Diagnostic {
    let source = diagnostic.place.as_ref().and_then(ptx_sim::stop::Place::user_source);
    Diagnostic {
        kind,
        code: diagnostic.code.to_owned(),
        title: diagnostic.title.clone(),
        file: source.map(|source| source.file.clone()),
        line: source.map(|source| source.line),
        block: diagnostic.thread.map(|thread| thread.block),
        thread: diagnostic.thread.map(|thread| thread.thread),
        text,
    }
}

/// A fault is a report of several lines with every place involved; what the caller did wrong is one line.
fn explain(stop: &ptx_sim::Stop, attempt: &str) -> Error {
    let report = || format!("{attempt} failed\n{stop}");
    match stop.kind() {
        ptx_sim::StopKind::Fault => Error::Fault(Box::new(describe("fault", stop.diagnostic(), report()))),
        ptx_sim::StopKind::Stuck => Error::Fault(Box::new(describe("stuck", stop.diagnostic(), report()))),
        ptx_sim::StopKind::Unsupported => Error::Unsupported(report()),
        ptx_sim::StopKind::Usage => {
            let diagnostic = stop.diagnostic();
            let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
            Error::Usage(format!("{attempt}: {}{}", diagnostic.title, help.unwrap_or_default()))
        }
    }
}
