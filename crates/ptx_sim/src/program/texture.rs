//! Instructions on textures and surfaces.

use crate::registers::Slot;

/// `tex`, `tld4`, `txq`, `suld`, `sust`, `suq`.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Operation.
    pub kind: TextureKind,
    /// Row of `w64` with the handle from [`Machine::texture`](crate::Machine::texture).
    pub handle: Slot,
    /// Rows of the results or of the stored values, in `w32`, or in `w64` when `wide`.
    pub data: Vec<Slot>,
    /// Whether the data are rows of `w64`.
    pub wide: bool,
    /// Rows of `w32` with the coordinates, without the layer.
    pub coordinates: Vec<Slot>,
    /// Row of `w32` with the layer of an array.
    pub layer: Option<Slot>,
}

/// Operation on a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureKind {
    /// `tex`: four channels.
    Sample {
        /// Whether coordinates are `s32` and select elements, which are not filtered.
        integers: bool,
        /// Whether the result consists of `f32`; otherwise of 32-bit integers.
        floats: bool,
    },
    /// `tld4`: one channel of the four elements that a linear filter would use.
    Gather {
        /// Number of the channel, 0 to 3.
        channel: usize,
        /// Whether the result consists of `f32`; otherwise of 32-bit integers.
        floats: bool,
    },
    /// `txq`, `suq`.
    Query(Query),
    /// `suld.b`.
    Load {
        /// Bytes of one register's data.
        bytes: u8,
        /// What happens outside of the surface.
        outside: Outside,
    },
    /// `sust.b`.
    Store {
        /// Bytes of one register's data.
        bytes: u8,
        /// What happens outside of the surface.
        outside: Outside,
    },
}

/// Property that a query returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Query {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    ArraySize,
    MipmapLevels,
    Samples,
}

/// Behaviour of an access outside a surface: `.trap`, `.clamp`, `.zero`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The kernel stops.
    Trap,
    /// The nearest element inside is accessed.
    Clamp,
    /// Loads give zero, stores have no effect.
    Zero,
}
