//! A device whose memory starts a little later: every array of a run is moved off its natural 256-byte boundary.

use cuda_std::launch::Call;
use host::Result;
use host::backend::{Backend, DeviceInfo, Module, Observed, Sampling, Shape};

/// Another device, with `shift` bytes in front of every allocation.
pub struct Shifted<'d> {
    /// The device.
    pub device: &'d dyn Backend,
    /// A multiple of the element's size: a kernel may rely on no more.
    pub shift: u64,
}

/// What every allocation of every device starts on.
const BOUNDARY: u64 = 256;

impl Backend for Shifted<'_> {
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
        // Or a little more, where the elements are wider than the input's.
        let in_front = self.shift.next_multiple_of(align);
        let start = self.device.alloc(bytes + in_front, align, name)?;
        // All ones are NaN, -1 or the highest number: a kernel that reads what is in front gets a wrong result.
        self.device.fill(start, 0xff, in_front)?;
        Ok(start + in_front)
    }

    fn free(&self, address: u64) {
        // Allocations start on a boundary, and shifts are shorter.
        self.device.free(address - address % BOUNDARY);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.device.write(address, bytes)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.device.read(address, bytes)
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        self.device.fill(address, byte, bytes)
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.device.copy(to, from, bytes)
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        self.device.texture(sampling, texels, name)
    }

    fn free_texture(&self, handle: u64) {
        self.device.free_texture(handle);
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: the caller's promise, passed on.
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
