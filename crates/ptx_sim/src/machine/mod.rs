//! The machine: memory, warps in lockstep, blocks, the grid.
//!
//! Reading order: [`config`] (what goes in and out), `grid` (blocks over worker threads), `block`, `warp` (which lanes
//! are where), `execute` (the loop over instructions) and `control`, then the instructions that are more than bits in
//! registers: `access`, `transfer`, `atomics`, `asynchronous` with `in_flight` and `mbarrier`, `cluster`, `barriers`,
//! `collectives`, `calls`, `externs`.

mod access;
pub(crate) mod address;
mod allocations;
mod asynchronous;
mod atomics;
mod barriers;
pub(crate) mod block;
mod budget;
mod calls;
mod cluster;
mod collectives;
pub(crate) mod config;
mod control;
mod execute;
mod externs;
pub(crate) mod faults;
pub(crate) mod flow;
pub(crate) mod grid;
mod history;
mod in_flight;
pub(crate) mod lanes;
mod leaks;
mod livelock;
mod matrix;
mod mbarrier;
mod module;
mod peek;
mod presets;
mod printf;
mod schedule;
pub(crate) mod storage;
mod stuck;
mod texture;
mod transfer;
mod validate;
pub(crate) mod warp;

use crate::check::race::Race;
use crate::check::uninit::Uninit;
use crate::count::Counting;
use crate::program::{Program, Space};
use crate::stop::{Diagnostic, Stop, StopKind};
use crate::texture::Texture;
use crate::trace::Tracing;
pub(crate) use address::GLOBAL;
use allocations::FreeError;
pub(crate) use allocations::Memory;
pub use config::{Atomics, Checks, Config, Launch, Report, SameValue};
use grid::Context;
pub(crate) use grid::Seen;
pub use leaks::Leak;
pub(crate) use module::Layout;
use module::{Identity, Module};
pub(crate) use peek::Peek;
use std::sync::Arc;
use storage::Storage;

/// Bytes of static shared memory of an entry.
pub(crate) fn static_shared(program: &Program, entry: &str) -> Result<u64, Stop> {
    let entry = validate::entry(program, entry)?;
    Ok(Layout::of(program, entry).static_bytes)
}

/// A simulated GPU: memory that outlives launches, and a way to run kernels on it.
#[derive(Debug)]
pub struct Machine {
    config: Config,
    memory: Memory,
    modules: Vec<Module>,
    next_constant: u64,
}

impl Machine {
    /// A machine with empty memory.
    pub fn new(config: Config) -> Self {
        let memory = Memory::new(config.checks.uninit);
        Self { config, memory, modules: Vec::new(), next_constant: 0 }
    }

    /// How it runs programs.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes how it runs the next launches.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Allocates device memory; `name` is what reports call it. The address is a multiple of 512.
    pub fn alloc(&mut self, bytes: u64, name: &str) -> Result<u64, Stop> {
        self.memory.alloc(bytes, name).ok_or_else(|| {
            Stop::usage("out-of-memory", format!("no host memory for `{name}` of {bytes} bytes"))
                .with_help("make the problem smaller, or free buffers first")
        })
    }

    /// Gives memory back; later accesses to it are reported as such.
    pub fn free(&mut self, address: u64) -> Result<(), Stop> {
        self.memory.free(address, None).map_err(|error| match error {
            FreeError::Twice(allocation) => {
                Stop::usage("double-free", format!("`{}` at {address:#x} was freed before", allocation.name))
            }
            FreeError::Foreign(allocation) => {
                let title = format!("`{}` at {address:#x} is not the host's to free", allocation.name);
                Stop::usage("bad-free", title)
            }
            FreeError::Unknown => {
                let near = self.memory.describe(address);
                Stop::usage("bad-free", format!("{address:#x} is not the start of an allocation: {near}"))
            }
        })
    }

