//! Graphs: captured work that is launched as a whole.

use super::captured::Captured;
use super::context::{Card, Current};
use super::errors::check;
use super::queue::Node;
use crate::backend::identity::Module;
use crate::backend::shape::Shape;
use crate::error::{Error, Result};
use crate::sync::lock;
use cuda_driver::sys;
use cuda_std::launch::Call;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

impl Card {
    /// Number of kernels of a graph; 0 if there is none of this number.
    pub fn kernels(&self, graph: u64) -> usize {
        lock(&self.graphs).get(&graph).map_or(0, |graph| graph.kernels.len())
    }
}

/// Graphs. A graph of an unknown number has been freed by an unsafe call, and is reported as an error.
impl Current<'_> {
    /// Ends the capture.
    pub fn end_capture(&self) -> Result<u64> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (graph, kernels) = self.captured()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        lock(&self.card.graphs).insert(number, Captured::new(graph, kernels));
        Ok(number)
    }

    /// Makes a graph executable.
    pub fn instantiate(&self, graph: u64) -> Result<()> {
        self.with(graph, Captured::executable).map(|_| ())
    }

    /// Starts a graph.
    ///
    /// # Safety
    /// That of [`Streams::launch_graph`](crate::backend::Streams::launch_graph).
    pub unsafe fn launch_graph(&self, graph: u64) -> Result<()> {
        self.queue.refuse_in_capture("launching a graph")?;
        // The driver does not allow several threads to use an executable graph at once.
        self.with(graph, |captured| {
            let executable = captured.executable()?;
            // SAFETY: graph and stream exist; by contract the contracts of its kernels hold.
            check(unsafe { sys::cuGraphLaunch(executable, self.queue.raw()) }, || "launching a graph".into())
        })
    }

    /// Replaces arguments and sizes.
    ///
    /// # Safety
    /// That of [`Streams::update_graph`](crate::backend::Streams::update_graph).
    pub unsafe fn update_graph(&self, graph: u64, by: u64) -> Result<()> {
        let by = lock(&self.card.graphs).remove(&by).ok_or_else(unknown)?;
        self.with(graph, |captured| {
            let executable = captured.executable()?;
            let mut node = std::ptr::null_mut();
            let mut why = sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
            // SAFETY: both graphs exist, and the last arguments point to room for the results.
            match unsafe { sys::cuGraphExecUpdate(executable, by.graph, &mut node, &mut why) } {
                sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => Err(Error::Mismatch(
                    "updating a graph: the new capture has other steps than the graph: capture a graph of its own"
                        .to_owned(),
                )),
                other => check(other, || "updating a graph".into()),
            }
        })
    }

    /// Replaces a kernel's launch.
    ///
    /// # Safety
    /// That of [`Streams::set_kernel`](crate::backend::Streams::set_kernel).
    pub unsafe fn set_kernel(&self, graph: u64, index: usize, of: (Module, &Call<'_>, Shape)) -> Result<()> {
        let (module, call, shape) = of;
        shape.require_dimensions(call)?;
        let function = self.function(module, call, shape.shared)?;
        let mut params: Vec<*mut c_void> = call.params.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let launch = sys::CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: shape.shared,
            kernelParams: params.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        self.with(graph, |captured| {
            let count = captured.kernels.len();
            let Some(&Node { node, cooperative }) = captured.kernels.get(index) else {
                return Err(Error::Mismatch(format!("the graph has {count} kernels, and none of index {index}")));
            };
            // The parameters of a node do not say it: the old launch's would stay.
            shape.require_like(cooperative)?;
            let executable = captured.executable()?;
            // SAFETY: the node belongs to the graph; by contract the arguments are those of the entry, and the driver
            // copies them before it returns.
            let result = unsafe { sys::cuGraphExecKernelNodeSetParams(executable, node, &launch) };
            self.launched(result, call, shape)
        })
    }

    /// Releases a graph.
    pub fn free_graph(&self, graph: u64) {
        lock(&self.card.graphs).remove(&graph);
    }

    fn with<T>(&self, graph: u64, work: impl FnOnce(&mut Captured) -> Result<T>) -> Result<T> {
        work(lock(&self.card.graphs).get_mut(&graph).ok_or_else(unknown)?)
    }
}

fn unknown() -> Error {
    Error::Argument("the graph does not exist on this device: capture it there".to_owned())
}
