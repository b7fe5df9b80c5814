//! The heap of kernels, and the sizes of shared memory.
//!
//! With the feature `alloc`, kernels have `Box`, `Vec`, `String` and `format!`, which [`prelude`](crate::prelude) then
//! exports. Their memory comes from the device's own `malloc`, from a heap of 8 MiB unless the host sets another size
//! (`cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE)`), and lives until it is freed, also beyond the launch. A thread takes
//! microseconds to allocate: an array in registers, in shared memory or from the host is faster. When the heap is
//! exhausted, the kernel panics.

pub use crate::memory::{dynamic_smem_size, total_smem_size};
#[cfg(target_arch = "nvptx64")]
pub use core::arch::nvptx::{free, malloc};

#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
pub use heap::{CUDAAllocator, GLOBAL_ALLOCATOR};

#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
mod heap {
    use core::alloc::{GlobalAlloc, Layout};
    use core::arch::nvptx::{free, malloc};

    /// The device's `malloc` and `free` as an allocator.
    #[derive(Clone, Copy, Debug)]
    pub struct CUDAAllocator;

    /// The allocator of every kernel.
    #[global_allocator]
    pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

    /// Alignment of every result of `malloc`.
    const ALIGNED: usize = 16;

    // SAFETY: `alloc` returns null or memory of the layout that nothing else has; `dealloc` frees what `malloc` gave.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGNED {
                // SAFETY: `malloc` has no requirements.
                return unsafe { malloc(layout.size()) }.cast();
            }
            // Room to align the address, and before it the address to free.
            let Some(size) = layout.size().checked_add(layout.align()) else { return core::ptr::null_mut() };
            // SAFETY: as above.
            let start: *mut u8 = unsafe { malloc(size) }.cast();
            if start.is_null() {
                return start;
            }
            // The start is a multiple of 16, so at least 16 bytes precede the next greater multiple.
            let skipped = layout.align() - (start as usize & (layout.align() - 1));
            // SAFETY: `skipped` is from 16 to `align`, and the memory has `align` bytes more than the layout.
            unsafe {
                let aligned = start.add(skipped);
                aligned.cast::<*mut u8>().sub(1).write(start);
                aligned
            }
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            // SAFETY: `alloc` returned `at` for the layout; in the second case it wrote the start in front of it.
            unsafe {
                let start = if layout.align() <= ALIGNED { at } else { at.cast::<*mut u8>().sub(1).read() };
                free(start.cast());
            }
        }
    }
}
