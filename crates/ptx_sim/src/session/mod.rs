//! A session: a machine whose memory persists between launches, and the launches that run on it.

mod config;
mod launch;
mod leaks;

pub use config::{Config, Report};
pub use leaks::Leak;

use crate::check::uninit::plan::Plan;
use crate::machine::{Module, texture_handle};
use crate::memory::storage::Storage;
use crate::memory::{FreeError, Memory, address};
use crate::program::{Program, Space};
use crate::stop::{Diagnostic, Stop, StopKind};
use crate::texture::Texture;
use std::collections::{BTreeMap, HashSet};
use std::ptr::NonNull;
use std::sync::Arc;

/// A program that the machine has loaded.
#[derive(Debug)]
struct Loaded {
    module: Module,
    /// Instance of the program; `None` once unloaded.
    instance: Option<u64>,
    /// Registers that each instruction reads and writes, by function, and whether integer arithmetic is checked for
    /// overflow. `None` before the first launch that tracks undefined values.
    plans: Option<(bool, Arc<[Plan]>)>,
    /// Kernels that are checked for races on one worker, because several had to be taken back.
    in_one: HashSet<u32>,
}

/// A simulated GPU: device memory that persists between launches, and the execution of kernels.
#[derive(Debug)]
pub struct Machine {
    config: Config,
    memory: Memory,
    modules: Vec<Loaded>,
    next_constant: u64,
    /// Address of the workspace of cooperative launches, once there was one.
    workspace: Option<u64>,
}

/// Size of the workspace of a cooperative launch in bytes.
const WORKSPACE: u32 = 64;

impl Machine {
    /// Creates a machine with empty memory.
    pub fn new(config: Config) -> Self {
        let memory = Memory::new(config.first_address, config.address_bytes, config.checks.uninit);
        Self { config, memory, modules: Vec::new(), next_constant: 0, workspace: None }
    }

    /// Returns the configuration of the next launch.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration of the next launch for modification.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Allocates device memory and returns its address, a multiple of 512. `name` identifies the allocation in reports.
    ///
    /// # Errors
    /// `out-of-memory` when the host has no room.
    pub fn alloc(&mut self, bytes: u64, name: &str) -> Result<u64, Stop> {
        self.memory.alloc(bytes, name).ok_or_else(|| {
            Stop::usage("out-of-memory", format!("no memory or addresses for `{name}` of {bytes} bytes"))
                .with_help("make the problem smaller, or free buffers first")
        })
    }

    /// Frees memory; later accesses to it are reported as such.
    ///
    /// # Errors
    /// `double-free` or `bad-free` when the address is not the start of a live allocation of the host.
    pub fn free(&mut self, address: u64) -> Result<(), Stop> {
        self.memory.free(address, None).map_err(|error| match error {
            FreeError::Twice(allocation) => {
                Stop::usage("double-free", format!("`{}` at {address:#x} was freed before", allocation.name))
            }
            FreeError::Foreign(allocation) => {
                let title = format!(
                    "cannot free `{}` at {address:#x} from the host: the host did not allocate it",
                    allocation.name
                );
                Stop::usage("bad-free", title)
            }
            FreeError::Unknown => {
                let near = self.memory.describe(address);
                Stop::usage("bad-free", format!("{address:#x} is not the start of an allocation: {near}"))
            }
        })
    }

    /// Returns the start of `bytes` addresses that no allocation of this machine gets, a multiple of `align`: a place
    /// for memory of the host.
    ///
    /// # Errors
    /// `out-of-memory` when no addresses are left.
    pub fn reserve(&mut self, bytes: u64, align: u64) -> Result<u64, Stop> {
        self.memory
            .reserve(bytes, align)
            .ok_or_else(|| Stop::usage("out-of-memory", format!("no addresses are left for {bytes} bytes")))
    }

