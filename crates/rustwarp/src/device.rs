//! A device: a GPU or the simulator.

use crate::backend::{Backend, Checks, Choice, DeviceInfo, Handle, Module as Loaded, Printed, Shape, open_printing};
use crate::error::Result;
use crate::launch::Launch;
use crate::ptx::{self, Kernels};
use cuda_std::launch::Call;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// A GPU with its context and one stream, or the simulator.
///
/// Clones are the same device, which is closed when the last clone, buffer and module of it is dropped. A device
/// belongs to one thread; several threads open one each.
#[derive(Clone)]
pub struct Device {
    inner: Rc<Inner>,
}

struct Inner {
    backend: Box<dyn Backend>,
    /// The text of [`Device::choice`].
    choice: String,
    /// The loaded modules, by the name of their family.
    families: RefCell<HashMap<&'static str, Loaded>>,
}

impl Device {
    /// Opens the first GPU if there is one, and the simulator if there is no driver or no GPU. [`Device::choice`]
    /// describes which one and why.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if there is a GPU, and it or its driver fails.
    #[expect(clippy::should_implement_trait, reason = "`Default::default` cannot report an error")]
    pub fn default() -> Result<Self> {
        Self::open(Choice::Auto)
    }

    /// Opens the GPU with this number, counted from 0.
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice) if there is no such GPU or no driver.
    pub fn gpu(number: u32) -> Result<Self> {
        Self::open(Choice::Gpu(number))
    }

    /// Opens the simulator, which runs the same PTX on the CPU. Accesses out of bounds end a run; the other checkers
    /// are off.
    ///
    /// # Errors
    /// None at present: the simulator is always available.
    pub fn sim() -> Result<Self> {
        Self::open(Choice::Sim)
    }

    fn open(choice: Choice) -> Result<Self> {
        let (backend, choice) = open_printing(choice, Checks::Bounds, Printed::Stdout)?;
        Ok(Self { inner: Rc::new(Inner { backend, choice, families: RefCell::default() }) })
    }

    /// Creates a device from a backend, for instance one with checkers.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        let choice = format!("using {} ({}), as passed", backend.info().device, backend.info().name);
        Self { inner: Rc::new(Inner { backend, choice, families: RefCell::default() }) }
    }

    /// Which device was opened, and why: `using the simulator: no NVIDIA driver …`.
    pub fn choice(&self) -> &str {
        &self.inner.choice
    }

    /// The device's properties.
    pub fn info(&self) -> &DeviceInfo {
        self.inner.backend.info()
    }

    /// Loads a module from PTX text (a GPU takes a cubin too); `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::BadPtx`](crate::Error::BadPtx) for text that is not PTX, [`Error::NoPtx`](crate::Error::NoPtx) for PTX
    /// that this device or driver cannot run.
    pub fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        Ok(Module { device: self.clone(), module: self.inner.backend.load(image, name)? })
    }

    /// Waits until everything launched has ended.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if an earlier launch faulted; [`Error::Device`](crate::Error::Device) if
    /// the driver fails.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.backend.synchronize()
    }

    /// Loads the kernels that a program contains: machine code where it has some for this GPU, else PTX, which the
    /// driver compiles (once per machine: it keeps the result).
    ///
    /// # Errors
    /// [`Error::NoPtx`](crate::Error::NoPtx) if there is none that this device or driver can run.
    pub fn load_kernels(&self, kernels: &Kernels) -> Result<Module> {
        Ok(Module { device: self.clone(), module: kernels.load_on(self.backend())? })
    }

    /// The library's kernels of a family, loaded on first use: from the program, or from files if it has none.
    ///
    /// # Errors
    /// [`Error::NoPtx`](crate::Error::NoPtx) with the command that builds them.
    pub(crate) fn family(&self, kernels: &'static Kernels) -> Result<Loaded> {
        let known = self.inner.families.borrow().get(kernels.name()).copied();
        if let Some(module) = known {
            return Ok(module);
        }
        let module = ptx::load_library(self.backend(), kernels)?;
        self.inner.families.borrow_mut().insert(kernels.name(), module);
        Ok(module)
    }

    /// Starts a kernel of this family, in stream order. Each plan calls it with its own device and family.
    ///
    /// # Errors
    /// Those of [`Device::family`] and of [`Launch::run`].
    pub(crate) fn run(&self, family: &'static Kernels, launch: &Launch<'_>) -> Result<()> {
        // SAFETY: the plan has checked that the memory lies on its device, which is this one, and the family's module
        // has the kernels that the launch's proof is for.
        unsafe { launch.run(self.backend(), self.family(family)?) }
    }
}

// SAFETY: the device is never replaced, and clones share its ownership.
unsafe impl Handle for Device {
    fn backend(&self) -> &dyn Backend {
        &*self.inner.backend
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}: {})", self.info().device, self.info().name)
    }
}

/// A loaded PTX module, which keeps its device open.
#[derive(Clone, Debug)]
pub struct Module {
    device: Device,
    module: Loaded,
}

impl Module {
    /// The device on which the module is loaded.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Starts a kernel, in stream order. A fault is reported here or by a later call that waits.
    ///
    /// # Safety
    /// That of [`Backend::launch`]: the kernel's contract holds for these arguments and this shape.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an entry that the module lacks, or a shape that the device
    /// rejects; [`Error::Fault`](crate::Error::Fault) if the kernel faults.
    pub unsafe fn launch(&self, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.backend().launch(self.module, call, shape) }
    }
}
