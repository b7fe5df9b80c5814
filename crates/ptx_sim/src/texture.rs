//! Descriptions of textures and surfaces by the host.

/// A texture object: where its elements are and how they are read. Created by
/// [`Machine::texture`](crate::Machine::texture).
///
/// The semantics follow the CUDA C++ Programming Guide, "Texture Fetching".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Location of the elements in memory.
    pub layout: Layout,
    /// Format of the elements.
    pub format: Format,
    /// How a value between elements is computed.
    pub filter: Filter,
    /// Treatment of coordinates outside the texture, by axis. `Wrap` and `Mirror` apply to normalised coordinates;
    /// other coordinates are clamped instead.
    pub address: [AddressMode; 3],
    /// Whether coordinates range from 0 to 1 instead of 0 to the number of elements.
    pub normalized_coordinates: bool,
    /// Whether integers of 8 and 16 bits are read as numbers from 0 to 1, or from -1 to 1.
    pub normalized_reads: bool,
    /// The value outside float textures under `AddressMode::Border`.
    pub border: [f32; 4],
}

impl Texture {
    /// Creates a texture with point filtering, clamped and unnormalised coordinates, and values as stored.
    pub fn new(layout: Layout, format: Format) -> Self {
        Self {
            layout,
            format,
            filter: Filter::Point,
            address: [AddressMode::Clamp; 3],
            normalized_coordinates: false,
            normalized_reads: false,
            border: [0.0; 4],
        }
    }
}

/// Arrangement of a texture's elements in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One row, read by integer coordinates only.
    Linear {
        /// Address of the first element.
        address: u64,
        /// Number of elements.
        elements: u64,
    },
    /// Rows with a pitch.
    Pitched {
        /// Address of the first element.
        address: u64,
        /// Elements of a row.
        width: u64,
        /// Number of rows.
        height: u64,
        /// Bytes from the start of a row to the start of the next.
        pitch: u64,
    },
    /// A CUDA array of one, two or three dimensions: rows without gaps. (A GPU stores arrays in an order of its own.)
    Array {
        /// Address of the first element.
        address: u64,
        /// Elements in x, y, z; 1 for a missing dimension. With layers, z is the number of layers.
        extent: [u64; 3],
        /// Whether the third extent is a number of layers.
        layered: bool,
    },
}

/// Format of a texture's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Type of a channel.
    pub channel: Channel,
    /// Channels of an element: 1, 2 or 4.
    pub channels: u32,
}

/// Type of one channel of an element.
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

impl Channel {
    /// Size of one channel in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Channel::U8 | Channel::I8 => 1,
            Channel::U16 | Channel::I16 | Channel::F16 => 2,
            Channel::U32 | Channel::I32 | Channel::F32 => 4,
        }
    }
}

impl Format {
    /// Size of one element in bytes.
    pub fn bytes(self) -> u64 {
        self.channel.bytes() * u64::from(self.channels)
    }
}

/// How a value between elements is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The element that contains the coordinate.
    Point,
    /// Interpolation between the nearest two, four or eight elements, with weights of 8 fractional bits.
    Linear,
}

/// Treatment of a coordinate outside a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture is repeated.
    Wrap,
    /// The nearest element is read.
    Clamp,
    /// The texture is repeated, with every second copy mirrored.
    Mirror,
    /// The border value is read.
    Border,
}

impl Layout {
    /// Elements in x, y, z, and the strides in bytes between rows and between planes.
    pub(crate) fn shape(&self, bytes: u64) -> ([u64; 3], [u64; 2]) {
        match *self {
            Layout::Linear { elements, .. } => ([elements, 1, 1], [0, 0]),
            Layout::Pitched { width, height, pitch, .. } => ([width, height, 1], [pitch, 0]),
            Layout::Array { extent, .. } => {
                let row = extent[0].saturating_mul(bytes);
                (extent, [row, row.saturating_mul(extent[1])])
            }
        }
    }

    pub(crate) fn address(&self) -> u64 {
        match *self {
            Layout::Linear { address, .. } | Layout::Pitched { address, .. } | Layout::Array { address, .. } => address,
        }
    }

    /// Bytes from the first element to the end of the last; `None` on overflow.
    pub(crate) fn bytes(&self, element: u64) -> Option<u64> {
        let ([x, y, z], [row, plane]) = self.shape(element);
        if x == 0 || y == 0 || z == 0 {
            return None;
        }
        let last = row.checked_mul(y - 1)?.checked_add(plane.checked_mul(z - 1)?)?;
        last.checked_add(x.checked_mul(element)?)
    }
}