    /// Lets kernels access memory of the host at the host's address; [`Machine::free`] ends it. `name` identifies the
    /// memory in reports. All of it counts as written, since the host's writes are not observed.
    ///
    /// # Errors
    /// `overlap` when another live allocation has some of the addresses.
    ///
    /// # Safety
    /// Until it is freed and no launch runs, the memory must be readable and writable from `memory` rounded down to a
    /// multiple of 8 to its end rounded up to one. The host accesses it as it would another thread's memory.
    pub unsafe fn map(&mut self, memory: NonNull<u8>, bytes: u64, name: &str) -> Result<(), Stop> {
        let before = memory.addr().get() % 8;
        // SAFETY: by contract the bytes from the multiple of 8 on are valid.
        let start = unsafe { memory.sub(before) };
        let (base, size) = (start.addr().get() as u64, bytes.saturating_add(before as u64));
        // SAFETY: by contract, and `start` is a multiple of 8.
        let storage = Arc::new(unsafe { Storage::over(start, size) });
        if self.memory.map(base, size, name, storage) {
            return Ok(());
        }
        let near = self.memory.describe(base);
        Err(Stop::usage("overlap", format!("cannot map {bytes} bytes of the host at {base:#x}: {near}")))
    }

    /// Lets kernels of this machine access an allocation of another one at the same address; [`Machine::free`] ends it.
    ///
    /// # Errors
    /// `out-of-bounds` when the other machine has no allocation there; `overlap` when this one has.
    pub fn share(&mut self, other: &Self, address: u64) -> Result<(), Stop> {
        let Some(allocation) = other.memory.live_at(address) else {
            let near = other.memory.describe(address);
            return Err(Stop::usage(
                "out-of-bounds",
                format!("{address:#x} is not memory of the other device: {near}"),
            ));
        };
        let Some(storage) = allocation.storage else { return Ok(()) };
        if self.memory.map(allocation.base, allocation.size, &allocation.name, storage) {
            return Ok(());
        }
        let near = self.memory.describe(address);
        Err(Stop::usage("overlap", format!("cannot share the memory at {address:#x}: {near}")))
    }

