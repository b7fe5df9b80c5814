//! A device whose allocations are shifted: every array of a run is moved off its natural 256-byte boundary.

use cuda_std::launch::Call;
use cuda_std::memory::TensorMap;
use rustwarp::Result;
use rustwarp::backend::{Backend, DeviceInfo, Module, Observed, Sampling, Shape, TensorLayout};

/// Wraps a device, and adds `shift` bytes in front of every allocation.
pub struct Shifted<'d> {
    /// The device.
    pub device: &'d dyn Backend,
    /// The shift in bytes: a multiple of the element's size, since a kernel may rely on no larger alignment.
    pub shift: u64,
}

/// Alignment of every allocation of every device.
const BOUNDARY: u64 = 256;

// SAFETY: the wrapped device does all work; an allocation is the end of a longer one of it.
unsafe impl Backend for Shifted<'_> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn free_memory(&self) -> Result<u64> {
        self.device.free_memory()
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        self.device.load(image, name)
    }

    fn alloc(&self, bytes: u64, align: u64, name: &str) -> Result<u64> {
        // Elements that are wider than the input's need a larger shift to stay aligned.
        let in_front = self.shift.next_multiple_of(align);
        let start = self.device.alloc(bytes + in_front, align, name)?;
        // All ones are NaN, -1 or the largest number: a kernel that reads in front of its array gets a wrong result.
        // SAFETY: the allocation begins with these bytes.
        unsafe { self.device.fill(start, 0xff, in_front)? };
        Ok(start + in_front)
    }

    unsafe fn free(&self, address: u64) {
        // The allocation starts on the boundary below `address`, since shifts are shorter than a boundary.
        // SAFETY: that address is what `alloc` of the device returned.
        unsafe { self.device.free(address - address % BOUNDARY) };
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.write(address, bytes) }
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.read(address, bytes) }
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.fill(address, byte, bytes) }
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.device.copy(to, from, bytes) }
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        self.device.texture(sampling, texels, name)
    }

    unsafe fn free_texture(&self, handle: u64) {
        // SAFETY: this function has the same contract.
        unsafe { self.device.free_texture(handle) };
    }

    fn tensor_map(&self, layout: &TensorLayout) -> Result<TensorMap> {
        self.device.tensor_map(layout)
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.device.launch(module, call, shape) }
    }

    fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }

    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
        self.device.time(run)
    }

    fn observed(&self) -> Option<Observed> {
        self.device.observed()
    }
}
