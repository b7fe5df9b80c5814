//! The simulator backend. Besides `observed`, `occupancy` and `options`, this is the only file that names `ptx_sim`.

use super::capacity::host_memory;
use super::interface::{Backend, DeviceId, DeviceInfo, Module, Shape};
use super::observed::{Device, Entry, Fidelity, Observed};
use super::options::{Atomics, Checkers, Checks, Printed, SameValue, Simulation};
use super::sampling::{AddressMode, Channel, Filter, Layout, Sampling};
use super::units::human;
use crate::diagnostic::{Diagnostic, Place, Position};
use crate::error::{Error, Result};
use cuda_std::launch::Call;
use ptx_sim::Style;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;

/// Number of multiprocessors that grids are sized for: the same on every machine, so that float sums are the same too.
const MULTIPROCESSORS: u32 = 16;

/// Maximum dynamic shared memory of a block in bytes: that of the largest GPU.
const MAX_SHARED: u32 = 227 * 1024;

/// A simulated GPU. Each launch has ended when `launch` returns.
pub(super) struct Sim {
    id: DeviceId,
    info: DeviceInfo,
    /// The device for which every launch is explained, if any.
    explains: Option<ptx_sim::profile::Profile>,
    machine: RefCell<ptx_sim::Machine>,
    /// The loaded modules with their names.
    modules: RefCell<Vec<(String, ptx_sim::Program)>>,
    observed: RefCell<Observed>,
    printed: Printed,
    /// Memory of each texture, by its handle.
    textures: RefCell<HashMap<u64, u64>>,
}

impl Sim {
    /// Creates a simulator with empty memory.
    pub fn new(checks: Checks, printed: Printed) -> Self {
        let config = ptx_sim::Config {
            checks: match checks {
                Checks::Bounds => ptx_sim::Checks::default(),
                Checks::On(checkers) => watch(checkers),
            },
            ..ptx_sim::Config::default()
        };
        Self {
            id: DeviceId::next(),
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
            textures: RefCell::default(),
        }
    }
}

impl Sim {
    /// Creates a simulator with the grid sizes of the device of this name (or TOML file), which explains its launches
    /// with the device's times.
    ///
    /// # Errors
    /// [`Error::Argument`] for an unknown profile.
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

    /// The device for which times are estimated.
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

// SAFETY: the machine bounds every access, and frees only what it allocated; a launch has ended when it returns.
unsafe impl Backend for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_memory(&self) -> Result<u64> {
        // Data exists twice in this machine's memory: in the caller's arrays and in the simulated device's memory.
        Ok(host_memory("MemAvailable:") / 2)
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
        let text =
            text.ok_or_else(|| Error::BadPtx(format!("{name} is not PTX text: the simulator runs no other format")))?;
        let program = ptx_sim::Program::parse(text).map_err(|error| Error::BadPtx(format!("{name}: {error}")))?;
        let mut modules = self.modules.borrow_mut();
        modules.push((name.to_owned(), program));
        Ok(Module::new(self.id, modules.len() - 1))
    }

    fn alloc(&self, bytes: u64, _align: u64, name: &str) -> Result<u64> {
        // All addresses are multiples of 256, as a driver's are.
        let address = self.machine.borrow_mut().alloc(bytes, name);
        address.map_err(|stop| match explain(&stop, &format!("allocating {} for `{name}`", human(bytes))) {
            // The machine has one reason to refuse an allocation.
            Error::Argument(text) => Error::OutOfMemory(text),
            other => other,
        })
    }

