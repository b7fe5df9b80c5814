//! Textures: CUDA arrays and linear memory, with the driver's descriptions of them.

use super::context::{Current, Texels};
use super::errors::check;
use crate::backend::sampling::{AddressMode, Channel, Filter, Layout, Sampling};
use crate::backend::units::{extent_text, human};
use crate::error::{Error, Result};
use cuda_driver::sys;

/// Textures.
impl Current<'_> {
    /// Creates a texture: see [`Backend::texture`](crate::backend::Backend::texture).
    pub fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        let (memory, resource) = match sampling.layout {
            Layout::Linear(_) => {
                let address = self.alloc(texels.len() as u64, name)?;
                // SAFETY: the memory was allocated above for these bytes.
                if let Err(error) = unsafe { self.write(address, texels) } {
                    // SAFETY: the memory was allocated above, and its address is not stored anywhere.
                    unsafe { self.free(address) };
                    return Err(error);
                }
                let linear = sys::CUDA_RESOURCE_DESC_linear {
                    devPtr: address,
                    format: format(sampling.channel),
                    numChannels: sampling.channels,
                    sizeInBytes: texels.len(),
                };
                let res = sys::CUDA_RESOURCE_DESC_res { linear };
                (Texels::Linear(address), (sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR, res))
            }
            Layout::Array(_) => {
                let array = self.array(sampling, texels, name)?;
                let handle = sys::CUDA_RESOURCE_DESC_array { hArray: array };
                let res = sys::CUDA_RESOURCE_DESC_res { array: handle };
                (Texels::Array(array), (sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY, res))
            }
        };
        let resource = sys::CUDA_RESOURCE_DESC { resType: resource.0, res: resource.1, flags: 0 };
        let mut handle = 0;
        // SAFETY: the first argument points to room for a handle, the others to complete descriptions of memory that
        // lives as long as the texture.
        let result =
            unsafe { sys::cuTexObjectCreate(&mut handle, &resource, &description(sampling), std::ptr::null()) };
        if let Err(error) = check(result, || format!("making the texture `{name}`")) {
            // SAFETY: the memory was created above, and is not stored anywhere.
            unsafe { self.free_texels(memory) };
            return Err(error);
        }
        self.textures().insert(handle, memory);
        Ok(handle)
    }

    /// Releases a texture and its memory after everything launched has ended.
    ///
    /// # Safety
    /// That of [`Backend::free_texture`](crate::backend::Backend::free_texture).
    pub unsafe fn free_texture(&self, handle: u64) {
        let Some(texels) = self.textures().remove(&handle) else { return };
        // A kernel of any stream may still read the texture.
        // SAFETY: a context is current. An error here was left by an earlier launch, which has reported it.
        let _ = unsafe { sys::cuCtxSynchronize() };
        self.drain();
        // SAFETY: `texture` created it, no kernel reads it any more, and the caller does not use it again.
        unsafe { sys::cuTexObjectDestroy(handle) };
        // SAFETY: the texture was removed from the list of those that exist.
        unsafe { self.free_texels(texels) };
    }

    /// Creates a CUDA array with these texels.
    fn array(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<sys::CUarray> {
        let Layout::Array([width, height, depth]) = sampling.layout else {
            return Err(Error::Argument(format!("the texture `{name}` has no array")));
        };
        let [width, height, depth] = [width, height, depth].map(|n| n as usize);
        let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format(sampling.channel),
            NumChannels: sampling.channels,
            Flags: 0,
        };
        let mut array = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle, the second to a complete description.
        match unsafe { sys::cuArray3DCreate_v2(&mut array, &descriptor) } {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => {
                return Err(Error::Argument(format!(
                    "the texture `{name}` of {} texels is larger than {} allows: use less data",
                    extent_text(sampling.extent()),
                    self.info().name
                )));
            }
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                return Err(Error::OutOfMemory(format!(
                    "the texture `{name}` needs {}, more than {} has free: use less data",
                    human(texels.len() as u64),
                    self.info().device
                )));
            }
            other => check(other, || format!("making an array for the texture `{name}`"))?,
        }
        let row = width * sampling.texel() as usize;
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: texels.as_ptr().cast(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: row,
            srcHeight: height.max(1),
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: array,
            reserved1: std::ptr::null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: row,
            Height: height.max(1),
            Depth: depth.max(1),
        };
        let attempt = || format!("filling the texture `{name}`");
        // SAFETY: `Texture::new` has checked that the number of bytes is that of the array, and the array has this
        // extent.
        let copied = check(unsafe { sys::cuMemcpy3D_v2(&copy) }, attempt).and_then(|()| {
            // The copy may end after the call, in the default stream, with which no other stream is ordered.
            // SAFETY: the null handle is the default stream.
            check(unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) }, attempt)
        });
        if copied.is_err() {
            // SAFETY: the array was created above, and its handle is not stored anywhere.
            unsafe { sys::cuArrayDestroy(array) };
        }
        copied.map(|()| array)
    }

    /// Releases the memory of a texture that no kernel reads any more.
    ///
    /// # Safety
    /// `texture` created the memory for a texture that does not exist any more, and this is the only call for it.
    unsafe fn free_texels(&self, texels: Texels) {
        match texels {
            // SAFETY: `alloc` returned the address, and by contract the memory is not used again.
            Texels::Linear(address) => unsafe { self.free(address) },
            Texels::Array(array) => {
                // SAFETY: `array` created it, and the caller does not use it again. An error here was reported by an
                // earlier launch.
                unsafe { sys::cuArrayDestroy(array) };
            }
        }
    }
}

/// The driver's constant for a channel's type.
fn format(channel: Channel) -> sys::CUarray_format {
    match channel {
        Channel::U8 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        Channel::I8 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        Channel::U16 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        Channel::I16 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        Channel::U32 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        Channel::I32 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        Channel::F16 => sys::CUarray_format::CU_AD_FORMAT_HALF,
        Channel::F32 => sys::CUarray_format::CU_AD_FORMAT_FLOAT,
    }
}

/// The driver's description of how a texture is read.
fn description(sampling: &Sampling) -> sys::CUDA_TEXTURE_DESC {
    // Without this flag the driver converts integers of 8 and 16 bits to floats from 0 to 1. Floats must not have it.
    let integers = !matches!(sampling.channel, Channel::F16 | Channel::F32) && !sampling.normalised_reads;
    let flag = |on, flag| if on { flag } else { 0 };
    sys::CUDA_TEXTURE_DESC {
        addressMode: sampling.address.map(|mode| match mode {
            AddressMode::Wrap => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            AddressMode::Clamp => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            AddressMode::Mirror => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            AddressMode::Border => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }),
        filterMode: match sampling.filter {
            Filter::Point => sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Filter::Linear => sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        },
        flags: flag(integers, sys::CU_TRSF_READ_AS_INTEGER)
            | flag(sampling.normalised_coordinates, sys::CU_TRSF_NORMALIZED_COORDINATES),
        maxAnisotropy: 0,
        mipmapFilterMode: sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
        mipmapLevelBias: 0.0,
        minMipmapLevelClamp: 0.0,
        maxMipmapLevelClamp: 0.0,
        borderColor: [0.0; 4],
        reserved: [0; 12],
    }
}
