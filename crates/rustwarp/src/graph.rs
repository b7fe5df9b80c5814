//! Graphs: work that is captured once and launched as a whole, any number of times.

use crate::backend::{Handle, Queue, Shape, Used, View, keep, require_same_device};
use crate::device::{Device, Module};
use crate::error::Result;
use cuda_std::launch::Call;
use std::sync::Arc;

/// Work of a stream that was captured: launches of kernels, fills and copies on the device. A launch of the graph
/// starts all of it by one call, in the order of the capture, on the memory's current contents.
///
/// The graph keeps the memory that it uses: buffers may be dropped before it. Of kernels that [`Module::launch`]
/// starts, it keeps the memory that [`Device::will_read`], [`Device::will_write`] or [`Graph::keep`] name.
///
/// ```no_run
/// # fn main() -> Result<(), rustwarp::Error> {
/// use rustwarp::reduce::{Plan, Sum};
/// # let device = rustwarp::Device::default()?;
/// let mut x = device.upload(&[1_u32, 2, 3])?;
/// let mut sum = device.zeros::<u32>(1)?;
/// let plan = Plan::<Sum, u32>::new(&device, 3, Default::default())?;
/// let graph = device.capture(|_| plan.launch(&x, &mut sum))?;
/// x.write(&[4, 5, 6])?;
/// graph.launch()?;
/// assert_eq!(sum.download()?, [15]);
/// # Ok(())
/// # }
/// ```
pub struct Graph {
    device: Device,
    number: u64,
    uses: Vec<Used>,
}

impl Device {
    /// Captures the work that `work` starts in this stream, instead of running it.
    ///
    /// In a capture, memory may be allocated, and filled by `upload`, which is not part of the graph. Calls that wait
    /// or that copy to or from the host are errors, and so is another capture. Other streams run as usual.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Capturing`](crate::Error::Capturing) for what a graph cannot contain;
    /// [`Error::Device`](crate::Error::Device) if the driver rejects what was captured.
    pub fn capture(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<Graph> {
        let (number, uses) = self.record_graph(work)?;
        let graph = Graph { device: self.clone(), number, uses };
        self.streams()?.instantiate(number)?;
        Ok(graph)
    }

    fn record_graph(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<(u64, Vec<Used>)> {
        self.queue().begin_capture()?;
        let capture = Capture { queue: self.queue() };
        let result = work(self);
        let captured = capture.end();
        match (result, captured) {
            (Ok(()), captured) => captured,
            (Err(error), Ok((number, _))) => {
                self.free_graph(number);
                Err(error)
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    fn free_graph(&self, number: u64) {
        if let Ok(streams) = self.streams() {
            // SAFETY: the graph was captured on this device, and its number is not used again.
            unsafe { streams.free_graph(number) };
        }
    }

    /// Orders the next launches in this stream behind the work that writes the memory, and keeps the memory in a
    /// capture. Functions of this library need no such call; kernels that [`Module::launch`] starts do if other streams
    /// use their memory, and in captures. Between the two calls no other thread uses the memory.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device,
    /// [`Error::Device`](crate::Error::Device) if the driver fails; in a capture,
    /// [`Error::Argument`](crate::Error::Argument) for memory that another library lends for one call.
    pub fn will_read<'a, T>(&self, memory: impl Into<View<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        let memory = memory.into();
        memory.require_on(self, "the memory")?;
        self.queue().announce(memory.reads())
    }

    /// Orders the next launches in this stream behind all work that uses the memory, and keeps the memory in a capture:
    /// see [`Device::will_read`].
    ///
    /// # Errors
    /// Those of [`Device::will_read`].
    pub fn will_write<'a, T>(&self, memory: impl Into<View<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        let memory = memory.into();
        memory.require_on(self, "the memory")?;
        self.queue().announce(memory.writes())
    }
}

impl Graph {
    /// Starts the graph's work in the stream in which it was captured, without waiting.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::Error::Capturing) in a capture, and the errors of the device. Faults are reported
    /// where results are awaited.
    pub fn launch(&self) -> Result<()> {
        self.launch_on(&self.device)
    }

    /// Starts the graph's work in another stream of its device, without waiting. Launches of one graph run one after
    /// the other.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for another device, and those of [`Graph::launch`].
    pub fn launch_on(&self, stream: &Device) -> Result<()> {
        require_same_device(stream.backend(), self.device.backend(), "the graph")?;
        let streams = stream.streams()?;
        stream.refuse_in_capture("launching a graph")?;
        let uses: Vec<_> = self.uses.iter().map(Used::borrowed).collect();
        // SAFETY: the graph exists, and keeps the memory of its kernels, whose contracts held in the capture.
        stream.queue().work(&uses, || unsafe { streams.launch_graph(self.number) })
    }

    /// Captures again, and replaces the arguments and sizes of the graph's work. That is faster than a new graph.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the steps are not those of the graph in their order, and those of
    /// [`Device::capture`]. The graph is unchanged then.
    pub fn update(&mut self, work: impl FnOnce(&Device) -> Result<()>) -> Result<()> {
        let (number, uses) = self.device.record_graph(work)?;
        // SAFETY: both graphs were captured on this device; the new one is freed by the call.
        unsafe { self.device.streams()?.update_graph(self.number, number)? };
        self.uses = uses;
        Ok(())
    }

    /// Number of launches of kernels in the graph.
    pub fn kernels(&self) -> usize {
        self.device.streams().map_or(0, |streams| streams.kernels(self.number))
    }

    /// Replaces the kernel launch of this index, counted from 0 in the order of the capture, for the following launches
    /// of the graph. The memory of the former arguments stays allocated as long as the graph.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the graph has fewer launches,
    /// [`Error::Argument`](crate::Error::Argument) for an entry that the module lacks and for a shape that the device
    /// rejects, [`Error::OtherModule`](crate::Error::OtherModule) for a module of another device.
    ///
    /// # Safety
    /// The kernel's contract holds for these arguments and this shape in every launch of the graph, to which
    /// [`Graph::keep`] contributes.
    pub unsafe fn set_kernel(&mut self, index: usize, module: &Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: the graph exists; this function has the rest of the contract.
        unsafe { self.device.streams()?.set_kernel(self.number, index, (module.loaded(), call, shape)) }
    }

    /// Keeps memory as long as the graph, whose launches are ordered with other work that uses the memory.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device,
    /// [`Error::Argument`](crate::Error::Argument) for memory that another library lends for one call.
    pub fn keep<'a, T>(&mut self, memory: impl Into<View<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        let memory = memory.into();
        memory.require_on(&self.device, "the memory")?;
        keep(&mut self.uses, memory.writes())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device.free_graph(self.number);
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph({} kernels on {:?})", self.kernels(), self.device)
    }
}

/// A capture, which ends also if its work panics.
struct Capture<'q> {
    queue: &'q Arc<Queue>,
}

impl Capture<'_> {
    fn end(self) -> Result<(u64, Vec<Used>)> {
        let queue = self.queue;
        std::mem::forget(self);
        queue.end_capture()
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let (Ok((number, _)), Ok(streams)) = (self.queue.end_capture(), self.queue.streams()) else { return };
        // SAFETY: the graph was made above, and its number is not used again.
        unsafe { streams.free_graph(number) };
    }
}