    /// Returns start and size in bytes of the live allocation that contains an address.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        self.memory.live_at(address).map(|allocation| (allocation.base, allocation.size))
    }

    /// Describes an address relative to the nearest allocation.
    pub fn describe(&self, address: u64) -> String {
        self.memory.describe(address)
    }

    /// Copies bytes from the host to the device.
    ///
    /// # Errors
    /// `out-of-bounds` when they do not fit in one live allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        let (storage, offset) = self.locate("write", address, bytes.len() as u64)?;
        storage.write(offset as usize, bytes);
        self.memory.define(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies bytes from the device to the host.
    ///
    /// # Errors
    /// `out-of-bounds` when they do not lie in one live allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Stop> {
        let (storage, offset) = self.locate("read", address, bytes.len() as u64)?;
        storage.read(offset as usize, bytes);
        Ok(())
    }

    /// Sets `len` bytes to `byte`.
    ///
    /// # Errors
    /// `out-of-bounds` when they do not lie in one live allocation.
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

    /// Returns address and size of a global or constant variable, for use with [`Machine::read`] and
    /// [`Machine::write`]. Loads the program if this machine has not seen it.
    ///
    /// # Errors
    /// `unknown-symbol` when the program has no such variable; `out-of-memory` when the host has no room for its
    /// variables.
    pub fn symbol(&mut self, program: &Program, name: &str) -> Result<(u64, u64), Stop> {
        self.symbol_of(program, 0, name)
    }

    /// As [`Machine::symbol`], of an instance of the program.
    ///
    /// # Errors
    /// As [`Machine::symbol`].
    pub fn symbol_of(&mut self, program: &Program, instance: u64, name: &str) -> Result<(u64, u64), Stop> {
        let module = self.loaded(program, instance)?;
        let placed = program.variables.iter().zip(self.modules[module].module.addresses.iter());
        let mut wanted = placed.filter(|(variable, _)| variable.name == name && variable.space != Space::Shared);
        match wanted.next() {
            Some((variable, address)) => Ok((address + address::window(variable.space), variable.size)),
            None => Err(Stop::usage("unknown-symbol", format!("no global or constant variable `{name}` in the PTX"))),
        }
    }

    /// Creates a texture or surface object over device memory; kernels take the handle as a 64-bit parameter. The
    /// object exists as long as the machine.
    ///
    /// # Errors
    /// `bad-texture` if the description has no elements, or more than its memory holds.
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
        Ok(texture_handle(self.memory.textures.len() - 1))
    }

    /// Places the variables of an instance of a program in memory, unless they are.
    ///
    /// # Errors
    /// `out-of-memory` when the host has no room for its variables; `initialiser` if an initial value differs by
    /// kernel.
    pub fn load(&mut self, program: &Program, instance: u64) -> Result<(), Stop> {
        self.loaded(program, instance).map(|_| ())
    }

    /// As [`Machine::load`], with global variables at addresses that the caller chooses, by name: the start of memory
    /// that is there, for example of [`Machine::map`]. It remains the caller's when the program is unloaded.
    ///
    /// # Errors
    /// As [`Machine::load`]; `out-of-bounds` if there is no memory at such an address, or too little.
    pub fn load_at(&mut self, program: &Program, instance: u64, placed: &BTreeMap<String, u64>) -> Result<(), Stop> {
        for variable in program.variables.iter().filter(|variable| variable.space == Space::Global) {
            if let Some(address) = placed.get(&variable.name) {
                self.locate("place a variable in", *address, variable.size)?;
            }
        }
        self.loaded_at(program, instance, placed).map(|_| ())
    }

    /// Frees the variables of an instance of a program. A later launch of it places them again.
    pub fn unload(&mut self, program: &Program, instance: u64) {
        let is = |known: &&mut Loaded| known.instance == Some(instance) && known.module.source == program.source;
        let Some(known) = self.modules.iter_mut().find(is) else { return };
        known.instance = None;
        known.plans = None;
        let placed = program.variables.iter().zip(known.module.addresses.iter());
        for (variable, address) in placed.filter(|(variable, _)| variable.space != Space::Shared) {
            self.memory.free_variable(address + address::window(variable.space));
        }
    }

    pub(crate) fn loaded(&mut self, program: &Program, instance: u64) -> Result<usize, Stop> {
        self.loaded_at(program, instance, &BTreeMap::new())
    }

    fn loaded_at(&mut self, program: &Program, instance: u64, placed: &BTreeMap<String, u64>) -> Result<usize, Stop> {
        let is = |known: &Loaded| known.instance == Some(instance) && known.module.source == program.source;
        if let Some(at) = self.modules.iter().position(is) {
            return Ok(at);
        }
        let module = Module::load(program, self.modules.len(), &self.memory, placed, &mut self.next_constant)?;
        self.modules.push(Loaded { module, instance: Some(instance), plans: None, in_one: HashSet::new() });
        Ok(self.modules.len() - 1)
    }

    /// Returns the address of a fresh workspace for the barrier of a cooperative launch's grid: its size, then zeros,
    /// as the header `cooperative_groups.h` expects at the address in `%envreg1` and `%envreg2`.
    fn workspace(&mut self) -> Result<u64, Stop> {
        let address = match self.workspace {
            Some(address) => address,
            None => {
                let placed = self.memory.alloc_variable(u64::from(WORKSPACE), "the workspace of a cooperative launch");
                placed.ok_or_else(|| Stop::usage("out-of-memory", "no host memory for a cooperative launch"))?
            }
        };
        self.workspace = Some(address);
        let mut bytes = [0; WORKSPACE as usize];
        bytes[..4].copy_from_slice(&WORKSPACE.to_le_bytes());
        self.write(address, &bytes)?;
        Ok(address)
    }

    fn locate(&self, what: &str, address: u64, bytes: u64) -> Result<(Arc<Storage>, u64), Stop> {
        self.memory.find(address, bytes).ok_or_else(|| {
            let near = self.memory.describe(address);
            let title = format!("cannot {what} {bytes} bytes at {address:#x} from the host: {near}");
            Stop::new(StopKind::Usage, Diagnostic::new("out-of-bounds", title))
        })
    }
}
