//! The driver's memory pools.

use super::errors::check;
use crate::error::Result;
use cuda_driver::sys;

/// A memory pool. It keeps freed memory until it is trimmed, so that allocations do not call the operating system.
pub(super) struct Pool(sys::CUmemoryPool);

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Pool {}
// SAFETY: as for `Send`; the driver synchronises its calls.
unsafe impl Sync for Pool {}

impl Pool {
    /// Creates a pool; `None` if the device or the driver has none.
    pub fn new(device: sys::CUdevice, attempt: impl Fn() -> String) -> Result<Option<Self>> {
        let mut supported = 0;
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        // SAFETY: the first argument points to room for an int, and the driver returned the device.
        let result = unsafe { sys::cuDeviceGetAttribute(&mut supported, attribute, device) };
        if result != sys::CUresult::CUDA_SUCCESS || supported == 0 {
            return Ok(None);
        }
        let properties = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device },
            win32SecurityAttributes: std::ptr::null_mut(),
            reserved: [0; 64],
        };
        let mut pool = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle, the second to a complete description.
        check(unsafe { sys::cuMemPoolCreate(&mut pool, &properties) }, &attempt)?;
        let pool = Self(pool);
        let mut keep = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute's value is a 64-bit number, to which the last argument points.
        let result = unsafe { sys::cuMemPoolSetAttribute(pool.0, attribute, (&raw mut keep).cast()) };
        check(result, attempt)?;
        Ok(Some(pool))
    }

    /// The driver's handle.
    pub fn raw(&self) -> sys::CUmemoryPool {
        self.0
    }

    /// Number of bytes that the pool holds and that are not allocated.
    pub fn unused(&self) -> u64 {
        let value = |attribute| {
            let mut value = 0_u64;
            // SAFETY: the attribute's value is a 64-bit number, for which the last argument points to room.
            let result = unsafe { sys::cuMemPoolGetAttribute(self.0, attribute, (&raw mut value).cast()) };
            if result == sys::CUresult::CUDA_SUCCESS { value } else { 0 }
        };
        let reserved = value(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        reserved.saturating_sub(value(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    }

    /// Returns memory that is not allocated to the system.
    pub fn trim(&self) -> sys::CUresult {
        // SAFETY: the pool exists as long as `self`.
        unsafe { sys::cuMemPoolTrimTo(self.0, 0) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pool is not used again. The driver releases it once its memory is freed.
        unsafe { sys::cuMemPoolDestroy(self.0) };
    }
}
