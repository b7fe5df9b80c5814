//! Arrays, and the descriptions of textures and surfaces.

use super::handle::Handle;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor3D {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// An array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub descriptor: Descriptor3D,
    pub address: u64,
}

/// Returns the bytes of a channel, by the number of `CUarray_format`.
pub fn channel_bytes(format: u32) -> Option<u64> {
    match format {
        1 | 8 => Some(1),
        2 | 9 | 16 => Some(2),
        3 | 10 | 32 => Some(4),
        _ => None,
    }
}

impl Array {
    /// Bytes from a row to the next, and from a plane to the next.
    pub fn strides(&self) -> (u64, u64) {
        let Descriptor3D { width, height, format, channels, .. } = self.descriptor;
        let row = width as u64 * u64::from(channels) * channel_bytes(format).unwrap_or(1);
        (row, row * height.max(1) as u64)
    }
}

/// `CUDA_RESOURCE_DESC`: its type, and the union of the resources as words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    pub kind: u32,
    /// Array handle, or address.
    pub first: u64,
    pub format: u32,
    pub channels: u32,
    /// Bytes of linear memory, or elements of a row.
    pub width: usize,
    pub height: usize,
    pub pitch: usize,
    rest: [u64; 11],
    flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    pub address: [u32; 3],
    pub filter: u32,
    pub flags: u32,
    anisotropy: u32,
    mipmap_filter: u32,
    mipmap_bias: f32,
    mipmap_least: f32,
    mipmap_most: f32,
    pub border: [f32; 4],
    reserved: [i32; 12],
}

/// Descriptions of an object, as the program gave them.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    pub context: Handle,
    pub resource: Resource,
    pub sampling: Option<Sampling>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<Resource>(), size_of::<Sampling>()), (144, 104));
    }
}
