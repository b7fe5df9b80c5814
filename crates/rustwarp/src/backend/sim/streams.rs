//! Streams, events, pinned memory and graphs of the simulator.
//!
//! A launch has ended when it returns, so an event is reached when it is recorded, and copies are never under way. A
//! graph is the list of its steps, which each launch runs on the memory's current contents.

use super::{Faults, Shared, Sim};
use crate::backend::streams::{RawStream, Streams};
use crate::backend::{Backend, DeviceId, Module, Shape};
use crate::error::{Error, Result};
use crate::sync::lock;
use cuda_std::launch::Call;
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step of a graph.
#[derive(Clone)]
pub(super) enum Step {
    Launch { module: Module, call: Call<'static>, shape: Shape },
    Fill { address: u64, byte: u8, bytes: u64 },
    Copy { to: u64, from: u64, bytes: u64 },
}

impl Step {
    /// A launch with a copy of its arguments.
    pub fn launch(module: Module, call: &Call<'_>, shape: Shape) -> Self {
        let mut own = Call::new(call.entry.clone());
        own.params.clone_from(&call.params);
        Self::Launch { module, call: own, shape }
    }

    /// Whether a graph with this step can be updated to one with the other.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Launch { module, call, shape }, Self::Launch { module: other, call: of, shape: with }) => {
                module == other && call.entry == of.entry && shape.cooperative == with.cooperative
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Sim {
    /// Records the step in a capture, else runs it.
    pub(super) fn step(&self, step: Step) -> Result<()> {
        match &mut *lock(&self.recording) {
            Some(steps) => steps.push(step),
            None => return self.shared.step(&step),
        }
        Ok(())
    }

    /// Rejects what a graph cannot contain.
    ///
    /// # Errors
    /// [`Error::Capturing`] in a capture.
    pub(super) fn refuse_in_capture(&self, attempt: &'static str) -> Result<()> {
        if self.is_capturing() { Err(Error::Capturing { attempt }) } else { Ok(()) }
    }
}

impl Shared {
    fn step(&self, step: &Step) -> Result<()> {
        match step {
            Step::Launch { module, call, shape } => self.launch(*module, call, *shape),
            _ if self.faults == Faults::Awaited && self.check().is_err() => self.check(),
            Step::Fill { address, byte, bytes } => self.fill(*address, *byte, *bytes),
            Step::Copy { to, from, bytes } => self.copy(*to, *from, *bytes),
        }
    }

    fn with<T>(&self, graph: u64, work: impl FnOnce(&mut Vec<Step>) -> Result<T>) -> Result<T> {
        work(lock(&self.graphs).get_mut(&graph).ok_or_else(unknown)?)
    }
}

// SAFETY: the machine bounds every access; copies have ended when they return, so events are reached; pinned memory is
// allocated with the requested size and alignment; all streams share one machine.
unsafe impl Streams for Sim {
    fn id(&self) -> DeviceId {
        self.shared.id
    }

    fn is_idle(&self) -> Result<bool> {
        self.refuse_in_capture("querying the stream")?;
        self.shared.check().map(|()| true)
    }

    fn event(&self, _timed: bool) -> Result<u64> {
        // The fault of an earlier kernel is reported where the event is awaited.
        Ok(0)
    }

    unsafe fn wait(&self, _event: u64) -> Result<()> {
        self.refuse_in_capture("waiting for an event")
    }

    unsafe fn await_event(&self, _event: u64) -> Result<()> {
        self.shared.check()
    }

    unsafe fn is_reached(&self, _event: u64) -> Result<bool> {
        self.shared.check().map(|()| true)
    }

    unsafe fn elapsed(&self, _from: u64, _to: u64) -> Result<Option<f64>> {
        Ok(None)
    }

    unsafe fn free_event(&self, _event: u64) {}

    fn pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        let layout = layout(bytes)?;
        // SAFETY: the layout has at least one byte.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        NonNull::new(memory)
            .ok_or_else(|| Error::OutOfMemory(format!("allocating {bytes} bytes of pinned memory: use less data")))
    }

    unsafe fn free_pinned(&self, memory: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = layout(bytes) {
            // SAFETY: by contract `pinned` allocated the memory with this layout.
            unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
        }
    }

