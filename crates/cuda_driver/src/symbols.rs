//! Every driver symbol that `cust` 0.3.2 refers to with any of its features, and `cuFuncSetAttribute` and `cuGetErrorName`.
//!
//! The list was read from `cust`'s source; names and argument counts are those of `cust_raw` 0.11.3. No function takes a float
//! or a struct by value, so every argument travels in an integer register or an eight-byte stack slot, on x86-64 (System V)
//! and on AArch64 (AAPCS64) alike, and `usize` stands for all of them.

#![allow(non_snake_case, reason = "the names are the driver's own")]

use crate::library::{Slot, known};
use std::ffi::{CStr, c_char};

/// Defines one forwarding function per row.
macro_rules! forward {
    ($($name:ident($($argument:ident),*);)*) => {
        $(
            #[doc = concat!("Forwards to the driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As the driver's documentation says; the arguments are that function's, widened to a register.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: usize),*) -> u32 {
                static SLOT: Slot = Slot::new(c_str(concat!(stringify!($name), "\0")));
                match SLOT.get() {
                    Ok(address) => {
                        // SAFETY: the address is that of the driver's function of this name, which takes as many
                        // integers or pointers (see the module's text) and returns a CUresult.
                        let function = unsafe {
                            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($(word!($argument)),*) -> u32>(address)
                        };
                        // SAFETY: the caller's promise, passed on.
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

/// The type of an argument: always a register.
macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

/// Address of a function.
#[derive(Clone, Copy, Debug)]
pub struct Address(#[allow(dead_code, reason = "the address matters to the linker only")] *const ());

// SAFETY: the address of a function is the same for every thread, and is never dereferenced.
unsafe impl Sync for Address {}

/// `text` ends with its only zero byte.
const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a symbol's name has a zero byte"),
    }
}

forward! {
    cuArray3DCreate_v2(handle, allocate_array);
    cuArray3DGetDescriptor_v2(array_descriptor, h_array);
    cuArrayDestroy(h_array);
    cuCtxCreate_v2(pctx, flags, dev);
    cuCtxDestroy_v2(ctx);
    cuCtxGetApiVersion(ctx, version);
    cuCtxGetCacheConfig(pconfig);
    cuCtxGetCurrent(pctx);
    cuCtxGetDevice(device);
    cuCtxGetFlags(flags);
    cuCtxGetLimit(pvalue, limit);
    cuCtxGetSharedMemConfig(config);
    cuCtxGetStreamPriorityRange(least_priority, greatest_priority);
    cuCtxPopCurrent_v2(pctx);
    cuCtxPushCurrent_v2(ctx);
    cuCtxSetCacheConfig(config);
    cuCtxSetCurrent(ctx);
    cuCtxSetLimit(limit, value);
    cuCtxSetSharedMemConfig(config);
    cuCtxSynchronize();
    cuDestroyExternalMemory(ext_mem);
    cuDeviceGet(device, ordinal);
    cuDeviceGetAttribute(pi, attrib, dev);
    cuDeviceGetCount(count);
    cuDeviceGetName(name, len, dev);
    cuDevicePrimaryCtxRelease_v2(dev);
    cuDevicePrimaryCtxReset_v2(dev);
    cuDevicePrimaryCtxRetain(pctx, dev);
    cuDevicePrimaryCtxSetFlags_v2(dev, flags);
    cuDeviceTotalMem_v2(bytes, dev);
    cuDriverGetVersion(driver_version);
    cuEventCreate(event, flags);
    cuEventDestroy_v2(h_event);
    cuEventElapsedTime(milliseconds, h_start, h_end);
    cuEventQuery(h_event);
    cuEventRecord(h_event, h_stream);
    cuEventSynchronize(h_event);
    cuExternalMemoryGetMappedBuffer(dev_ptr, ext_mem, buffer_desc);
    cuFuncGetAttribute(pi, attrib, hfunc);
    cuFuncSetAttribute(hfunc, attrib, value);
    cuFuncSetCacheConfig(hfunc, config);
    cuFuncSetSharedMemConfig(hfunc, config);
    cuGraphAddKernelNode(graph_node, h_graph, dependencies, num_dependencies, node_params);
    cuGraphCreate(graph, flags);
    cuGraphDebugDotPrint(h_graph, path, flags);
    cuGraphDestroy(h_graph);
    cuGraphGetEdges(h_graph, from, to, num_edges);
    cuGraphGetNodes(h_graph, nodes, num_nodes);
    cuGraphKernelNodeGetParams(h_node, node_params);
    cuGraphNodeGetType(h_node, kind);
    cuImportExternalMemory(ext_mem_out, mem_handle_desc);
    cuInit(flags);
    cuLaunchHostFunc(h_stream, function, user_data);
    cuLaunchKernel(f, grid_dim_x, grid_dim_y, grid_dim_z, block_dim_x, block_dim_y, block_dim_z, shared_mem_bytes, h_stream, kernel_params, extra);
    cuLinkAddData_v2(state, kind, data, size, name, num_options, options, option_values);
    cuLinkComplete(state, cubin_out, size_out);
    cuLinkCreate_v2(num_options, options, option_values, state_out);
    cuLinkDestroy(state);
    cuMemAdvise(dev_ptr, count, advice, device);
    cuMemAllocAsync(dptr, bytesize, h_stream);
    cuMemAllocHost_v2(pp, bytesize);
    cuMemAllocManaged(dptr, bytesize, flags);
    cuMemAlloc_v2(dptr, bytesize);
    cuMemFreeAsync(dptr, h_stream);
    cuMemFreeHost(p);
    cuMemFree_v2(dptr);
    cuMemGetInfo_v2(free, total);
    cuMemPrefetchAsync(dev_ptr, count, dst_device, h_stream);
    cuMemcpy2D_v2(copy);
    cuMemcpyAtoH_v2(dst_host, src_array, src_offset, byte_count);
    cuMemcpyDtoDAsync_v2(dst_device, src_device, byte_count, h_stream);
    cuMemcpyDtoD_v2(dst_device, src_device, byte_count);
    cuMemcpyDtoHAsync_v2(dst_host, src_device, byte_count, h_stream);
    cuMemcpyDtoH_v2(dst_host, src_device, byte_count);
    cuMemcpyHtoA_v2(dst_array, dst_offset, src_host, byte_count);
    cuMemcpyHtoDAsync_v2(dst_device, src_host, byte_count, h_stream);
    cuMemcpyHtoD_v2(dst_device, src_host, byte_count);
    cuMemsetD16Async(dst_device, us, n, h_stream);
    cuMemsetD16_v2(dst_device, us, n);
    cuMemsetD32Async(dst_device, ui, n, h_stream);
    cuMemsetD32_v2(dst_device, ui, n);
    cuMemsetD8Async(dst_device, uc, n, h_stream);
    cuMemsetD8_v2(dst_device, uc, n);
    cuModuleGetFunction(hfunc, hmod, name);
    cuModuleGetGlobal_v2(dptr, bytes, hmod, name);
    cuModuleLoad(module, fname);
    cuModuleLoadData(module, image);
    cuModuleLoadDataEx(module, image, num_options, options, option_values);
    cuModuleUnload(hmod);
    cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size, func, num_blocks, block_size);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks, func, block_size, dynamic_smem_size);
    cuOccupancyMaxPotentialBlockSize(min_grid_size, block_size, func, block_size_to_dynamic_smem_size, dynamic_smem_size, block_size_limit);
    cuStreamCreateWithPriority(stream, flags, priority);
    cuStreamDestroy_v2(h_stream);
    cuStreamGetFlags(h_stream, flags);
    cuStreamGetPriority(h_stream, priority);
    cuStreamSynchronize(h_stream);
    cuStreamWaitEvent(h_stream, h_event, flags);
    cuSurfObjectCreate(surf_object, res_desc);
    cuSurfObjectDestroy(surf_object);
    cuSurfObjectGetResourceDesc(res_desc, surf_object);
    cuTexObjectCreate(tex_object, res_desc, tex_desc, res_view_desc);
    cuTexObjectDestroy(tex_object);
    cuTexObjectGetResourceDesc(res_desc, tex_object);
}

/// What there is to say about an error when no driver is there to say it.
const NO_DRIVER: &CStr = c"no NVIDIA driver is installed (libcuda.so.1 was not found)";

/// Asks the driver for a text, and gives [`NO_DRIVER`] where there is none: `cust`'s `Display` panics when this call fails.
unsafe fn text(slot: &Slot, error: usize, text: *mut *const c_char) -> u32 {
    if let Ok(address) = slot.get() {
        // SAFETY: both driver functions that come here take a CUresult and a place for a string.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(usize, *mut *const c_char) -> u32>(
                address,
            )
        };
        // SAFETY: the caller's promise, passed on.
        return unsafe { function(error, text) };
    }
    // SAFETY: the caller promises a valid place for a pointer.
    unsafe { text.write(NO_DRIVER.as_ptr()) };
    0
}

/// Forwards to the driver's `cuGetErrorString`; works without a driver too.
///
/// # Safety
/// `string` is a valid place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: usize, string: usize) -> u32 {
    static SLOT: Slot = Slot::new(c"cuGetErrorString");
    // SAFETY: the caller's promise, passed on.
    unsafe { text(&SLOT, error, string as *mut *const c_char) }
}

/// Forwards to the driver's `cuGetErrorName`; works without a driver too.
///
/// # Safety
/// `string` is a valid place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: usize, string: usize) -> u32 {
    static SLOT: Slot = Slot::new(c"cuGetErrorName");
    // SAFETY: the caller's promise, passed on.
    unsafe { text(&SLOT, error, string as *mut *const c_char) }
}
