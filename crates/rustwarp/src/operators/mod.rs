//! Reductions, scans, segmented reductions and transformations by an operator of your own, over values of your own.
//!
//! A crate of kernels declares them with the macros of [`kernels_gpu::operator`]; [`Device::load`](crate::Device::load)
//! loads its PTX. A kernel is passed by its name, which is a unit struct:
//!
//! ```ignore
//! let module = device.load(PTX.as_bytes(), "kernels.ptx")?;
//! let summary = device.reduce_with(&module, kernels::summary, &values)?;
//! let compositions = device.scan_with(&module, kernels::compositions, &maps, Kind::Inclusive)?;
//! ```
//!
//! [`Reduce`], [`Scan`], [`ScanByKey`], [`SegmentedReduce`] and [`Transform`] are plans, as those of the other modules:
//! they choose the launch configuration and allocate scratch memory once. They check lengths and devices. What they
//! cannot check is that a module's entry is the kernel that the struct names: as a family's PTX is trusted to be the
//! build of `kernels-gpu`, a module is trusted to be the build of the crate that declares the kernel.
//!
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors; of a scan, on every
//!   device.
//! - *Order*: values are combined in their order by operators that do not commute
//!   ([`Operator::COMMUTATIVE`]), and in an order that suits the device
//!   by those that do.

mod reduce;
mod scan;
mod scan_by_key;
mod segmented;
mod transform;

pub use kernels_gpu::operator::{
    Operator,
    launch::{ReduceKernel, ScanByKeyKernel, ScanKernel, SegmentedReduceKernel, TransformKernel},
};
pub use reduce::Reduce;
pub use scan::Scan;
pub use scan_by_key::ScanByKey;
pub use segmented::SegmentedReduce;
pub use transform::Transform;

use crate::backend::Handle;
use crate::device::Module;
use crate::error::Result;
use crate::launch::Launch;

/// Starts a kernel of the module, in the order of its stream. A launch without blocks does nothing.
///
/// # Errors
/// Those of [`Launch::run`].
fn run(module: &Module, launch: &Launch<'_>) -> Result<()> {
    if launch.is_empty() {
        return Ok(());
    }
    let device = module.device();
    // SAFETY: the plan that made the launch checked that its memory is on the module's device; the module is trusted to
    // have the kernel (see the text of this module), for which `Launch::new` has the proof.
    device.queue().work(launch.uses(), || unsafe { launch.run(device.backend(), module.loaded()) })
}