    unsafe fn write_async(&self, address: u64, from: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: by contract the memory has as many bytes, which nothing writes; `pinned` initialised them.
        unsafe { self.write(address, std::slice::from_raw_parts(from.as_ptr(), bytes)) }
    }

    unsafe fn read_async(&self, address: u64, to: NonNull<u8>, bytes: usize) -> Result<()> {
        self.refuse_in_capture("copying to memory of the host")?;
        // The fault of an earlier kernel is reported where the copy is awaited.
        if self.shared.check().is_err() {
            return Ok(());
        }
        // SAFETY: by contract the memory has as many bytes, which nothing else accesses; `pinned` initialised them.
        self.shared.read(address, unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), bytes) })
    }

    unsafe fn copy_across(&self, _to: u64, _other: &dyn Streams, _from: u64, _bytes: u64) -> Result<bool> {
        Ok(false)
    }

    fn is_capturing(&self) -> bool {
        lock(&self.recording).is_some()
    }

    fn begin_capture(&self) -> Result<()> {
        self.refuse_in_capture("beginning a capture")?;
        *lock(&self.recording) = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&self) -> Result<u64> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let steps = lock(&self.recording).take().unwrap_or_default();
        lock(&self.shared.graphs).insert(number, steps);
        Ok(number)
    }

    fn instantiate(&self, _graph: u64) -> Result<()> {
        Ok(())
    }

    unsafe fn launch_graph(&self, graph: u64) -> Result<()> {
        self.refuse_in_capture("launching a graph")?;
        let steps = self.shared.with(graph, |steps| Ok(steps.clone()))?;
        let result = steps.iter().try_for_each(|step| self.shared.step(step));
        match result {
            // The fault of a step is reported like that of a launch.
            Err(Error::Fault(_)) if self.shared.faults == Faults::Awaited => Ok(()),
            result => result,
        }
    }

    unsafe fn update_graph(&self, graph: u64, by: u64) -> Result<()> {
        let new = lock(&self.shared.graphs).remove(&by).ok_or_else(unknown)?;
        self.shared.with(graph, |steps| {
            if steps.len() != new.len() || !steps.iter().zip(&new).all(|(step, new)| step.is_like(new)) {
                return Err(Error::Mismatch(
                    "updating a graph: the new capture has other steps than the graph: capture a graph of its own"
                        .to_owned(),
                ));
            }
            *steps = new;
            Ok(())
        })
    }

    unsafe fn set_kernel(&self, graph: u64, index: usize, of: (Module, &Call<'_>, Shape)) -> Result<()> {
        let (module, call, shape) = of;
        shape.require_dimensions(call)?;
        module.index_on(self.shared.id, &self.shared.info)?;
        self.shared.with(graph, |steps| {
            let count = kernels(steps);
            match steps.iter_mut().filter(|step| matches!(step, Step::Launch { .. })).nth(index) {
                Some(step) => {
                    if let Step::Launch { shape: old, .. } = step {
                        shape.require_like(old.cooperative)?;
                    }
                    *step = Step::launch(module, call, shape);
                }
                None => {
                    return Err(Error::Mismatch(format!("the graph has {count} kernels, and none of index {index}")));
                }
            }
            Ok(())
        })
    }

    fn kernels(&self, graph: u64) -> usize {
        lock(&self.shared.graphs).get(&graph).map_or(0, |steps| kernels(steps))
    }

    unsafe fn free_graph(&self, graph: u64) {
        lock(&self.shared.graphs).remove(&graph);
    }

    fn trim(&self) -> Result<()> {
        Ok(())
    }

    fn raw(&self) -> Option<RawStream> {
        None
    }
}

fn kernels(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Launch { .. })).count()
}

/// The layout of pinned memory.
fn layout(bytes: usize) -> Result<Layout> {
    Layout::from_size_align(bytes.max(1), 64)
        .map_err(|_| Error::OutOfMemory(format!("{bytes} bytes of pinned memory are more than an address space has")))
}

fn unknown() -> Error {
    Error::Argument("the graph does not exist on this device: capture it there".to_owned())
}
