//! Every driver symbol that `cust` 0.3.2 refers to with any of its features, and those that `rustwarp` calls beside it:
//! `cuFuncSetAttribute`, `cuGetErrorName`, `cuMemcpy3D`, memory pools, pinned memory, copies between GPUs, captures and
//! executable graphs.
//!
//! The first list was read from `cust`'s source; names and arguments are those of `cust_raw` 0.11.3, and of NVIDIA's
//! `cuda.h` for what that lacks. Every pointer and handle is `*mut c_void` here, and every enumeration the `u32` that
//! it is in C. No function takes a float or a struct by value.

use crate::library::{Slot, known};
use std::ffi::{CStr, c_char, c_void};

/// Defines one forwarding function per row.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("Forwards to the driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// The arguments must be those that the driver's documentation of the function requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
                static SLOT: Slot = Slot::new(c_str(concat!(stringify!($name), "\0")));
                match SLOT.get() {
                    Ok(address) => {
                        // SAFETY: the address is that of the driver's function of this name, which takes these
                        // arguments and returns a CUresult.
                        let function = unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> u32>(address)
                        };
                        // SAFETY: the caller upholds this function's contract.
                        known(unsafe { function($($argument),*) })
                    }
                    Err(code) => code,
                }
            }
        )*

        /// Name and address of every forwarding function, in alphabetical order.
        pub static TABLE: &[(&str, Address)] = &[$((stringify!($name), Address($name as *const ())),)*];
    };
}

/// The address of a function.
#[derive(Clone, Copy, Debug)]
pub struct Address(#[expect(dead_code, reason = "the address matters to the linker only")] *const ());

// SAFETY: the address of a function is the same in every thread, and is never dereferenced.
unsafe impl Sync for Address {}

/// Converts `text`, which must end with its only zero byte.
const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a symbol's name must end with its only zero byte"),
    }
}

