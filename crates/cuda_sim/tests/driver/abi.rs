//! The functions that the tests call, as a program declares them.

use std::ffi::{c_char, c_void};

// The library that defines them.
use cuda_sim as _;

unsafe extern "C" {
    pub fn cuInit(flags: u32) -> u32;
    pub fn cuGetExportTable(table: *mut *const c_void, id: *const c_void) -> u32;
    pub fn cuGetProcAddress_v2(
        name: *const c_char,
        function: *mut *mut c_void,
        version: i32,
        flags: u64,
        status: *mut u32,
    ) -> u32;
    pub fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32) -> u32;
    pub fn cuCtxCreate_v2(context: *mut usize, flags: u32, device: i32) -> u32;
    pub fn cuCtxDestroy_v2(context: usize) -> u32;
    pub fn cuMemPoolCreate(pool: *mut usize, properties: *const [u32; 22]) -> u32;
    pub fn cuMemPoolSetAttribute(pool: usize, attribute: u32, value: *const u64) -> u32;
    pub fn cuMemPoolGetAttribute(pool: usize, attribute: u32, value: *mut u64) -> u32;
    pub fn cuMemPoolSetAccess(pool: usize, access: *const [u32; 3], count: usize) -> u32;
    pub fn cuMemPoolGetAccess(flags: *mut u32, pool: usize, location: *const [u32; 2]) -> u32;
    pub fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: usize, stream: usize) -> u32;
    pub fn cuOccupancyMaxActiveClusters(clusters: *mut i32, function: usize, config: *const Config) -> u32;
    pub fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32) -> u32;
    pub fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32;
    pub fn cuDevicePrimaryCtxReset_v2(device: i32) -> u32;
    pub fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) -> u32;
    pub fn cuSurfObjectCreate(surface: *mut u64, resource: *const [u64; 18]) -> u32;
    pub fn cuSurfObjectDestroy(surface: u64) -> u32;
    pub fn cuTensorMapEncodeTiled(
        map: *mut Map,
        element: u32,
        rank: u32,
        address: u64,
        sizes: *const u64,
        strides: *const u64,
        block: *const u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        promotion: u32,
        fill: u32,
    ) -> u32;
    pub fn cuTensorMapReplaceAddress(map: *mut Map, address: u64) -> u32;
    pub fn cuCtxSetCurrent(context: usize) -> u32;
    pub fn cuCtxGetCurrent(context: *mut usize) -> u32;
    pub fn cuCtxSynchronize() -> u32;
    pub fn cuCtxEnablePeerAccess(peer: usize, flags: u32) -> u32;
    pub fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32;
    pub fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32) -> u32;
    pub fn cuMemFree_v2(address: u64) -> u32;
    pub fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: usize) -> u32;
    pub fn cuMemFreeAsync(address: u64, stream: usize) -> u32;
    pub fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> u32;
    pub fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> u32;
    pub fn cuMemcpy(to: u64, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpy2D_v2(copy: *const Copy2D) -> u32;
    pub fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: usize) -> u32;
    pub fn cuMemsetD32Async_ptsz(address: u64, value: u32, count: usize, stream: usize) -> u32;
    pub fn cuMemsetD2D8_v2(address: u64, pitch: usize, value: u8, width: usize, height: usize) -> u32;
    pub fn cuMemsetD32_v2(address: u64, value: u32, count: usize) -> u32;
    pub fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32) -> u32;
    pub fn cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32) -> u32;
    pub fn cuMemFreeHost(address: u64) -> u32;
    pub fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) -> u32;
    pub fn cuMemHostUnregister(address: u64) -> u32;
    pub fn cuPointerGetAttribute(data: *mut c_void, attribute: u32, address: u64) -> u32;
    pub fn cuArrayCreate_v2(array: *mut usize, descriptor: *const ArrayDescriptor) -> u32;
    pub fn cuArray3DCreate_v2(array: *mut usize, descriptor: *const [u64; 5]) -> u32;
    pub fn cuDeviceGetLuid(luid: *mut c_char, mask: *mut u32, device: i32) -> u32;
    pub fn cuArrayDestroy(array: usize) -> u32;
    pub fn cuModuleLoadData(module: *mut usize, image: *const u8) -> u32;
    pub fn cuModuleLoadDataEx(
        module: *mut usize,
        image: *const u8,
        count: u32,
        options: *const u32,
        values: *const *mut c_void,
    ) -> u32;
    pub fn cuModuleUnload(module: usize) -> u32;
    pub fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> u32;
    pub fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: usize, name: *const c_char) -> u32;
    pub fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: usize) -> u32;
    pub fn cuFuncSetAttribute(function: usize, attribute: u32, value: i32) -> u32;
    pub fn cuLinkCreate_v2(count: u32, options: *const u32, values: *const *mut c_void, linker: *mut usize) -> u32;
    pub fn cuLinkAddData_v2(
        linker: usize,
        kind: u32,
        data: *const u8,
        bytes: usize,
        name: *const c_char,
        count: u32,
        options: *const u32,
        values: *const *mut c_void,
    ) -> u32;
    pub fn cuLinkComplete(linker: usize, output: *mut *const u8, bytes: *mut usize) -> u32;
    pub fn cuLinkDestroy(linker: usize) -> u32;
    pub fn cuLibraryLoadData(
        library: *mut usize,
        code: *const u8,
        options: *const u32,
        values: *const *mut c_void,
        count: u32,
        library_options: *const u32,
        library_values: *const *mut c_void,
        library_count: u32,
    ) -> u32;
    pub fn cuLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: usize, name: *const c_char) -> u32;
    pub fn cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: usize, name: *const c_char) -> u32;
    pub fn cuLibraryUnload(library: usize) -> u32;
    pub fn cuLibraryGetKernel(kernel: *mut usize, library: usize, name: *const c_char) -> u32;
    pub fn cuLaunchKernel(
        function: usize,
        gx: u32,
        gy: u32,
        gz: u32,
        bx: u32,
        by: u32,
        bz: u32,
        shared: u32,
        stream: usize,
        pointers: *const *const u8,
        extra: *const usize,
    ) -> u32;
    pub fn cuLaunchCooperativeKernel(
        function: usize,
        gx: u32,
        gy: u32,
        gz: u32,
        bx: u32,
        by: u32,
        bz: u32,
        shared: u32,
        stream: usize,
        parameters: *const *const c_void,
    ) -> u32;
    pub fn cuLaunchKernelEx(
        config: *const Config,
        function: usize,
        pointers: *const *const u8,
        extra: *const usize,
    ) -> u32;
    pub fn cuLaunchHostFunc(stream: usize, function: usize, data: usize) -> u32;
    pub fn cuStreamAddCallback(stream: usize, function: usize, data: usize, flags: u32) -> u32;
    pub fn cuStreamCreate(stream: *mut usize, flags: u32) -> u32;
    pub fn cuStreamDestroy_v2(stream: usize) -> u32;
    pub fn cuStreamSynchronize(stream: usize) -> u32;
    pub fn cuStreamQuery(stream: usize) -> u32;
    pub fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32) -> u32;
    pub fn cuStreamBeginCapture_v2(stream: usize, mode: u32) -> u32;
    pub fn cuStreamIsCapturing(stream: usize, status: *mut u32) -> u32;
    pub fn cuStreamEndCapture(stream: usize, graph: *mut usize) -> u32;
    pub fn cuEventCreate(event: *mut usize, flags: u32) -> u32;
    pub fn cuEventRecordWithFlags(event: usize, stream: usize, flags: u32) -> u32;
    pub fn cuEventRecord(event: usize, stream: usize) -> u32;
    pub fn cuEventQuery(event: usize) -> u32;
    pub fn cuEventSynchronize(event: usize) -> u32;
    pub fn cuEventElapsedTime(milliseconds: *mut f32, from: usize, to: usize) -> u32;
    pub fn cuEventDestroy_v2(event: usize) -> u32;
    pub fn cuGraphCreate(graph: *mut usize, flags: u32) -> u32;
    pub fn cuGraphAddKernelNode_v2(
        node: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        kernel: *const KernelNode,
    ) -> u32;
    pub fn cuGraphAddChildGraphNode(
        node: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        child: usize,
    ) -> u32;
    pub fn cuGraphAddMemsetNode(
        node: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        fill: *const FillNode,
        context: usize,
    ) -> u32;
    pub fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: u64) -> u32;
    pub fn cuGraphLaunch(executable: usize, stream: usize) -> u32;
    pub fn cuGraphExecUpdate_v2(executable: usize, graph: usize, info: *mut [usize; 3]) -> u32;
    pub fn cuGraphExecKernelNodeSetParams_v2(executable: usize, node: usize, kernel: *const KernelNode) -> u32;
    pub fn cuGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) -> u32;
    pub fn cuGraphClone(copy: *mut usize, graph: usize) -> u32;
    pub fn cuGraphAddEventRecordNode(
        node: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        event: usize,
    ) -> u32;
    pub fn cuGraphAddEventWaitNode(
        node: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        event: usize,
    ) -> u32;
    pub fn cuGraphAddEmptyNode(node: *mut usize, graph: usize, after: *const usize, count: usize) -> u32;
    pub fn cuGraphAddDependencies(graph: usize, from: *const usize, to: *const usize, count: usize) -> u32;
    pub fn cuGraphDestroy(graph: usize) -> u32;
    pub fn cuGraphExecDestroy(executable: usize) -> u32;
    pub fn cuUserObjectCreate(
        object: *mut usize,
        data: *mut c_void,
        destroy: extern "C" fn(*mut c_void),
        count: u32,
        flags: u32,
    ) -> u32;
    pub fn cuUserObjectRetain(object: usize, count: u32) -> u32;
    pub fn cuUserObjectRelease(object: usize, count: u32) -> u32;
    pub fn cuGraphRetainUserObject(graph: usize, object: usize, count: u32, flags: u32) -> u32;
    pub fn cuGraphReleaseUserObject(graph: usize, object: usize, count: u32) -> u32;
    pub fn cuMemMap() -> u32;
}

#[repr(C)]
pub struct Config {
    pub dimensions: [u32; 7],
    pub stream: usize,
    pub attributes: *const [u32; 18],
    pub count: u32,
}

#[repr(C)]
pub struct KernelNode {
    pub function: usize,
    pub dimensions: [u32; 7],
    pub pointers: *const *const u8,
    pub extra: *const usize,
    pub kernel: usize,
    pub context: usize,
}

#[repr(C)]
pub struct FillNode {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

#[repr(C)]
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub format: u32,
    pub channels: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Plane {
    pub x: usize,
    pub y: usize,
    pub kind: u32,
    pub host: u64,
    pub device: u64,
    pub array: usize,
    pub pitch: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Copy2D {
    pub from: Plane,
    pub to: Plane,
    pub width: usize,
    pub height: usize,
}

/// `CUtensorMap`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Map(pub [u64; 16]);
