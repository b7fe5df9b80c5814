//! The driver's graphs.

use super::errors::check;
use super::queue::Node;
use crate::error::Result;
use cuda_driver::sys;

/// A captured graph. The driver's objects are released on drop.
pub(super) struct Captured {
    pub graph: sys::CUgraph,
    /// The executable form, which is made when the graph is launched or changed first.
    executable: sys::CUgraphExec,
    pub kernels: Vec<Node>,
}

// SAFETY: handles of the driver, which may be used from any thread; the map of graphs is locked around their use.
unsafe impl Send for Captured {}

impl Captured {
    /// A graph with its kernels in the order of their launches.
    pub fn new(graph: sys::CUgraph, kernels: Vec<Node>) -> Self {
        Self { graph, executable: std::ptr::null_mut(), kernels }
    }

    /// The executable form.
    pub fn executable(&mut self) -> Result<sys::CUgraphExec> {
        if self.executable.is_null() {
            // SAFETY: the first argument points to room for a handle, and the graph exists.
            let result = unsafe { sys::cuGraphInstantiateWithFlags(&mut self.executable, self.graph, 0) };
            check(result, || "making a graph executable".into())?;
        }
        Ok(self.executable)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.executable.is_null() {
            // SAFETY: the graph is not launched again; the driver lets launches end.
            unsafe { sys::cuGraphExecDestroy(self.executable) };
        }
        // SAFETY: the graph is not used again.
        unsafe { sys::cuGraphDestroy(self.graph) };
    }
}
