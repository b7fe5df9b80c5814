//! The driver's functions, looked up on first use in the `libcuda.so.1` that the system's loader finds.

#![expect(non_snake_case, reason = "the names are those of cuda.h")]
#![expect(clippy::too_many_arguments, reason = "the driver's `cuLaunchKernel` has eleven")]

use crate::code::{Answer, Code};
use crate::log;
use crate::resource::{Resource, Sampling, View};
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A handle of the driver; 0 is none.
pub type Handle = usize;

/// Parameters of a launch: a pointer to each.
pub type Pointers = *const *const u8;

/// One side of a copy, as in `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Side {
    /// Offset in bytes, rows and planes.
    pub start: [usize; 3],
    /// Level of detail of an array.
    pub level: usize,
    /// [`HOST`], [`DEVICE`], [`ARRAY`] or [`UNIFIED`].
    pub kind: u32,
    /// Address in the host's memory.
    pub host: u64,
    /// Address in the device's memory.
    pub device: u64,
    /// The array.
    pub array: Handle,
    /// Unused, or the side's context.
    pub context: Handle,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Rows of a plane.
    pub height: usize,
}

/// Memory of the host.
pub const HOST: u32 = 1;
/// Memory of the device.
pub const DEVICE: u32 = 2;
/// An array.
pub const ARRAY: u32 = 3;
/// Memory that its address tells.
pub const UNIFIED: u32 = 4;

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Copy3D {
    /// The source.
    pub from: Side,
    /// The destination.
    pub to: Side,
    /// Width in bytes, height in rows, depth in planes.
    pub extent: [usize; 3],
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The stream.
    pub stream: Handle,
    /// Attributes, which are the same as the runtime's.
    pub attributes: *const c_void,
    /// Number of attributes.
    pub count: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS` of the first version, which the runtime has too.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNode {
    /// The function.
    pub function: Handle,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameters.
    pub pointers: Pointers,
    /// The parameters in one buffer.
    pub extra: *const usize,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Array {
    /// Elements of a row, rows of a plane, planes.
    pub extent: [usize; 3],
    /// Type of a channel.
    pub format: u32,
    /// Channels of an element.
    pub channels: u32,
    /// Layers, cube map, surface.
    pub flags: u32,
}

/// The library, which is never closed.
fn library() -> Option<usize> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        // SAFETY: the name ends with a zero byte; the driver's initialisers are meant to run.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            log::once("there is no driver: libcuda.so.1 is not found");
        }
        Some(library as usize).filter(|library| *library != 0)
    })
}

/// The address of a driver's function.
///
/// # Errors
/// `INSUFFICIENT_DRIVER` without a driver, `NEWER_DRIVER` if the driver lacks the function.
fn find(known: &AtomicPtr<c_void>, name: &CStr) -> Answer<*mut c_void> {
    // Relaxed suffices: every thread stores the same address, and the code there was loaded before.
    let address = known.load(Ordering::Relaxed);
    if !address.is_null() {
        return Ok(address);
    }
    let library = library().ok_or(Code::INSUFFICIENT_DRIVER)?;
    // SAFETY: an open library, and a name that ends with a zero byte.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    if address.is_null() {
        log::once(&format!("the driver has no {}", name.to_string_lossy()));
        return Err(Code::NEWER_DRIVER);
    }
    known.store(address, Ordering::Relaxed);
    Ok(address)
}

/// Defines a function per row.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`.")]
            ///
            /// # Errors
            /// The driver's.
            ///
            /// # Safety
            /// The arguments must be those that the driver's documentation of the function requires.
            pub unsafe fn $name($($argument: $type),*) -> Answer {
                static ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero byte"),
                };
                let address = find(&ADDRESS, NAME)?;
                // SAFETY: the address is that of the driver's function of this name, which takes these arguments and
                // returns a CUresult.
                let function = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> u32>(address)
                };
                // SAFETY: the caller upholds this function's contract.
                Code::check(unsafe { function($($argument),*) })
            }
        )*
    };
}