forward! {
    cuArray3DCreate_v2(handle: *mut c_void, allocate_array: *mut c_void);
    cuArray3DGetDescriptor_v2(array_descriptor: *mut c_void, h_array: *mut c_void);
    cuArrayDestroy(h_array: *mut c_void);
    cuCtxCreate_v2(pctx: *mut c_void, flags: u32, dev: i32);
    cuCtxDestroy_v2(ctx: *mut c_void);
    cuCtxGetApiVersion(ctx: *mut c_void, version: *mut c_void);
    cuCtxGetCacheConfig(pconfig: *mut c_void);
    cuCtxGetCurrent(pctx: *mut c_void);
    cuCtxGetDevice(device: *mut c_void);
    cuCtxGetFlags(flags: *mut c_void);
    cuCtxGetLimit(pvalue: *mut c_void, limit: u32);
    cuCtxGetSharedMemConfig(config: *mut c_void);
    cuCtxGetStreamPriorityRange(least_priority: *mut c_void, greatest_priority: *mut c_void);
    cuCtxPopCurrent_v2(pctx: *mut c_void);
    cuCtxPushCurrent_v2(ctx: *mut c_void);
    cuCtxSetCacheConfig(config: u32);
    cuCtxSetCurrent(ctx: *mut c_void);
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxSetSharedMemConfig(config: u32);
    cuCtxSynchronize();
    cuDestroyExternalMemory(ext_mem: *mut c_void);
    cuDeviceGet(device: *mut c_void, ordinal: i32);
    cuDeviceGetAttribute(pi: *mut c_void, attrib: u32, dev: i32);
    cuDeviceGetCount(count: *mut c_void);
    cuDeviceGetName(name: *mut c_void, len: i32, dev: i32);
    cuDevicePrimaryCtxRelease_v2(dev: i32);
    cuDevicePrimaryCtxReset_v2(dev: i32);
    cuDevicePrimaryCtxRetain(pctx: *mut c_void, dev: i32);
    cuDevicePrimaryCtxSetFlags_v2(dev: i32, flags: u32);
    cuDeviceTotalMem_v2(bytes: *mut c_void, dev: i32);
    cuDriverGetVersion(driver_version: *mut c_void);
    cuEventCreate(event: *mut c_void, flags: u32);
    cuEventDestroy_v2(h_event: *mut c_void);
    cuEventElapsedTime(milliseconds: *mut c_void, h_start: *mut c_void, h_end: *mut c_void);
    cuEventQuery(h_event: *mut c_void);
    cuEventRecord(h_event: *mut c_void, h_stream: *mut c_void);
    cuEventSynchronize(h_event: *mut c_void);
    cuExternalMemoryGetMappedBuffer(dev_ptr: *mut c_void, ext_mem: *mut c_void, buffer_desc: *mut c_void);
    cuFuncGetAttribute(pi: *mut c_void, attrib: u32, hfunc: *mut c_void);
    cuFuncSetAttribute(hfunc: *mut c_void, attrib: u32, value: i32);
    cuFuncSetCacheConfig(hfunc: *mut c_void, config: u32);
    cuFuncSetSharedMemConfig(hfunc: *mut c_void, config: u32);
    cuGraphAddKernelNode(graph_node: *mut c_void, h_graph: *mut c_void, dependencies: *mut c_void,
        num_dependencies: usize, node_params: *mut c_void);
    cuGraphCreate(graph: *mut c_void, flags: u32);
    cuGraphDebugDotPrint(h_graph: *mut c_void, path: *mut c_void, flags: u32);
    cuGraphDestroy(h_graph: *mut c_void);
    cuGraphExecDestroy(graph_exec: *mut c_void);
    cuGraphExecKernelNodeSetParams(graph_exec: *mut c_void, node: *mut c_void, params: *mut c_void);
    cuGraphExecUpdate(graph_exec: *mut c_void, graph: *mut c_void, error_node: *mut c_void, result: *mut c_void);
    cuGraphGetEdges(h_graph: *mut c_void, from: *mut c_void, to: *mut c_void, num_edges: *mut c_void);
    cuGraphGetNodes(h_graph: *mut c_void, nodes: *mut c_void, num_nodes: *mut c_void);
    cuGraphInstantiateWithFlags(graph_exec: *mut c_void, graph: *mut c_void, flags: u64);
    cuGraphKernelNodeGetParams(h_node: *mut c_void, node_params: *mut c_void);
    cuGraphLaunch(graph_exec: *mut c_void, h_stream: *mut c_void);
    cuGraphNodeGetType(h_node: *mut c_void, kind: *mut c_void);
    cuImportExternalMemory(ext_mem_out: *mut c_void, mem_handle_desc: *mut c_void);
    cuInit(flags: u32);
    cuLaunchHostFunc(h_stream: *mut c_void, function: *mut c_void, user_data: *mut c_void);
    cuLaunchKernel(f: *mut c_void, grid_dim_x: u32, grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32,
        block_dim_y: u32, block_dim_z: u32, shared_mem_bytes: u32, h_stream: *mut c_void, kernel_params: *mut c_void,
        extra: *mut c_void);
    cuLinkAddData_v2(state: *mut c_void, kind: u32, data: *mut c_void, size: usize, name: *mut c_void,
        num_options: u32, options: *mut c_void, option_values: *mut c_void);
    cuLinkComplete(state: *mut c_void, cubin_out: *mut c_void, size_out: *mut c_void);
    cuLinkCreate_v2(num_options: u32, options: *mut c_void, option_values: *mut c_void, state_out: *mut c_void);
    cuLinkDestroy(state: *mut c_void);
    cuMemAdvise(dev_ptr: u64, count: usize, advice: u32, device: i32);
    cuMemAllocAsync(dptr: *mut c_void, bytesize: usize, h_stream: *mut c_void);
    cuMemAllocFromPoolAsync(dptr: *mut c_void, bytesize: usize, pool: *mut c_void, h_stream: *mut c_void);
    cuMemAllocHost_v2(pp: *mut c_void, bytesize: usize);
    cuMemAllocManaged(dptr: *mut c_void, bytesize: usize, flags: u32);
    cuMemAlloc_v2(dptr: *mut c_void, bytesize: usize);
    cuMemFreeAsync(dptr: u64, h_stream: *mut c_void);
    cuMemFreeHost(p: *mut c_void);
    cuMemFree_v2(dptr: u64);
    cuMemGetInfo_v2(free: *mut c_void, total: *mut c_void);
    cuMemHostAlloc(pp: *mut c_void, bytesize: usize, flags: u32);
    cuMemPoolCreate(pool: *mut c_void, properties: *mut c_void);
    cuMemPoolDestroy(pool: *mut c_void);
    cuMemPoolGetAttribute(pool: *mut c_void, attribute: u32, value: *mut c_void);
    cuMemPoolSetAttribute(pool: *mut c_void, attribute: u32, value: *mut c_void);
    cuMemPoolTrimTo(pool: *mut c_void, bytes_to_keep: usize);
    cuMemPrefetchAsync(dev_ptr: u64, count: usize, dst_device: i32, h_stream: *mut c_void);
    cuMemcpy2D_v2(copy: *mut c_void);
    cuMemcpy3D_v2(copy: *mut c_void);
    cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: *mut c_void, src_offset: usize, byte_count: usize);
    cuMemcpyDtoDAsync_v2(dst_device: u64, src_device: u64, byte_count: usize, h_stream: *mut c_void);
    cuMemcpyDtoD_v2(dst_device: u64, src_device: u64, byte_count: usize);
    cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: u64, byte_count: usize, h_stream: *mut c_void);
    cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: u64, byte_count: usize);
    cuMemcpyHtoA_v2(dst_array: *mut c_void, dst_offset: usize, src_host: *mut c_void, byte_count: usize);
    cuMemcpyHtoDAsync_v2(dst_device: u64, src_host: *mut c_void, byte_count: usize, h_stream: *mut c_void);
    cuMemcpyHtoD_v2(dst_device: u64, src_host: *mut c_void, byte_count: usize);
    cuMemcpyPeerAsync(dst_device: u64, dst_context: *mut c_void, src_device: u64, src_context: *mut c_void,
        byte_count: usize, h_stream: *mut c_void);
    cuMemsetD16Async(dst_device: u64, us: u16, n: usize, h_stream: *mut c_void);
    cuMemsetD16_v2(dst_device: u64, us: u16, n: usize);
    cuMemsetD32Async(dst_device: u64, ui: u32, n: usize, h_stream: *mut c_void);
    cuMemsetD32_v2(dst_device: u64, ui: u32, n: usize);
    cuMemsetD8Async(dst_device: u64, uc: u8, n: usize, h_stream: *mut c_void);
    cuMemsetD8_v2(dst_device: u64, uc: u8, n: usize);
    cuModuleGetFunction(hfunc: *mut c_void, hmod: *mut c_void, name: *mut c_void);
    cuModuleGetGlobal_v2(dptr: *mut c_void, bytes: *mut c_void, hmod: *mut c_void, name: *mut c_void);
    cuModuleLoad(module: *mut c_void, fname: *mut c_void);
    cuModuleLoadData(module: *mut c_void, image: *mut c_void);
    cuModuleLoadDataEx(module: *mut c_void, image: *mut c_void, num_options: u32, options: *mut c_void,
        option_values: *mut c_void);
    cuModuleUnload(hmod: *mut c_void);
    cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size: *mut c_void, func: *mut c_void, num_blocks: i32,
        block_size: i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks: *mut c_void, func: *mut c_void, block_size: i32,
        dynamic_smem_size: usize);
    cuOccupancyMaxPotentialBlockSize(min_grid_size: *mut c_void, block_size: *mut c_void, func: *mut c_void,
        block_size_to_dynamic_smem_size: *mut c_void, dynamic_smem_size: usize, block_size_limit: i32);
    cuStreamBeginCapture_v2(h_stream: *mut c_void, mode: u32);
    cuStreamCreateWithPriority(stream: *mut c_void, flags: u32, priority: i32);
    cuStreamDestroy_v2(h_stream: *mut c_void);
    cuStreamEndCapture(h_stream: *mut c_void, graph: *mut c_void);
    cuStreamGetCaptureInfo_v2(h_stream: *mut c_void, status: *mut c_void, id: *mut c_void, graph: *mut c_void,
        dependencies: *mut c_void, num_dependencies: *mut c_void);
    cuStreamGetFlags(h_stream: *mut c_void, flags: *mut c_void);
    cuStreamGetPriority(h_stream: *mut c_void, priority: *mut c_void);
    cuStreamQuery(h_stream: *mut c_void);
    cuStreamSynchronize(h_stream: *mut c_void);
    cuStreamWaitEvent(h_stream: *mut c_void, h_event: *mut c_void, flags: u32);
    cuSurfObjectCreate(surf_object: *mut c_void, res_desc: *mut c_void);
    cuSurfObjectDestroy(surf_object: u64);
    cuSurfObjectGetResourceDesc(res_desc: *mut c_void, surf_object: u64);
    cuTexObjectCreate(tex_object: *mut c_void, res_desc: *mut c_void, tex_desc: *mut c_void,
        res_view_desc: *mut c_void);
    cuTexObjectDestroy(tex_object: u64);
    cuTexObjectGetResourceDesc(res_desc: *mut c_void, tex_object: u64);
}

