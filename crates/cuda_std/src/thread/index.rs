//! Indices and sizes, without the feature `glam`.

/// Index or size in two dimensions. With the feature `glam` it is that crate's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the axes")]
pub struct UVec2 {
    pub x: u32,
    pub y: u32,
}

/// Index or size in three dimensions. With the feature `glam` it is that crate's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the axes")]
pub struct UVec3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}
