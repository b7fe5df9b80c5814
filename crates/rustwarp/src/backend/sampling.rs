//! How a texture lies in memory, and how it is read.

use super::units::extent_text;
use crate::error::{Error, Result};

/// Layout of a texture's texels, and how they are read. See the CUDA C++ Programming Guide, "Texture Memory".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Memory layout of the texels.
    pub layout: Layout,
    /// Type of a channel.
    pub channel: Channel,
    /// Channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Filter for values between texels.
    pub filter: Filter,
    /// Address mode for coordinates outside, by axis. `Wrap` and `Mirror` need normalised coordinates.
    pub address: [AddressMode; 3],
    /// Whether coordinates go from 0 to 1 instead of to the number of texels.
    pub normalised_coordinates: bool,
    /// Whether integers of 8 and 16 bits are converted to floats from 0 to 1, or from -1 to 1; required for filtering
    /// them.
    pub normalised_reads: bool,
}

/// Memory layout of a texture's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Linear memory with this number of texels, for integer coordinates only.
    Linear(u64),
    /// A CUDA array of columns, rows and planes; 0 for an axis that the array does not have.
    Array([u64; 3]),
}

/// Type of one channel of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum Channel {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F16,
    F32,
}

/// Filter for values between texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The texel that contains the coordinate.
    Point,
    /// The interpolation of the nearest two, four or eight texels, with weights of 8 bits.
    Linear,
}

/// Address mode for coordinates outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The array repeats.
    Wrap,
    /// The nearest texel is read.
    Clamp,
    /// The array repeats, with every second copy mirrored.
    Mirror,
    /// Zeros are read.
    Border,
}

impl Channel {
    /// Bytes of one channel.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }
}

impl Sampling {
    /// Describes texels of this layout and type with the nearest filter, clamping, and plain coordinates.
    pub fn new(layout: Layout, channel: Channel, channels: u32) -> Self {
        Self {
            layout,
            channel,
            channels,
            filter: Filter::Point,
            address: [AddressMode::Clamp; 3],
            normalised_coordinates: false,
            normalised_reads: false,
        }
    }

    /// Number of texels along x, y and z; at least one of each.
    pub fn extent(&self) -> [u64; 3] {
        match self.layout {
            Layout::Linear(texels) => [texels, 1, 1],
            Layout::Array(extent) => [extent[0], extent[1].max(1), extent[2].max(1)],
        }
    }

    /// Bytes of a texel.
    pub fn texel(&self) -> u64 {
        self.channel.bytes() * u64::from(self.channels)
    }

    /// Bytes of all texels.
    ///
    /// # Errors
    /// [`Error::Argument`] if the description is not valid.
    pub fn bytes(&self) -> Result<u64> {
        let wrong = |why: String| Err(Error::Argument(format!("a texture {why}")));
        if !matches!(self.channels, 1 | 2 | 4) {
            return wrong(format!("has 1, 2 or 4 channels, not {}", self.channels));
        }
        if let Layout::Array([x, y, z]) = self.layout
            && (x == 0 || y == 0 && z > 0)
        {
            return wrong(format!("of {x}x{y}x{z} texels has none: 0 is for the last axes, which do not exist"));
        }
        let bytes = self.extent().iter().try_fold(self.texel(), |product, &n| product.checked_mul(n));
        match bytes {
            Some(bytes) if bytes > 0 => Ok(bytes),
            _ => wrong(format!("of {} texels has none, or more than memory can hold", extent_text(self.extent()))),
        }
    }
}
