//! Memory of a GPU, from a pool that allocates and frees in stream order, and copies.

use super::context::Current;
use super::errors::check;
use super::pool::Pool;
use crate::backend::Pitched;
use crate::backend::units::human;
use crate::error::{Error, Result};
use cuda_driver::sys;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory and copies.
impl Current<'_> {
    /// Number of bytes that can be allocated now.
    pub fn free_memory(&self) -> Result<u64> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the arguments point to room for the numbers.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, || "querying free memory".into())?;
        Ok(free as u64 + self.card.pool.as_ref().map_or(0, Pool::unused))
    }

    /// Returns unused memory of the pool to the system.
    pub fn trim(&self) -> Result<()> {
        match &self.card.pool {
            Some(pool) => check(pool.trim(), || "trimming the memory pool".into()),
            None => Ok(()),
        }
    }

    /// Allocates uninitialised memory in stream order; in a capture at once, without being recorded.
    pub fn alloc(&self, bytes: u64, name: &str) -> Result<u64> {
        let mut result = self.try_alloc(bytes);
        if matches!(result, Err(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))
            && let Some(pool) = &self.card.pool
            && !self.queue.is_capturing()
        {
            // Memory whose release waits for earlier work, and memory of unsuitable sizes, is returned first. An error
            // here was left by an earlier launch, which the second attempt reports.
            let _ = self.synchronize();
            pool.trim();
            result = self.try_alloc(bytes);
        }
        match result {
            Ok(address) => Ok(address),
            Err(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) => Err(Error::OutOfMemory(format!(
                "`{name}` needs {}, more than {} has free: use less data",
                human(bytes),
                self.card.info().device
            ))),
            Err(error) => {
                check(error, || format!("allocating {} for `{name}`", human(bytes)))?;
                Err(Error::Device(format!("allocating {} for `{name}`", human(bytes))))
            }
        }
    }

    fn try_alloc(&self, bytes: u64) -> Result<u64, sys::CUresult> {
        // The driver aligns allocations to 256 bytes. It rejects a size of zero, but an empty buffer needs an address.
        let (mut address, bytes) = (0, bytes.max(1) as usize);
        let capturing = self.queue.is_capturing();
        let queue = if capturing { self.card.side.0 } else { self.queue.raw() };
        // SAFETY: the first argument points to room for an address; pool and stream exist.
        let result = unsafe {
            match &self.card.pool {
                Some(pool) => sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool.raw(), queue),
                None => sys::cuMemAlloc_v2(&mut address, bytes),
            }
        };
        if result == sys::CUresult::CUDA_SUCCESS && capturing {
            // SAFETY: the stream exists. Work of the captured stream uses the memory without an order between the two.
            unsafe { sys::cuStreamSynchronize(queue) };
        }
        if result == sys::CUresult::CUDA_SUCCESS { Ok(address) } else { Err(result) }
    }

    /// Releases memory in stream order.
    ///
    /// # Safety
    /// That of [`Backend::free`](crate::backend::Backend::free).
    pub unsafe fn free(&self, address: u64) {
        // An error here was left by an earlier launch, which has reported it.
        if self.card.pool.is_none() {
            // A kernel may still use the memory, and the driver's documentation does not promise that `cuMemFree`
            // waits.
            self.drain();
            // SAFETY: by contract `alloc` returned this address and the caller does not use it again.
            unsafe { sys::cuMemFree_v2(address) };
            return;
        }
        // A release is not part of a graph; it follows the work before the capture.
        let queue = match self.queue.before_capture() {
            Some(before) => {
                // SAFETY: stream and event exist.
                unsafe { sys::cuStreamWaitEvent(self.card.side.0, before, 0) };
                self.card.side.0
            }
            None => self.queue.raw(),
        };
        // SAFETY: as above; the pool reuses the memory after the work of the stream.
        unsafe { sys::cuMemFreeAsync(address, queue) };
    }

    /// Copies to the GPU, and waits for the copy.
    ///
    /// # Safety
    /// That of [`Backend::write`](crate::backend::Backend::write).
    pub unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.queue.refuse_in_capture("copying from memory of the host")?;
        let attempt = || format!("copying {} to the GPU", human(bytes.len() as u64));
        // SAFETY: source and length are those of a live slice; by contract the destination is device memory. The slice
        // may be pinned memory, of which the driver copies nothing before it returns.
        let result =
            unsafe { sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.queue.raw()) };
        check(result, attempt)?;
        self.queue.synchronize(attempt)
    }

    /// Copies to memory that was just allocated, also in a capture, which does not record the copy.
    ///
    /// # Safety
    /// That of [`Backend::initialise`](crate::backend::Backend::initialise).
    pub unsafe fn initialise(&self, address: u64, bytes: &[u8]) -> Result<()> {
        if !self.queue.is_capturing() {
            // SAFETY: this function has the same contract.
            return unsafe { self.write(address, bytes) };
        }
        let (attempt, side) = (|| format!("copying {} to the GPU", human(bytes.len() as u64)), self.card.side.0);
        // SAFETY: as in `write`.
        check(unsafe { sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), side) }, attempt)?;
        // SAFETY: the stream exists.
        check(unsafe { sys::cuStreamSynchronize(side) }, attempt)
    }

    /// Sets all bytes of memory that was just allocated to 0, in a capture at once.
    ///
    /// # Safety
    /// That of [`Backend::clear`](crate::backend::Backend::clear).
    pub unsafe fn clear(&self, address: u64, bytes: u64) -> Result<()> {
        if !self.queue.is_capturing() {
            // SAFETY: this function has the same contract.
            return unsafe { self.fill(address, 0, bytes) };
        }
        let (attempt, side) = (|| format!("clearing {}", human(bytes)), self.card.side.0);
        // SAFETY: as in `fill`.
        check(unsafe { sys::cuMemsetD8Async(address, 0, bytes as usize, side) }, attempt)?;
        // SAFETY: the stream exists.
        check(unsafe { sys::cuStreamSynchronize(side) }, attempt)
    }

    /// Copies from the GPU, after everything launched before has ended.
    ///
    /// # Safety
    /// That of [`Backend::read`](crate::backend::Backend::read).
    pub unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.queue.refuse_in_capture("copying to memory of the host")?;
        // The fault of an earlier kernel is reported as such, and not as a failure of the copy.
        self.synchronize()?;
        let (to, len) = (bytes.as_mut_ptr(), bytes.len());
        let attempt = || format!("copying {} from the GPU", human(len as u64));
        // SAFETY: destination and length are those of a live slice that is borrowed mutably; by contract the source is
        // device memory.
        check(unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), address, len, self.queue.raw()) }, attempt)?;
        self.queue.synchronize(attempt)
    }

    /// Sets every byte, in stream order.
    ///
    /// # Safety
    /// That of [`Backend::fill`](crate::backend::Backend::fill).
    pub unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: by contract the call accesses allocated device memory only.
        let result = unsafe { sys::cuMemsetD8Async(address, byte, bytes as usize, self.queue.raw()) };
        check(result, || format!("filling {}", human(bytes)))
    }

    /// Copies within device memory, in stream order.
    ///
    /// # Safety
    /// That of [`Backend::copy`](crate::backend::Backend::copy).
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: by contract the call accesses allocated device memory only.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.queue.raw()) };
        check(result, || format!("copying {} on the GPU", human(bytes)))
    }

    /// Copies a block of a matrix within device memory, in stream order.
    ///
    /// # Safety
    /// That of [`Backend::copy_rows`](crate::backend::Backend::copy_rows).
    pub unsafe fn copy_rows(&self, to: Pitched, from: Pitched, width: u64, rows: u64) -> Result<()> {
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: from.address,
            srcArray: std::ptr::null_mut(),
            srcPitch: from.pitch as usize,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: to.address,
            dstArray: std::ptr::null_mut(),
            dstPitch: to.pitch as usize,
            WidthInBytes: width as usize,
            Height: rows as usize,
        };
        // SAFETY: the description is complete; by contract the call accesses allocated device memory only.
        let result = unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.queue.raw()) };
        check(result, || format!("copying {rows} rows of {} on the GPU", human(width)))
    }

    /// Copies from memory of another context, in the order of this stream.
    ///
    /// # Safety
    /// That of [`Streams::copy_across`](crate::backend::Streams::copy_across).
    pub unsafe fn copy_across(&self, to: u64, other: sys::CUcontext, from: u64, bytes: u64) -> Result<()> {
        self.queue.refuse_in_capture("copying between devices")?;
        let own = self.card.context();
        // SAFETY: by contract the call accesses allocated memory of the two contexts only.
        let result = unsafe { sys::cuMemcpyPeerAsync(to, own, from, other, bytes as usize, self.queue.raw()) };
        check(result, || format!("copying {} between GPUs", human(bytes)))
    }
}

