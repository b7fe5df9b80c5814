//! The GPU backend, through the driver's API. The files of this folder are the only ones that name `cuda_driver`.

mod captured;
mod context;
mod device;
mod errors;
mod event;
mod graph;
mod memory;
mod module;
pub(super) mod nccl;
mod order;
mod pool;
mod queue;
mod streams;
mod tensor_map;
mod texture;

use super::allocation::Foreign;
use super::identity::Module;
use super::info::DeviceInfo;
use super::interface::{Backend, Pitched};
use super::observed::Observed;
use super::sampling::Sampling;
use super::shape::Shape;
use super::streams::{RawStream, Streams};
use super::tensor_map::TensorLayout;
use crate::error::{Error, Result};
use context::{Card, Current};
use cuda_driver::sys;
use cuda_std::launch::Call;
use cuda_std::memory::TensorMap;
use errors::check;
use queue::Queue;
use std::sync::Arc;

/// One stream of a GPU. Its driver calls go through [`Gpu::select`], so that a thread can use several GPUs, and several
/// threads one.
pub(super) struct Gpu {
    queue: Queue,
    card: Arc<Card>,
}

impl Gpu {
    /// Opens the GPU of this number.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such GPU or no driver; [`Error::Device`] if the driver fails.
    pub fn open(number: u32) -> Result<Self> {
        let driver = driver()?;
        let count = device::count()?;
        if number >= count {
            return Err(Error::NoDevice(format!(
                "there is no GPU {number}: {}",
                match count {
                    0 =>
                        "the driver finds none: check CUDA_VISIBLE_DEVICES, and that `nvidia-smi` lists one".to_owned(),
                    1 => "the driver finds one, which is GPU 0".to_owned(),
                    _ => format!("the driver finds {count}, of which the last is GPU {}", count - 1),
                }
            )));
        }
        let device = device::at(number, || format!("opening gpu:{number}"))?;
        let card = Card::open(device, device::describe(number, device, &driver)?, driver.cuda)?;
        let queue = Queue::new(|| format!("opening gpu:{number}"))?;
        Ok(Self { queue, card: Arc::new(card) })
    }

    /// Uses a context and a stream of the caller.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver; [`Error::Device`] if the driver fails.
    ///
    /// # Safety
    /// The stream belongs to the context, and both exist as long as `owner`, which is dropped after the GPU and its
    /// streams.
    pub unsafe fn adopt(raw: RawStream, owner: Foreign) -> Result<Self> {
        let (driver, context) = (driver()?, raw.context.cast());
        let attempt = || "adopting a context".to_owned();
        // SAFETY: by contract the context exists.
        check(unsafe { sys::cuCtxSetCurrent(context) }, attempt)?;
        let mut number = 0;
        // SAFETY: the argument points to room for a device.
        check(unsafe { sys::cuCtxGetDevice(&mut number) }, attempt)?;
        let number = number.unsigned_abs();
        let device = device::at(number, attempt)?;
        // SAFETY: this function has the same contract, and the driver has just returned the context's device.
        let card =
            unsafe { Card::adopt((context, owner), device, device::describe(number, device, &driver)?, driver.cuda)? };
        Ok(Self { queue: Queue::adopt(raw.stream.cast()), card: Arc::new(card) })
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    fn select(&self) -> Result<Current<'_>> {
        self.card.select(&self.queue)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // The stream is released in its context. If that cannot be selected, the driver's error is ignored.
        let _ = self.card.enter();
    }
}

// SAFETY: `Card` makes the driver's calls in the context of this GPU; the driver allocates memory that does not
// overlap, aligned to 256 bytes, and frees it in stream order; reading waits for the stream.
unsafe impl Backend for Gpu {
    fn info(&self) -> &DeviceInfo {
        self.card.info()
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    fn stream(&self) -> Result<Arc<dyn Backend>> {
        self.card.enter()?;
        let queue = Queue::new(|| format!("making a stream of {}", self.card.info().device))?;
        Ok(Arc::new(Self { queue, card: Arc::clone(&self.card) }))
    }

    fn free_memory(&self) -> Result<u64> {
        self.select()?.free_memory()
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        self.select()?.load(image, name)
    }

    fn alloc(&self, bytes: u64, _align: u64, name: &str) -> Result<u64> {
        self.select()?.alloc(bytes, name)
    }

    unsafe fn free(&self, address: u64) {
        // Without its context the memory is not released. The failure was reported by an earlier call.
        if let Ok(current) = self.select() {
            // SAFETY: this function has the same contract.
            unsafe { current.free(address) };
        }
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.write(address, bytes) }
    }

    unsafe fn initialise(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.initialise(address, bytes) }
    }

    unsafe fn clear(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.clear(address, bytes) }
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.read(address, bytes) }
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.fill(address, byte, bytes) }
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.copy(to, from, bytes) }
    }

    unsafe fn copy_rows(&self, to: Pitched, from: Pitched, width: u64, rows: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.copy_rows(to, from, width, rows) }
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        self.select()?.texture(sampling, texels, name)
    }

    unsafe fn free_texture(&self, handle: u64) {
        // As in `free`.
        if let Ok(current) = self.select() {
            // SAFETY: this function has the same contract.
            unsafe { current.free_texture(handle) };
        }
    }

    fn tensor_map(&self, layout: &TensorLayout) -> Result<TensorMap> {
        self.select()?.tensor_map(layout)
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.launch(module, call, shape) }
    }

    fn synchronize(&self) -> Result<()> {
        self.select()?.synchronize()
    }

    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
        self.select()?.time(run).map(Some)
    }

    fn observed(&self) -> Option<Observed> {
        None
    }
}

/// Describes every GPU.
pub(super) fn list() -> Result<Vec<DeviceInfo>> {
    let driver = driver()?;
    (0..device::count()?)
        .map(|number| device::describe(number, device::at(number, || format!("querying gpu:{number}"))?, &driver))
        .collect()
}

fn driver() -> Result<cuda_driver::DriverInfo> {
    cuda_driver::load().map_err(unavailable)
}

/// The error for a driver that does not start: [`Error::NoDevice`] only if there is no driver or no GPU.
fn unavailable(error: cuda_driver::DriverError) -> Error {
    use cuda_driver::DriverError::{Init, NotFound};
    match error {
        // CUDA_ERROR_STUB_LIBRARY and CUDA_ERROR_NO_DEVICE.
        NotFound { .. } | Init { code: 34 | 100, .. } => Error::NoDevice(error.to_string()),
        _ => Error::Device(format!("{error}: reinstall it or restart this machine, or request the simulator")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_driver::DriverError;

    #[test]
    fn only_a_missing_driver_or_gpu_is_no_device() {
        let init = |code| unavailable(DriverError::Init { library: "x".into(), code, name: "y".into() });
        assert!(matches!(unavailable(DriverError::NotFound { tried: Vec::new() }), Error::NoDevice(_)));
        assert!(matches!(init(100), Error::NoDevice(_)));
        // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, and CUDA_ERROR_ECC_UNCORRECTABLE.
        assert!([803, 214].iter().all(|&code| matches!(init(code), Error::Device(_))));
    }
}
