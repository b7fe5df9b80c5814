//! A device: a GPU or the simulator.

use crate::backend::{
    Backend, Choice, DeviceInfo, Handle, Module as Loaded, Pool, Queue, Shape, Streams, open_asynchronous,
};
use crate::error::Result;
use crate::launch::Launch;
use crate::ptx::{self, Kernels};
use crate::sync::lock;
use cuda_std::launch::Call;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A GPU or the simulator, and one of its streams.
///
/// Work that is started through a `Device` runs in the order of its stream. Clones are the same device and stream;
/// [`Device::stream`] makes another stream. Several threads may use one device. It is closed when the last clone,
/// stream, buffer and module of it is dropped.
///
/// Only functions that say so wait for the device. A fault of a kernel is reported by a later call that waits, on a GPU
/// and on the simulator; then every later call reports it, and the device must be opened again, on a GPU by a new
/// process.
#[derive(Clone)]
pub struct Device {
    queue: Arc<Queue>,
    shared: Arc<Shared>,
}

/// What a graph cannot contain: a function that returns a number.
pub(crate) const VALUE: &str = "returning a value";

/// What the streams of a device share.
pub(crate) struct Shared {
    /// The text of [`Device::choice`].
    choice: String,
    /// The loaded modules, by the name of their family.
    families: Mutex<HashMap<&'static str, Loaded>>,
    /// Pinned memory that is not in use.
    pub pinned: Pool,
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
        let (backend, choice) = open_asynchronous(choice)?;
        Ok(Self::of(backend, choice))
    }

    /// Creates a device from a backend, for instance one with checkers. Its simulator reports a fault at the launch, as
    /// the backend does.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        let choice = format!("using {} ({}), as passed", backend.info().device, backend.info().name);
        Self::of(backend, choice)
    }

    pub(crate) fn of(backend: Box<dyn Backend>, choice: String) -> Self {
        let queue = Arc::new(Queue::new(backend.into()));
        let pinned = Pool::new(Arc::clone(&queue));
        Self { queue, shared: Arc::new(Shared { choice, families: Mutex::default(), pinned }) }
    }

    /// Which device was opened, and why: `using the simulator: no NVIDIA driver …`.
    pub fn choice(&self) -> &str {
        &self.shared.choice
    }

    /// The device's properties.
    pub fn info(&self) -> &DeviceInfo {
        self.backend().info()
    }

    /// Loads a module from PTX text (a GPU takes a cubin too); `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::BadPtx`](crate::Error::BadPtx) for text that is not PTX, [`Error::NoPtx`](crate::Error::NoPtx) for PTX
    /// that this device or driver cannot run.
    pub fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        Ok(Module { device: self.clone(), module: self.backend().load(image, name)? })
    }

    /// Another stream of this device: its work is not ordered with that of other streams, unless it uses the same
    /// memory or waits for an [`Event`](crate::Event).
    ///
    /// Memory belongs to the stream in which it was allocated. Where a function runs in another stream, that stream
    /// first waits, on the device, for the work so far of the memory's own stream and of those that wrote it; and the
    /// memory's own stream waits for the other one before it writes, reads or releases the memory. So results do not
    /// depend on timing. Launches of kernels by [`Module::launch`] take no part in that: see [`Device::will_read`].
    ///
    /// On the simulator each launch has ended when the call returns, so streams run one after the other.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails, [`Error::Unsupported`](crate::Error::Unsupported)
    /// for a backend without streams.
    pub fn stream(&self) -> Result<Self> {
        let queue = Queue::new(self.backend().stream()?);
        Ok(Self { queue: Arc::new(queue), shared: Arc::clone(&self.shared) })
    }

    /// Whether everything launched in the stream has ended.
    ///
    /// # Errors
    /// Those of [`Device::synchronize`].
    pub fn is_idle(&self) -> Result<bool> {
        self.streams()?.is_idle()
    }

    /// Number of bytes that can be allocated now.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub fn free_memory(&self) -> Result<u64> {
        self.backend().free_memory()
    }

    /// Returns freed device memory, which a pool keeps for later allocations, to the system.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub fn trim_memory(&self) -> Result<()> {
        self.streams()?.trim()
    }

    /// Waits until everything launched in the stream has ended.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if an earlier launch faulted; [`Error::Device`](crate::Error::Device) if
    /// the driver fails.
    pub fn synchronize(&self) -> Result<()> {
        self.backend().synchronize()
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
        let known = lock(&self.shared.families).get(kernels.name()).copied();
        if let Some(module) = known {
            return Ok(module);
        }
        let module = ptx::load_library(self.backend(), kernels)?;
        lock(&self.shared.families).insert(kernels.name(), module);
        Ok(module)
    }

    /// Starts a kernel of this family, in stream order. Each plan calls it with its own device and family.
    ///
    /// # Errors
    /// Those of [`Device::family`] and of [`Launch::run`].
    pub(crate) fn run(&self, family: &'static Kernels, launch: &Launch<'_>) -> Result<()> {
        if launch.is_empty() {
            return Ok(());
        }
        let module = self.family(family)?;
        // SAFETY: the plan has checked that the memory lies on its device, which is this one, and the family's module
        // has the kernels that the launch's proof is for.
        self.queue.work(launch.uses(), || unsafe { launch.run(self.backend(), module) })
    }

    /// Rejects what a graph cannot contain, before it leaves a part of itself there.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::Error::Capturing) in a capture.
    pub(crate) fn refuse_in_capture(&self, attempt: &'static str) -> Result<()> {
        if self.queue.is_capturing() { Err(crate::Error::Capturing { attempt }) } else { Ok(()) }
    }

    /// Streams, events, pinned memory and graphs.
    pub(crate) fn streams(&self) -> Result<&dyn Streams> {
        self.queue.streams()
    }

    /// This handle's stream.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// What the streams of the device share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