/// Pinned memory.
impl Current<'_> {
    /// Allocates memory of the host that all GPUs access.
    pub fn pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        let mut memory = MaybeUninit::uninit();
        // SAFETY: the first argument points to room for an address; `CU_MEMHOSTALLOC_PORTABLE` is 1.
        let result = unsafe { sys::cuMemHostAlloc(memory.as_mut_ptr(), bytes.max(1), 1) };
        let attempt = || format!("allocating {} of pinned memory", human(bytes as u64));
        if result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(Error::OutOfMemory(format!("{} are more than this machine can pin: use less", attempt())));
        }
        check(result, attempt)?;
        // SAFETY: the driver has written an address.
        let memory = unsafe { memory.assume_init() };
        NonNull::new(memory.cast()).ok_or_else(|| Error::Device(attempt()))
    }

    /// Releases pinned memory.
    ///
    /// # Safety
    /// That of [`Streams::free_pinned`](crate::backend::Streams::free_pinned).
    pub unsafe fn free_pinned(&self, memory: NonNull<u8>) {
        // SAFETY: by contract `pinned` returned the memory, and nothing uses it.
        unsafe { sys::cuMemFreeHost(memory.as_ptr().cast()) };
    }

    /// Starts a copy of pinned memory to the GPU.
    ///
    /// # Safety
    /// That of [`Streams::write_async`](crate::backend::Streams::write_async).
    pub unsafe fn write_async(&self, address: u64, from: NonNull<u8>, bytes: usize) -> Result<()> {
        self.queue.refuse_in_capture("copying from memory of the host")?;
        // SAFETY: this function has the contract of the call.
        let result =
            unsafe { sys::cuMemcpyHtoDAsync_v2(address, from.as_ptr().cast_const().cast(), bytes, self.queue.raw()) };
        check(result, || format!("copying {} to the GPU", human(bytes as u64)))
    }

    /// Starts a copy from the GPU to pinned memory.
    ///
    /// # Safety
    /// That of [`Streams::read_async`](crate::backend::Streams::read_async).
    pub unsafe fn read_async(&self, address: u64, to: NonNull<u8>, bytes: usize) -> Result<()> {
        self.queue.refuse_in_capture("copying to memory of the host")?;
        // SAFETY: this function has the contract of the call.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_ptr().cast(), address, bytes, self.queue.raw()) };
        check(result, || format!("copying {} from the GPU", human(bytes as u64)))
    }
}
