//! Functions of the driver that the simulator lacks: each returns `CUDA_ERROR_NOT_SUPPORTED` and is logged by name.

use crate::entry::Symbol;
use crate::log;

/// Defines the functions. They take any arguments, which the calling convention lets them ignore.
macro_rules! refused {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> u32 {
                log::unsupported(stringify!($name)).0
            }
        )*

        /// The functions of this file.
        pub const SYMBOLS: &[Symbol] = &[$(Symbol(stringify!($name), $name as *const ())),*];
    };
}

refused! {
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor cuArrayGetMemoryRequirements
    cuArrayGetPlane cuArrayGetSparseProperties cuCheckpointOperationComplete cuCheckpointProcessCheckpoint
    cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
    cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpDeregisterCompleteCallback
    cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
    cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute
    cuCoredumpSetAttributeGlobal cuCtxCreate cuCtxDestroy cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetExecAffinity
    cuCtxPopCurrent cuCtxPushCurrent cuCtxRecordEvent cuCtxWaitEvent cuDestroyExternalMemory
    cuDestroyExternalSemaphore cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount
    cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetDevResource cuDeviceGetFabricClusterUuid
    cuDeviceGetGraphMemAttribute cuDeviceGetHostAtomicCapabilities cuDeviceGetNvSciSyncAttributes
    cuDeviceGetP2PAtomicCapabilities cuDeviceGraphMemTrim cuDeviceRegisterAsyncNotification
    cuDeviceSetGraphMemAttribute cuDeviceTotalMem cuDeviceUnregisterAsyncNotification cuEventDestroy
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray cuFabricCpyBatchAsync
    cuFabricCpyBatchAsync_ptsz cuFlushGPUDirectRDMAWrites cuFuncGetParamCount cuFuncSetBlockShape cuFuncSetSharedSize
    cuGraphAddBatchMemOpNode cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
    cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddNode cuGraphAddNode_v2 cuGraphAddNode_v3
    cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams cuGraphChildGraphNodeGetGraph
    cuGraphConditionalHandleCreate cuGraphDebugDotPrint cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent
    cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent cuGraphExecBatchMemOpNodeSetParams
    cuGraphExecChildGraphNodeSetParams cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecGetFlags cuGraphExecGetId cuGraphExecNodeSetParams cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetId cuGraphHostNodeGetParams cuGraphHostNodeSetParams
    cuGraphInstantiate cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute
    cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetAttribute
    cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams
    cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams cuGraphNodeFindInClone cuGraphNodeGetContainingGraph
    cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2 cuGraphNodeGetEnabled
    cuGraphNodeGetLocalId cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeSetEnabled cuGraphNodeSetParams
    cuGraphNodeSetParams_v2 cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
    cuGraphicsMapResources cuGraphicsMapResources_ptsz
    cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2
    cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray
    cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz cuGraphicsUnregisterResource cuGreenCtxCreate
    cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate
    cuGreenCtxWaitEvent cuImportExternalMemory cuImportExternalSemaphore cuIpcCloseMemHandle cuIpcGetEventHandle
    cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuKernelGetParamCount cuLaunch
    cuLaunchCooperativeKernelMultiDevice cuLaunchGrid cuLaunchGridAsync cuLaunchHostFunc_v2 cuLaunchHostFunc_v2_ptsz
    cuLibraryGetUnifiedFunction cuLinkAddData cuLinkAddFile cuLinkCreate cuLogicalEndpointAddDevice
    cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate cuLogicalEndpointDestroy
    cuLogicalEndpointExport cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve
    cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind cuLogsCurrent cuLogsDumpToFile
    cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback cuMemAddressFree cuMemAddressReserve cuMemAlloc
    cuMemAllocHost cuMemAllocPitch cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz cuMemCreate
    cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync
    cuMemDiscardBatchAsync_ptsz cuMemExportToShareableHandle cuMemFree cuMemGetAccess cuMemGetAddressRange
    cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemGetDefaultMemPool
    cuMemGetHandleForAddressRange cuMemGetInfo cuMemGetLocationInfo cuMemGetMemPool cuMemHostGetDevicePointer
    cuMemHostRegister cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemMapArrayAsync_ptsz
    cuMemPoolExportPointer cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer
    cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz cuMemRangeGetAttribute cuMemRangeGetAttributes cuMemRelease
    cuMemRetainAllocationHandle cuMemSetAccess cuMemSetMemPool cuMemUnmap cuMemcpy2D cuMemcpy2DAsync
    cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz
    cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz cuMemcpy3DWithAttributesAsync
    cuMemcpy3DWithAttributesAsync_ptsz cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyAtoHAsync_v2
    cuMemcpyAtoHAsync_v2_ptsz cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz cuMemcpyBatchAsync_v2
    cuMemcpyBatchAsync_v2_ptsz cuMemcpyDtoA cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA
    cuMemcpyHtoAAsync cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz cuMemcpyHtoD cuMemcpyHtoDAsync
    cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz cuMemsetD16 cuMemsetD2D16 cuMemsetD2D32 cuMemsetD2D8
    cuMemsetD32 cuMemsetD8 cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel
    cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties cuModuleGetGlobal cuModuleGetSurfRef
    cuModuleGetTexRef cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem
    cuMulticastBindMem_v2 cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind cuParamSetSize
    cuParamSetTexRef cuParamSetf cuParamSeti cuParamSetv cuSignalExternalSemaphoresAsync
    cuSignalExternalSemaphoresAsync_ptsz cuStreamBatchMemOp cuStreamBatchMemOp_ptsz cuStreamBatchMemOp_v2
    cuStreamBatchMemOp_v2_ptsz cuStreamBeginCapture cuStreamBeginCaptureToCig cuStreamBeginCaptureToCig_ptsz
    cuStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph_ptsz cuStreamBeginCapture_ptsz
    cuStreamBeginRecaptureToGraph cuStreamBeginRecaptureToGraph_ptsz cuStreamDestroy cuStreamEndCaptureToCig
    cuStreamEndCaptureToCig_ptsz cuStreamGetAttribute cuStreamGetAttribute_ptsz cuStreamGetCaptureInfo
    cuStreamGetCaptureInfo_ptsz cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz cuStreamGetDevResource
    cuStreamGetDevResource_ptsz cuStreamGetGreenCtx cuStreamSetAttribute cuStreamSetAttribute_ptsz
    cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz cuStreamWaitValue32
    cuStreamWaitValue32_ptsz cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz cuStreamWaitValue64
    cuStreamWaitValue64_ptsz cuStreamWaitValue64_v2 cuStreamWaitValue64_v2_ptsz cuStreamWriteValue32
    cuStreamWriteValue32_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz cuStreamWriteValue64_v2
    cuStreamWriteValue64_v2_ptsz cuSurfRefGetArray cuSurfRefSetArray cuTensorMapEncodeIm2col
    cuTensorMapEncodeIm2colWide cuTensorMapSetAllocationClass
    cuTexObjectGetResourceViewDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddress cuTexRefGetAddressMode
    cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags
    cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
    cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress cuTexRefSetAddress2D
    cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray
    cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy
    cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray
    cuWaitExternalSemaphoresAsync
    cuWaitExternalSemaphoresAsync_ptsz
}