functions! {
    cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Array);
    cuArray3DGetDescriptor_v2(descriptor: *mut Array, array: Handle);
    cuArrayDestroy(array: Handle);
    cuCtxDisablePeerAccess(peer: Handle);
    cuCtxEnablePeerAccess(peer: Handle, flags: u32);
    cuCtxGetCacheConfig(config: *mut u32);
    cuCtxGetCurrent(context: *mut Handle);
    cuCtxGetDevice(device: *mut i32);
    cuCtxGetFlags(flags: *mut u32);
    cuCtxGetLimit(value: *mut usize, limit: u32);
    cuCtxGetSharedMemConfig(config: *mut u32);
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    cuCtxResetPersistingL2Cache();
    cuCtxSetCacheConfig(config: u32);
    cuCtxSetCurrent(context: Handle);
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxSetSharedMemConfig(config: u32);
    cuCtxSynchronize();
    cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32);
    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    cuDeviceGetByPCIBusId(device: *mut i32, bus: *const c_char);
    cuDeviceGetCount(count: *mut i32);
    cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32);
    cuDeviceGetLuid(luid: *mut c_char, mask: *mut u32, device: i32);
    cuDeviceGetMemPool(pool: *mut Handle, device: i32);
    cuDeviceGetName(name: *mut c_char, length: i32, device: i32);
    cuDeviceGetP2PAttribute(value: *mut i32, attribute: u32, from: i32, to: i32);
    cuDeviceGetPCIBusId(bus: *mut c_char, length: i32, device: i32);
    cuDeviceGetTexture1DLinearMaxWidth(width: *mut usize, format: u32, channels: u32, device: i32);
    cuDeviceGetUuid_v2(uuid: *mut u8, device: i32);
    cuDevicePrimaryCtxReset_v2(device: i32);
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32);
    cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    cuDeviceSetMemPool(device: i32, pool: Handle);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    cuDriverGetVersion(version: *mut i32);
    cuEventCreate(event: *mut Handle, flags: u32);
    cuEventDestroy_v2(event: Handle);
    cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    cuEventQuery(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32);
    cuEventSynchronize(event: Handle);
    cuFuncGetAttribute(value: *mut i32, attribute: u32, function: Handle);
    cuFuncGetName(name: *mut *const c_char, function: Handle);
    cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, size: *mut usize);
    cuFuncSetAttribute(function: Handle, attribute: u32, value: i32);
    cuFuncSetCacheConfig(function: Handle, config: u32);
    cuFuncSetSharedMemConfig(function: Handle, config: u32);
    cuGetErrorString(error: u32, text: *mut *const c_char);
    cuGetProcAddress_v2(name: *const c_char, function: *mut *mut c_void, version: i32, flags: u64, status: *mut u32);
    cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle);
    cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize);
    cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize);
    cuGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle);
    cuGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle);
    cuGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, host: *const c_void);
    cuGraphAddKernelNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, kernel: *const KernelNode,
    );
    cuGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Copy3D, context: Handle,
    );
    cuGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const c_void, context: Handle,
    );
    cuGraphClone(copy: *mut Handle, graph: Handle);
    cuGraphCreate(graph: *mut Handle, flags: u32);
    cuGraphDestroy(graph: Handle);
    cuGraphDestroyNode(node: Handle);
    cuGraphExecDestroy(executable: Handle);
    cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, host: *const c_void);
    cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, kernel: *const KernelNode);
    cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: *const Copy3D, context: Handle);
    cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: *const c_void, context: Handle);
    cuGraphExecUpdate_v2(executable: Handle, graph: Handle, info: *mut c_void);
    cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize);
    cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    cuGraphKernelNodeSetParams(node: Handle, kernel: *const KernelNode);
    cuGraphLaunch(executable: Handle, stream: Handle);
    cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize);
    cuGraphNodeGetType(node: Handle, kind: *mut u32);
    cuGraphReleaseUserObject(graph: Handle, object: Handle, count: u32);
    cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32);
    cuGraphUpload(executable: Handle, stream: Handle);
    cuInit(flags: u32);
    cuKernelGetFunction(function: *mut Handle, kernel: Handle);
    cuKernelSetAttribute(attribute: u32, value: i32, kernel: Handle, device: i32);
    cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, pointers: Pointers,
    );
    cuLaunchHostFunc(stream: Handle, function: *const c_void, data: *mut c_void);
    cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, pointers: Pointers, extra: *const usize,
    );
    cuLaunchKernelEx(config: *const Config, function: Handle, pointers: Pointers, extra: *const usize);
    cuLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle);
    cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char);
    cuLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char);
    cuLibraryGetKernelCount(count: *mut u32, library: Handle);
    cuLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char);
    cuLibraryLoadData(
        library: *mut Handle, code: *const u8, options: *const u32, values: *const *mut c_void, count: u32,
        library_options: *const u32, library_values: *const *mut c_void, library_count: u32,
    );
    cuLibraryLoadFromFile(
        library: *mut Handle, path: *const c_char, options: *const u32, values: *const *mut c_void, count: u32,
        library_options: *const u32, library_values: *const *mut c_void, library_count: u32,
    );
    cuLibraryUnload(library: Handle);
    cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32);
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle);
    cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: Handle, stream: Handle);
    cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32);
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemFreeAsync(address: u64, stream: Handle);
    cuMemFreeHost(pointer: u64);
    cuMemFree_v2(address: u64);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemHostAlloc(pointer: *mut u64, bytes: usize, flags: u32);
    cuMemHostGetDevicePointer_v2(address: *mut u64, pointer: u64, flags: u32);
    cuMemHostGetFlags(flags: *mut u32, pointer: u64);
    cuMemHostRegister_v2(pointer: u64, bytes: usize, flags: u32);
    cuMemHostUnregister(pointer: u64);
    cuMemPoolCreate(pool: *mut Handle, properties: *const c_void);
    cuMemPoolDestroy(pool: Handle);
    cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const c_void);
    cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut c_void);
    cuMemPoolSetAccess(pool: Handle, descriptions: *const c_void, count: usize);
    cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut c_void);
    cuMemPoolTrimTo(pool: Handle, bytes: usize);
    cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Handle);
    cuMemcpy3DAsync_v2(copy: *const Copy3D, stream: Handle);
    cuMemcpy3DPeerAsync(copy: *const Copy3D, stream: Handle);
    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    cuMemcpyPeerAsync(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle);
    cuMemsetD2D8Async(address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle);
    cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: Handle);
    cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Handle, blocks: i32, threads: i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, function: Handle, threads: i32, shared: usize, flags: u32,
    );
    cuOccupancyMaxActiveClusters(clusters: *mut i32, function: Handle, config: *const Config);
    cuOccupancyMaxPotentialClusterSize(blocks: *mut i32, function: Handle, config: *const Config);
    cuPointerGetAttribute(value: *mut c_void, attribute: u32, address: u64);
    cuProfilerStart();
    cuProfilerStop();
    cuStreamAddCallback(stream: Handle, function: *const c_void, data: *mut c_void, flags: u32);
    cuStreamAttachMemAsync(stream: Handle, address: u64, bytes: usize, flags: u32);
    cuStreamBeginCapture_v2(stream: Handle, mode: u32);
    cuStreamCreate(stream: *mut Handle, flags: u32);
    cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    cuStreamGetCaptureInfo_v2(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        count: *mut usize,
    );
    cuStreamGetDevice(stream: Handle, device: *mut i32);
    cuStreamGetFlags(stream: Handle, flags: *mut u32);
    cuStreamGetId(stream: Handle, id: *mut u64);
    cuStreamGetPriority(stream: Handle, priority: *mut i32);
    cuStreamIsCapturing(stream: Handle, status: *mut u32);
    cuStreamQuery(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, count: usize, flags: u32);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    cuSurfObjectCreate(surface: *mut u64, resource: *const Resource);
    cuSurfObjectDestroy(surface: u64);
    cuSurfObjectGetResourceDesc(resource: *mut Resource, surface: u64);
    cuTexObjectCreate(texture: *mut u64, resource: *const Resource, sampling: *const Sampling, view: *const View);
    cuTexObjectDestroy(texture: u64);
    cuTexObjectGetResourceDesc(resource: *mut Resource, texture: u64);
    cuTexObjectGetTextureDesc(sampling: *mut Sampling, texture: u64);
    cuThreadExchangeStreamCaptureMode(mode: *mut u32);
    cuUserObjectCreate(object: *mut Handle, data: *mut c_void, destroy: *const c_void, count: u32, flags: u32);
    cuUserObjectRelease(object: Handle, count: u32);
    cuUserObjectRetain(object: Handle, count: u32);
}
