//! Handles, enumerations and structures.
//!
//! An enumeration is a number here, since a driver may return values that are newer than this list.

#![expect(non_camel_case_types, non_snake_case, reason = "the names are those of cuda.h")]
#![expect(missing_docs, reason = "NVIDIA's documentation of the driver API describes them")]

use std::ffi::{c_int, c_void};

/// Opaque objects of the driver.
macro_rules! handles {
    ($($name:ident $target:ident;)*) => {
        $(
            #[repr(C)]
            pub struct $target {
                opaque: [u8; 0],
            }
            pub type $name = *mut $target;
        )*
    };
}

handles! {
    CUarray CUarray_st;
    CUcontext CUctx_st;
    CUevent CUevent_st;
    CUfunction CUfunc_st;
    CUgraph CUgraph_st;
    CUgraphExec CUgraphExec_st;
    CUgraphNode CUgraphNode_st;
    CUmemoryPool CUmemPoolHandle_st;
    CUmodule CUmod_st;
    CUstream CUstream_st;
}

pub type CUdevice = c_int;
pub type CUdeviceptr = u64;
pub type CUtexObject = u64;

/// Enumerations, with the values that the library names.
macro_rules! enumerations {
    ($($name:ident { $($value:ident = $number:literal),* $(,)? })*) => {
        $(
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct $name(pub u32);

            impl $name {
                $(pub const $value: Self = Self($number);)*
            }
        )*
    };
}

enumerations! {
    CUresult {
        CUDA_SUCCESS = 0,
        CUDA_ERROR_INVALID_VALUE = 1,
        CUDA_ERROR_OUT_OF_MEMORY = 2,
        CUDA_ERROR_NO_DEVICE = 100,
        CUDA_ERROR_NOT_FOUND = 500,
        CUDA_ERROR_NOT_READY = 600,
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
        CUDA_ERROR_NOT_SUPPORTED = 801,
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
    }
    CUdevice_attribute {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
        CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    }
    CUlimit { CU_LIMIT_STACK_SIZE = 0 }
    CUjit_option { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 }
    CUfunction_attribute { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 }
    CUarray_format {
        CU_AD_FORMAT_UNSIGNED_INT8 = 1,
        CU_AD_FORMAT_UNSIGNED_INT16 = 2,
        CU_AD_FORMAT_UNSIGNED_INT32 = 3,
        CU_AD_FORMAT_SIGNED_INT8 = 8,
        CU_AD_FORMAT_SIGNED_INT16 = 9,
        CU_AD_FORMAT_SIGNED_INT32 = 10,
        CU_AD_FORMAT_HALF = 16,
        CU_AD_FORMAT_FLOAT = 32,
    }
    CUaddress_mode {
        CU_TR_ADDRESS_MODE_WRAP = 0,
        CU_TR_ADDRESS_MODE_CLAMP = 1,
        CU_TR_ADDRESS_MODE_MIRROR = 2,
        CU_TR_ADDRESS_MODE_BORDER = 3,
    }
    CUfilter_mode { CU_TR_FILTER_MODE_POINT = 0, CU_TR_FILTER_MODE_LINEAR = 1 }
    CUresourcetype { CU_RESOURCE_TYPE_ARRAY = 0, CU_RESOURCE_TYPE_LINEAR = 2 }
    CUtensorMapSwizzle {
        CU_TENSOR_MAP_SWIZZLE_NONE = 0,
        CU_TENSOR_MAP_SWIZZLE_32B = 1,
        CU_TENSOR_MAP_SWIZZLE_64B = 2,
        CU_TENSOR_MAP_SWIZZLE_128B = 3,
    }
    CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 }
    CUmemorytype { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3 }
    CUmemPool_attribute {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    }
    CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_PINNED = 1 }
    CUmemAllocationHandleType { CU_MEM_HANDLE_TYPE_NONE = 0 }
    CUmemLocationType { CU_MEM_LOCATION_TYPE_DEVICE = 1 }
    CUstreamCaptureMode { CU_STREAM_CAPTURE_MODE_RELAXED = 2 }
    CUstreamCaptureStatus { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1 }
    CUgraphExecUpdateResult { CU_GRAPH_EXEC_UPDATE_SUCCESS = 0 }
}

/// A flag of textures: integers are read as integers.
pub const CU_TRSF_READ_AS_INTEGER: u32 = 1;
/// A flag of textures: coordinates run from 0 to 1.
pub const CU_TRSF_NORMALIZED_COORDINATES: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Depth: usize,
    pub Format: CUarray_format,
    pub NumChannels: u32,
    pub Flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

/// A tensor map, whose contents are the driver's.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct CUtensorMap {
    pub opaque: [u64; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: CUDA_RESOURCE_DESC_res,
    pub flags: u32,
}

/// The memory of a texture, by the type of the resource.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUDA_RESOURCE_DESC_res {
    pub array: CUDA_RESOURCE_DESC_array,
    pub linear: CUDA_RESOURCE_DESC_linear,
    pub reserved: [c_int; 32],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC_array {
    pub hArray: CUarray,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC_linear {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: u32,
    pub sizeInBytes: usize,
}

/// How a texture's resource is viewed; the library passes none.
pub type CUDA_RESOURCE_VIEW_DESC = c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub flags: u32,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [c_int; 12],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemLocation {
    pub type_: CUmemLocationType,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemPoolProps {
    pub allocType: CUmemAllocationType,
    pub handleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub reserved: [u8; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: CUfunction,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the C structures on 64-bit systems.
    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<CUDA_ARRAY3D_DESCRIPTOR>(), 40);
        assert_eq!(size_of::<CUDA_MEMCPY3D>(), 200);
        assert_eq!(size_of::<CUDA_RESOURCE_DESC>(), 144);
        assert_eq!(size_of::<CUDA_TEXTURE_DESC>(), 104);
        assert_eq!(size_of::<CUmemPoolProps>(), 88);
        assert_eq!(size_of::<CUDA_KERNEL_NODE_PARAMS>(), 56);
    }
}
