//! Textures and surfaces as the host describes them.

/// A texture object: where its elements are and how they are read. See [`Machine::texture`](crate::Machine::texture).
///
/// The meaning follows the CUDA C++ Programming Guide, "Texture Fetching".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Where the elements are.
    pub layout: Layout,
    /// What they are.
    pub format: Format,
    /// How a value between elements is made.
    pub filter: Filter,
    /// What a coordinate outside means, by axis. `Wrap` and `Mirror` are for normalised coordinates; others are clamped
    /// instead.
    pub address: [AddressMode; 3],
    /// Coordinates from 0 to 1 instead of 0 to the number of elements.
    pub normalized_coordinates: bool,
    /// Integers of 8 and 16 bits are read as numbers from 0 to 1, or from -1 to 1.
    pub normalized_reads: bool,
    /// The value outside for `AddressMode::Border`, of float textures.
    pub border: [f32; 4],
}

impl Texture {
    /// Point filtering, clamped, plain coordinates and values.
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

/// Where the elements of a texture are, in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One row, read by integer coordinates only.
    Linear {
        /// Of the first element.
        address: u64,
        /// In all.
        elements: u64,
    },
    /// Rows.
    Pitched {
        /// Of the first element.
        address: u64,
        /// Elements of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from a row to the next.
        pitch: u64,
    },
    /// A CUDA array of one, two or three dimensions: rows without gaps. (An array on a GPU is in an order of its own.)
    Array {
        /// Of the first element.
        address: u64,
        /// Elements in x, y, z; 1 where there is no such dimension. With layers, z is their number.
        extent: [u64; 3],
        /// The third extent is a number of layers.
        layered: bool,
    },
}

/// The elements of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Of a channel.
    pub channel: Channel,
    /// 1, 2 or 4.
    pub channels: u32,
}

/// One channel of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of Rust's types")]
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
    /// Of one.
    pub fn bytes(self) -> u64 {
        match self {
            Channel::U8 | Channel::I8 => 1,
            Channel::U16 | Channel::I16 | Channel::F16 => 2,
            Channel::U32 | Channel::I32 | Channel::F32 => 4,
        }
    }
}

impl Format {
    /// Of one element.
    pub fn bytes(self) -> u64 {
        self.channel.bytes() * u64::from(self.channels)
    }
}

/// How a value between elements is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The element that the coordinate lies in.
    Point,
    /// From the nearest two, four or eight, with weights of 8 bits behind the point.
    Linear,
}

/// What a coordinate outside of a texture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture is repeated.
    Wrap,
    /// The nearest element.
    Clamp,
    /// The texture is repeated, every second time the other way around.
    Mirror,
    /// The border's value.
    Border,
}

impl Layout {
    /// Elements in x, y, z, and bytes from row to row and from plane to plane.
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

    /// Bytes from the first element to the end of the last; `None` when that is no number.
    pub(crate) fn bytes(&self, element: u64) -> Option<u64> {
        let ([x, y, z], [row, plane]) = self.shape(element);
        if x == 0 || y == 0 || z == 0 {
            return None;
        }
        let last = row.checked_mul(y - 1)?.checked_add(plane.checked_mul(z - 1)?)?;
        last.checked_add(x.checked_mul(element)?)
    }
}
