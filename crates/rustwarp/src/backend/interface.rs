//! What every device can do.

use super::identity::Module;
use super::info::DeviceInfo;
use super::observed::Observed;
use super::options::Simulation;
use super::sampling::Sampling;
use super::shape::Shape;
use super::streams::Streams;
use super::tensor_map::TensorLayout;
use crate::error::{Error, Result};
use cuda_std::launch::Call;
use cuda_std::memory::TensorMap;
use std::sync::Arc;

/// A stream of a device: memory, modules, launches, and a clock. “Stream order” is the order of the calls.
///
/// [`launch`](Self::launch) is unsafe, since each kernel has a contract of its own, and so are the methods that take
/// addresses: on systems where GPUs can access the host's memory (HMM, ATS), an address may refer to that.
/// [`Memory`](super::Memory) and [`Texture`](super::Texture) are the safe interfaces. Device memory is read as elements
/// for which every bit pattern is valid.
///
/// # Safety
/// The other methods' proofs rely on an implementation: `alloc` returns memory of at least the requested size and
/// alignment that overlaps no other allocation until it is freed; `write`, `read`, `fill` and `copy` access no more
/// than the bytes that they are given, in stream order; `write` and `read` have ended on return; memory is reused after
/// everything launched before its release has ended; and `info` always describes the same device.
pub unsafe trait Backend: Send + Sync {
    /// The device's properties.
    fn info(&self) -> &DeviceInfo;

    /// Events, pinned memory and graphs; `None` for a backend without them.
    fn streams(&self) -> Option<&dyn Streams> {
        None
    }

    /// Creates another stream of the device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a backend without streams, [`Error::Device`] if the driver fails.
    fn stream(&self) -> Result<Arc<dyn Backend>> {
        Err(Error::Unsupported(format!("{} has one stream: open a `Device` of its own", self.info().device)))
    }

    /// Number of bytes that can be allocated now.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    fn free_memory(&self) -> Result<u64>;

    /// Loads a PTX module (a GPU also loads a cubin). `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::BadPtx`] for text that is not PTX, [`Error::NoPtx`] for PTX that this device or driver cannot run.
    fn load(&self, image: &[u8], name: &str) -> Result<Module>;

    /// Allocates uninitialised memory whose address is a multiple of `align`, a power of two up to 256; `name` appears
    /// in the simulator's reports. Zero bytes are allowed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the size if there is too little memory; [`Error::Device`] if the driver fails.
    fn alloc(&self, bytes: u64, align: u64, name: &str) -> Result<u64>;

    /// Releases memory in stream order: it is reused after everything launched before has ended.
    ///
    /// # Safety
    /// `alloc` of this device returned the address, and the caller does not use the memory again.
    unsafe fn free(&self, address: u64);

    /// Copies to the device in stream order, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    ///
    /// # Safety
    /// The bytes at the address lie in one allocation of this device, which is not freed.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies to memory that was just allocated and that nothing has used, also in a capture, which does not record the
    /// copy.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn initialise(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.write(address, bytes) }
    }

    /// Sets all bytes of memory that was just allocated and that nothing has used to 0, in stream order; in a capture
    /// at once, without being recorded.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn clear(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.fill(address, 0, bytes) }
    }

    /// Copies from the device, after everything launched before has ended.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Sets every byte, in stream order.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()>;

    /// Copies within device memory, in stream order.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write), for both addresses.
    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()>;

    /// Copies a block of a matrix within device memory, in stream order.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write), for all rows of both blocks.
    unsafe fn copy_rows(&self, to: Pitched, from: Pitched, width: u64, rows: u64) -> Result<()> {
        for row in 0..rows {
            // SAFETY: this function has the same contract.
            unsafe { self.copy(to.row(row), from.row(row), width)? };
        }
        Ok(())
    }

    /// Creates a texture with these texels, whose number of bytes `sampling` determines; `name` appears in messages.
    /// Returns the handle that kernels take. [`Texture`](super::Texture) is the safe interface.
    ///
    /// # Errors
    /// [`Error::Argument`] if an axis has more texels than the device allows, [`Error::OutOfMemory`] if the device has
    /// too little memory.
    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64>;

    /// Releases a texture and its memory after everything launched has ended.
    ///
    /// # Safety
    /// `texture` of this device returned the handle, and the caller does not use it again.
    unsafe fn free_texture(&self, handle: u64);

    /// Makes a tensor map, which a kernel takes as a [`TensorMap`].
    ///
    /// # Errors
    /// [`Error::Argument`] with the rule that the layout breaks; on a GPU, [`Error::Device`] if its driver makes none
    /// (before CUDA 12).
    fn tensor_map(&self, layout: &TensorLayout) -> Result<TensorMap>;

    /// Starts a kernel, in stream order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a shape or an entry that does not exist on the device, and for more dimensions than the
    /// kernel's views allow ([`Call::dimensions`]); [`Error::OtherModule`] for a
    /// module of another device; [`Error::Fault`] if the kernel faults, which on a GPU may be reported by a later call.
    ///
    /// # Safety
    /// The kernel's contract holds for these arguments and this shape: the parameters are those of the entry, and the
    /// memory that they refer to lives until the kernel has ended. A kernel that breaks its contract usually gives
    /// wrong numbers or an [`Error::Fault`], but on systems where GPUs can access the host's memory (HMM, ATS) it can
    /// write there too. The simulator reports every access outside its memory.
    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()>;

    /// Waits until everything launched in the stream has ended.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel faulted; [`Error::Device`] if the driver fails.
    fn synchronize(&self) -> Result<()>;

    /// Measures the milliseconds between two events around the launches of `run`; `None` on a device that measures no
    /// times.
    ///
    /// # Errors
    /// Those of `run`, and of [`synchronize`](Self::synchronize).
    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>>;

    /// Sets the options of the following simulated launches.
    ///
    /// # Errors
    /// [`Error::Argument`] on a GPU, and for a profile that cannot be used.
    fn simulate(&self, how: &Simulation) -> Result<()> {
        let _ = how;
        Err(Error::Argument(
            "seeds, profiles and workers are options of the simulator, which a GPU does not have".to_owned(),
        ))
    }

    /// Returns the observations since the last call; `None` on a GPU.
    fn observed(&self) -> Option<Observed>;
}

/// Where the rows of a block lie in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pitched {
    /// Address of the first row.
    pub address: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
}

impl Pitched {
    /// Address of a row.
    fn row(self, row: u64) -> u64 {
        self.address + row * self.pitch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Checks, Choice, open};

    #[test]
    fn a_module_of_another_device_is_rejected() {
        let ptx = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
        let [one, other] = [(); 2].map(|()| open(Choice::Sim, Checks::Bounds).expect("the simulator").0);
        let module = one.load(ptx, "k.ptx").expect("a module");
        other.load(ptx, "k.ptx").expect("a module at the same index");
        // SAFETY: the kernel has no parameters and accesses no memory.
        let launch = |device: &dyn Backend| unsafe { device.launch(module, &Call::new("k"), Shape::linear(1, 32)) };
        launch(&*one).expect("a launch");
        assert!(matches!(launch(&*other), Err(Error::OtherModule { .. })));
    }
}