/// Description of every error where no driver is installed.
const NO_DRIVER: &CStr = c"no NVIDIA driver is installed (libcuda.so.1 was not found)";

/// Returns the driver's text for an error, or [`NO_DRIVER`] where no driver is installed: `cust`'s `Display` panics if
/// this call fails.
unsafe fn text(slot: &Slot, error: u32, text: *mut *const c_char) -> u32 {
    if let Ok(address) = slot.get() {
        // SAFETY: both driver functions that `slot` may name take a CUresult and the address of a string pointer.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32, *mut *const c_char) -> u32>(address)
        };
        // SAFETY: the caller upholds this function's contract.
        return unsafe { function(error, text) };
    }
    // SAFETY: by contract `text` points to room for a pointer.
    unsafe { text.write(NO_DRIVER.as_ptr()) };
    0
}

/// Forwards to the driver's `cuGetErrorString`; also works without a driver.
///
/// # Safety
/// `string` must point to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: u32, string: *mut c_void) -> u32 {
    static SLOT: Slot = Slot::new(c"cuGetErrorString");
    // SAFETY: the caller upholds this function's contract.
    unsafe { text(&SLOT, error, string.cast()) }
}

/// Forwards to the driver's `cuGetErrorName`; also works without a driver.
///
/// # Safety
/// `string` must point to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: u32, string: *mut c_void) -> u32 {
    static SLOT: Slot = Slot::new(c"cuGetErrorName");
    // SAFETY: the caller upholds this function's contract.
    unsafe { text(&SLOT, error, string.cast()) }
}
