//! The functions.

#![expect(non_snake_case, reason = "the names are those of cuda.h")]
#![expect(clippy::too_many_arguments, reason = "the driver's `cuLaunchKernel` has eleven")]

use super::types::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUarray, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphNode, CUjit_option,
    CUlimit, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUmodule, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, CUtensorMap, CUtensorMapL2promotion, CUtensorMapSwizzle, CUtexObject,
};
use crate::library::{Missing, Slot, open};
use std::ffi::{c_char, c_int, c_void};

/// Defines a function per row.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// The arguments must be those that the driver's documentation of the function requires.
            pub unsafe fn $name($($argument: $type),*) -> CUresult {
                static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), open);
                match SLOT.get() {
                    Ok(address) => {
                        // SAFETY: the address is that of the driver's function of this name, which takes these
                        // arguments and returns a CUresult.
                        let function = unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> CUresult>(address)
                        };
                        // SAFETY: the caller upholds this function's contract.
                        unsafe { function($($argument),*) }
                    }
                    Err(Missing::Library) => CUresult::CUDA_ERROR_NO_DEVICE,
                    Err(Missing::Symbol) => CUresult::CUDA_ERROR_NOT_SUPPORTED,
                }
            }
        )*

        /// The names of all functions, in alphabetical order.
        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

functions! {
    cuArray3DCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR);
    cuArrayDestroy(array: CUarray);
    cuCtxGetDevice(device: *mut CUdevice);
    cuCtxGetLimit(value: *mut usize, limit: CUlimit);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxSetLimit(limit: CUlimit, value: usize);
    cuCtxSynchronize();
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDriverGetVersion(version: *mut c_int);
    cuEventCreate(event: *mut CUevent, flags: u32);
    cuEventDestroy_v2(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuEventQuery(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventSynchronize(event: CUevent);
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuGetErrorName(error: CUresult, name: *mut *const c_char);
    cuGraphDestroy(graph: CUgraph);
    cuGraphExecDestroy(executable: CUgraphExec);
    cuGraphExecKernelNodeSetParams(
        executable: CUgraphExec, node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS,
    );
    cuGraphExecUpdate(
        executable: CUgraphExec, graph: CUgraph, node: *mut CUgraphNode, result: *mut CUgraphExecUpdateResult,
    );
    cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: u64);
    cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
    cuInit(flags: u32);
    cuLaunchCooperativeKernel(
        function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: CUstream, params: *mut *mut c_void,
    );
    cuLaunchKernel(
        function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    cuMemFreeHost(pointer: *mut c_void);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: u32);
    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolTrimTo(pool: CUmemoryPool, bytes_to_keep: usize);
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync(
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        stream: CUstream,
    );
    cuMemsetD8Async(address: CUdeviceptr, value: u8, bytes: usize, stream: CUstream);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, count: u32, options: *mut CUjit_option, values: *mut *mut c_void,
    );
    cuModuleUnload(module: CUmodule);
    cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: u32, priority: c_int);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    cuStreamGetCaptureInfo_v2(
        stream: CUstream, status: *mut CUstreamCaptureStatus, id: *mut u64, graph: *mut CUgraph,
        dependencies: *mut *const CUgraphNode, count: *mut usize,
    );
    cuStreamQuery(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32);
    cuTensorMapEncodeTiled(
        map: *mut CUtensorMap, element: u32, rank: u32, address: CUdeviceptr, sizes: *const u64, strides: *const u64,
        block: *const u32, steps: *const u32, interleave: u32, swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion, fill: u32,
    );
    cuTexObjectCreate(
        texture: *mut CUtexObject, resource: *const CUDA_RESOURCE_DESC, description: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    );
    cuTexObjectDestroy(texture: CUtexObject);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(NAMES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_call_without_driver_is_an_ordinary_error() {
        // SAFETY: cuInit takes flags, which must be 0.
        let result = unsafe { cuInit(0) };
        assert_eq!(result == CUresult::CUDA_ERROR_NO_DEVICE, crate::library::open().is_err() || result.0 == 100);
    }
}