    unsafe fn free(&self, address: u64) {
        // This fails only for an address that `alloc` did not return.
        let _ = self.machine.borrow_mut().free(address);
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let result = self.machine.borrow_mut().write(address, bytes);
        result.map_err(|stop| explain(&stop, "copying to the simulator"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let result = self.machine.borrow_mut().read(address, bytes);
        result.map_err(|stop| explain(&stop, "copying from the simulator"))
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        let result = self.machine.borrow_mut().fill(address, byte, bytes);
        result.map_err(|stop| explain(&stop, "filling memory"))
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.observed.borrow_mut().copies += 1;
        let mut buffer = vec![0; bytes as usize];
        // SAFETY: this function has the contract of both.
        unsafe {
            self.read(from, &mut buffer)?;
            self.write(to, &buffer)
        }
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        let address = self.alloc(texels.len() as u64, 256, name)?;
        // SAFETY: the memory was allocated above for these bytes.
        let made = unsafe { self.write(address, texels) }.and_then(|()| {
            let made = self.machine.borrow_mut().texture(&texture(sampling, address));
            made.map_err(|stop| explain(&stop, &format!("making the texture `{name}`")))
        });
        match made {
            Ok(handle) => {
                self.textures.borrow_mut().insert(handle, address);
            }
            // SAFETY: the memory was allocated above, and its address is not stored anywhere.
            Err(_) => unsafe { self.free(address) },
        }
        made
    }

    unsafe fn free_texture(&self, handle: u64) {
        if let Some(address) = self.textures.borrow_mut().remove(&handle) {
            // SAFETY: `alloc` returned the address for this texture alone, which does not exist any more.
            unsafe { self.free(address) };
        }
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        let modules = self.modules.borrow();
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
        let report = self.machine.borrow_mut().launch(program, &launch);
        let report = report.map_err(|stop| {
            // The text that a failed kernel has printed may explain the fault.
            print(stop.printed(), self.printed);
            self.observed.borrow_mut().findings.extend(stop.findings().iter().map(|found| finding(found, name)));
            explain_in(&stop, name, &format!("running `{}` with {shape}", call.entry))
        })?;
        print(&report.printed, self.printed);
        let mut observed = self.observed.borrow_mut();
        observed.counters += report.counters;
        observed.findings.extend(report.findings.iter().map(|found| finding(found, name)));
        observed.fidelity = report.fidelity(program).into_iter().map(fidelity).collect();
        if let Some(profile) = &self.explains {
            let costs = ptx_sim::explain::Costs::default();
            let analysis = ptx_sim::explain::analyse(program, &launch, &report, profile, &costs);
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
        if let Some(workers) = how.workers {
            machine.config_mut().workers = workers as usize;
        }
        Ok(())
    }

    fn observed(&self) -> Option<Observed> {
        Some(self.observed.take())
    }
}

/// Describes the texture whose texels are at `address`.
fn texture(sampling: &Sampling, address: u64) -> ptx_sim::texture::Texture {
    use ptx_sim::texture as sim;
    let extent = sampling.extent();
    let layout = match sampling.layout {
        Layout::Linear(elements) => sim::Layout::Linear { address, elements },
        Layout::Array(_) => sim::Layout::Array { address, extent, layered: false },
    };
    let channel = match sampling.channel {
        Channel::U8 => sim::Channel::U8,
        Channel::I8 => sim::Channel::I8,
        Channel::U16 => sim::Channel::U16,
        Channel::I16 => sim::Channel::I16,
        Channel::U32 => sim::Channel::U32,
        Channel::I32 => sim::Channel::I32,
        Channel::F16 => sim::Channel::F16,
        Channel::F32 => sim::Channel::F32,
    };
    sim::Texture {
        filter: match sampling.filter {
            Filter::Point => sim::Filter::Point,
            Filter::Linear => sim::Filter::Linear,
        },
        address: sampling.address.map(|mode| match mode {
            AddressMode::Wrap => sim::AddressMode::Wrap,
            AddressMode::Clamp => sim::AddressMode::Clamp,
            AddressMode::Mirror => sim::AddressMode::Mirror,
            AddressMode::Border => sim::AddressMode::Border,
        }),
        normalized_coordinates: sampling.normalised_coordinates,
        normalized_reads: sampling.normalised_reads,
        ..sim::Texture::new(layout, sim::Format { channel, channels: sampling.channels })
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

fn watch(checkers: Checkers) -> ptx_sim::Checks {
    let same_value_writes = match checkers.same_value {
        SameValue::Report => ptx_sim::SameValue::Report,
        SameValue::Ignore => ptx_sim::SameValue::Ignore,
    };
    let atomics = policy(checkers.atomics);
    ptx_sim::Checks { atomics, same_value_writes, ..checkers.on }
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

/// The entries of PTX that the simulator can read.
pub(super) fn entries(image: &[u8]) -> Option<Vec<Entry>> {
    let program = ptx_sim::Program::parse(std::str::from_utf8(image).ok()?).ok()?;
    let entry = |function: &ptx_sim::program::Function| Entry {
        name: function.name.clone(),
        params: function.params.iter().map(|param| (param.name.clone(), param.size)).collect(),
    };
    Some(program.entries().map(entry).collect())
}

fn finding(finding: &ptx_sim::Finding, module: &str) -> Diagnostic {
    let texts = [finding.render(Style::Plain), finding.render(Style::Colour)];
    Diagnostic { count: finding.count, ..describe("finding", &finding.diagnostic, module, texts) }
}

/// Converts a diagnostic of the simulator. `texts`: the report without colours and with them.
fn describe(kind: &'static str, found: &ptx_sim::stop::Diagnostic, module: &str, texts: [String; 2]) -> Diagnostic {
    let place = |label: Option<String>, place: &ptx_sim::stop::Place| {
        let source = place.user_source();
        Place {
            label,
            file: source.map(|source| source.shown()),
            line: source.map(|source| source.line),
            column: source.map(|source| source.column).filter(|column| *column > 0),
            function: place.function.clone(),
            ptx_file: module.to_owned(),
            ptx_line: place.ptx_line,
            ptx: place.ptx.clone(),
            inlined_at: place.source.iter().map(position).collect(),
        }
    };
    let own = found.place.iter().map(|own| place(found.label.clone(), own));
    let related = found.related.iter().map(|(what, other)| place(Some(what.trim_end_matches(':').to_owned()), other));
    // The source line of the nearest caller, if the instruction itself is in library code.
    let source = found.user_source();
    let [text, colour] = texts;
    Diagnostic {
        file: source.map(|source| source.shown()),
        line: source.map(|source| source.line),
        column: source.map(|source| source.column).filter(|column| *column > 0),
        block: found.thread.map(|thread| thread.block),
        thread: found.thread.map(|thread| thread.thread),
        places: own.chain(related).collect(),
        notes: found.notes.clone(),
        help: found.help.clone(),
        colour,
        ..Diagnostic::new(kind, found.code, found.title.clone(), text)
    }
}

fn position(source: &ptx_sim::stop::Source) -> Position {
    Position { file: source.shown(), line: source.line, column: source.column, function: source.function.clone() }
}

/// Converts a stop that concerns no module to an error.
fn explain(stop: &ptx_sim::Stop, attempt: &str) -> Error {
    explain_in(stop, "", attempt)
}

/// Converts a stop to an error: a fault is a report with every place involved, an error of the caller a single line.
fn explain_in(stop: &ptx_sim::Stop, module: &str, attempt: &str) -> Error {
    let report = |style| format!("{attempt} failed\n{}", stop.render(style));
    let fault = |kind| {
        let texts = [report(Style::Plain), report(Style::Colour)];
        Error::Fault(Box::new(describe(kind, stop.diagnostic(), module, texts)))
    };
    match stop.kind() {
        ptx_sim::StopKind::Fault => fault("fault"),
        ptx_sim::StopKind::Stuck => fault("stuck"),
        ptx_sim::StopKind::Unsupported => Error::Unsupported(report(Style::Plain)),
        ptx_sim::StopKind::Usage => {
            let diagnostic = stop.diagnostic();
            let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
            Error::Argument(format!("{attempt}: {}{}", diagnostic.title, help.unwrap_or_default()))
        }
    }
}