    /// Copies bytes to the device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        let (storage, offset) = self.locate("write", address, bytes.len() as u64)?;
        storage.write(offset as usize, bytes);
        self.memory.define(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies bytes from the device.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Stop> {
        let (storage, offset) = self.locate("read", address, bytes.len() as u64)?;
        storage.read(offset as usize, bytes);
        Ok(())
    }

    /// Sets `len` bytes to `byte`.
    pub fn fill(&mut self, address: u64, byte: u8, len: u64) -> Result<(), Stop> {
        let (storage, offset) = self.locate("fill", address, len)?;
        let chunk = [byte; 4096];
        let mut done = 0;
        while done < len {
            let step = (len - done).min(chunk.len() as u64);
            storage.write((offset + done) as usize, &chunk[..step as usize]);
            done += step;
        }
        self.memory.define(address, len);
        Ok(())
    }

    /// Address and bytes of a global or constant variable, to be used with [`Machine::read`] and [`Machine::write`].
    /// Loads the program if this machine has not seen it.
    pub fn symbol(&mut self, program: &Program, name: &str) -> Result<(u64, u64), Stop> {
        let module = self.load(program)?;
        let placed = program.variables.iter().zip(self.modules[module].addresses.iter());
        let mut wanted = placed.filter(|(variable, _)| variable.name == name && variable.space != Space::Shared);
        match wanted.next() {
            Some((variable, address)) => Ok((address + address::window(variable.space), variable.size)),
            None => Err(Stop::usage("unknown-symbol", format!("no global or constant variable `{name}` in the PTX"))),
        }
    }

    /// Creates a texture or surface object over device memory; kernels take the handle as a 64-bit parameter. It lasts
    /// as long as the machine.
    ///
    /// # Errors
    /// `bad-texture` when the description has no elements or more than its memory holds.
    pub fn texture(&mut self, texture: &Texture) -> Result<u64, Stop> {
        let bad = |why: String| Stop::usage("bad-texture", why);
        let element = texture.format.bytes();
        if !matches!(texture.format.channels, 1 | 2 | 4) {
            return Err(bad(format!("a texture has 1, 2 or 4 channels, not {}", texture.format.channels)));
        }
        let Some(bytes) = texture.layout.bytes(element) else {
            return Err(bad("the texture has no elements, or more than memory can hold".to_owned()));
        };
        let address = texture.layout.address();
        if !address.is_multiple_of(element) || self.memory.find(address, bytes).is_none() {
            let near = self.memory.describe(address);
            return Err(bad(format!(
                "{bytes} bytes at {address:#x} are not memory for {element}-byte elements: {near}"
            )));
        }
        self.memory.textures.push(*texture);
        Ok(texture::handle(self.memory.textures.len() - 1))
    }

    /// Runs a kernel to its end.
    pub fn launch(&mut self, program: &Program, launch: &Launch<'_>) -> Result<Report, Stop> {
        let entry = validate::entry(program, launch.entry)?;
        let module = self.load(program)?;
        let layout = self.modules[module].layout(program, entry);
        let function = &program.functions[entry as usize];
        let placed = validate::launch(launch, function, &layout, &self.config)?;
        self.memory.launch += 1;
        self.memory.track(self.config.checks.uninit);
        self.modules[module].plan(program, self.config.checks);
        let module = &self.modules[module];
        let context = Context::new(program, entry, module, layout, launch, placed, &self.memory, &self.config);
        if let Some(trace) = self.config.trace {
            let observe = || (Counting::default(), Tracing::new(trace));
            return grid::run(&context, observe, |(counts, traced): (Counting, Tracing)| Seen {
                traced: Some(traced.finish()),
                ..counts.finish(program)
            });
        }
        let new_race = || Race::new(program, &self.config.checks, self.config.level);
        let race = |seen: Race<'_>| seen.finish(program, &context.layout, context.shared_bytes, &self.memory);
        let counters = self.config.counters;
        let count = |counts: Counting| if counters { counts.finish(program) } else { Seen::default() };
        if self.config.checks.inspect() {
            // One set with counters, whether they are asked for or not: every set is another copy of the machine.
            return match self.config.checks.race {
                true => grid::run(
                    &context,
                    || (Counting::default(), (new_race(), Uninit)),
                    |(counts, (races, _)): (Counting, (Race<'_>, Uninit))| Seen {
                        findings: race(races),
                        ..count(counts)
                    },
                ),
                false => grid::run(&context, <(Counting, Uninit)>::default, |(counts, _)| count(counts)),
            };
        }
        match (counters, self.config.checks.race) {
            (true, true) => grid::run(
                &context,
                || (Counting::default(), new_race()),
                |(counts, races): (Counting, Race<'_>)| Seen { findings: race(races), ..counts.finish(program) },
            ),
            (true, false) => grid::run(&context, Counting::default, |counts: Counting| counts.finish(program)),
            (false, true) => grid::run(&context, new_race, |races| Seen { findings: race(races), ..Seen::default() }),
            (false, false) => grid::run(&context, || (), |()| Seen::default()),
        }
    }

    fn load(&mut self, program: &Program) -> Result<usize, Stop> {
        let identity = Identity::of(program);
        if let Some(at) = self.modules.iter().position(|module| module.identity == identity) {
            return Ok(at);
        }
        let module = Module::load(program, self.modules.len(), &self.memory, &mut self.next_constant)?;
        self.modules.push(module);
        Ok(self.modules.len() - 1)
    }

    fn locate(&self, what: &str, address: u64, bytes: u64) -> Result<(Arc<Storage>, u64), Stop> {
        self.memory.find(address, bytes).ok_or_else(|| {
            let near = self.memory.describe(address);
            let title = format!("cannot {what} {bytes} bytes at {address:#x} from the host: {near}");
            Stop::new(StopKind::Usage, Diagnostic::new("out-of-bounds", title))
        })
    }
}
