//! Descriptions of textures and surfaces, as the driver takes them.

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Resource {
    /// Array, linear memory, or rows with a pitch.
    pub kind: u32,
    /// The array, or the address of the memory.
    pub first: u64,
    /// Type of a channel.
    pub format: u32,
    /// Channels of an element.
    pub channels: u32,
    /// Bytes of linear memory, or elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// 0.
    pub reserved: [u64; 11],
    /// 0.
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Sampling {
    /// What is read outside, on each axis.
    pub address: [u32; 3],
    /// Nearest element, or between elements.
    pub filter: u32,
    /// Whether integers are read as such, and coordinates run from 0 to 1.
    pub flags: u32,
    /// Greatest anisotropy.
    pub anisotropy: u32,
    /// Nearest level of detail, or between levels.
    pub mipmap_filter: u32,
    /// Added to the level of detail.
    pub mipmap_bias: f32,
    /// Lowest and highest level of detail.
    pub mipmap_levels: [f32; 2],
    /// What is read outside in the mode for that.
    pub border: [f32; 4],
    /// 0.
    pub reserved: [u32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`: the format and a gap, three extents of 64 bits, first and last level and layer, zeros.
pub type View = [u32; 28];