// SAFETY: the device is never replaced, and clones share its ownership.
unsafe impl Handle for Device {
    fn backend(&self) -> &dyn Backend {
        self.queue.backend()
    }

    fn queue(&self) -> Option<&Arc<Queue>> {
        Some(&self.queue)
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

    /// Starts a kernel, in the order of the stream of the device that loaded the module. A fault is reported by a later
    /// call that waits, or here.
    ///
    /// # Safety
    /// That of [`Backend::launch`]: the kernel's contract holds for these arguments and this shape. In a capture it
    /// holds for every launch of the graph, which keeps the memory that [`Device::will_read`] and
    /// [`Device::will_write`] name.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an entry that the module lacks, or a shape that the device
    /// rejects; [`Error::Fault`](crate::Error::Fault) if the kernel faults.
    pub unsafe fn launch(&self, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.backend().launch(self.module, call, shape) }
    }

    /// The same module for launches in this stream of its device.
    ///
    /// # Errors
    /// [`Error::OtherModule`](crate::Error::OtherModule) for another device.
    pub fn on(&self, stream: &Device) -> Result<Self> {
        let (own, other) = (self.device.streams()?.id(), stream.streams()?.id());
        if own != other {
            return Err(crate::Error::OtherModule { device: stream.info().device.clone() });
        }
        Ok(Self { device: stream.clone(), module: self.module })
    }

    pub(crate) fn loaded(&self) -> Loaded {
        self.module
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Owner;
    use crate::buffer::Buffer;
    use crate::error::Error;

    #[test]
    fn a_device_is_closed_with_its_last_use() {
        let device = Device::sim().expect("a device");
        let (queue, shared) = (Arc::downgrade(&device.queue), Arc::downgrade(&device.shared));
        let x = device.upload(&[1_u32, 2, 3]).expect("memory");
        drop(device.download_async(&x).expect("a copy"));
        drop(device.record().expect("an event"));
        assert_eq!((Arc::strong_count(&device.shared), shared.strong_count()), (2, 2), "the handle and the buffer");
        drop((x, device));
        assert_eq!((queue.strong_count(), shared.strong_count()), (0, 0));
    }

    #[test]
    fn a_stream_is_closed_though_memory_was_used_in_it() {
        let device = Device::sim().expect("a device");
        let x = device.upload(&[1_u32, 2, 3]).expect("memory");
        let stream = device.stream().expect("a stream");
        let weak = Arc::downgrade(stream.queue.stream());
        let mut copy = stream.uninit::<u32>(3).expect("memory");
        copy.view_mut(..).and_then(|mut view| view.copy_from(&x)).expect("a copy");
        drop((copy, stream));
        assert_eq!(weak.strong_count(), 0);
        assert_eq!(x.download().expect("values"), [1, 2, 3]);
    }

    #[test]
    fn launches_after_an_announcement_are_waited_for_although_other_work_follows() {
        let device = Device::sim().expect("a device");
        let x = device.upload(&[1_u32, 2, 3]).expect("memory");
        let stream = device.stream().expect("a stream");
        let weak = Arc::downgrade(stream.queue.stream());
        stream.will_read(&x).expect("an order");
        let mut copy = stream.uninit::<u32>(3).expect("memory");
        copy.view_mut(..).and_then(|mut view| view.copy_from(&x)).expect("a copy");
        drop((copy, stream));
        assert_eq!(weak.strong_count(), 1, "the memory waits for all that the stream launches");
        drop(x);
        assert_eq!(weak.strong_count(), 0);
    }

    #[test]
    fn a_graph_refuses_memory_that_is_lent() {
        let device = Device::sim().expect("a device");
        let x = device.upload(&[1_u32, 2, 3]).expect("memory");
        let mut to = device.uninit::<u32>(3).expect("memory");
        // SAFETY: `x` keeps the memory.
        let lent = unsafe { Buffer::<u32>::foreign(device.clone(), x.address(), 3, Owner::Lender) };
        let refused = device.capture(|_| to.view_mut(..)?.copy_from(&lent)).map(|_| ());
        assert!(matches!(refused, Err(Error::Argument(_))), "{refused:?}");
        to.view_mut(..).and_then(|mut view| view.copy_from(&lent)).expect("a copy");
        assert_eq!(to.download().expect("values"), [1, 2, 3]);
    }
}
