//! Kernel arguments: numbers, structs, arrays, and memory that holds them.

use bytemuck::Pod;
use std::any::type_name;

/// Extents in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(xyz: [u32; 3]) -> Self {
        Self(xyz)
    }
}

/// Element type of a buffer: any type of plain bytes, such as a number, or a `#[repr(C)]` struct that derives
/// `bytemuck::Pod`. Its bytes are those in the memory of the host, which has the byte order and the layout of the
/// device.
pub trait Number: Pod {}

impl<T: Pod> Number for T {}

/// A parameter passed by value: a number, an array, or a struct of plain bytes.
pub trait Argument: Pod {}

impl<T: Pod> Argument for T {}

/// Returns the name of a type without the paths of modules: `Pair<f32>` for `app::Pair<f32>`.
pub fn name<T>() -> String {
    let full = type_name::<T>();
    let mut out = String::with_capacity(full.len());
    for part in full.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let start = part.rfind("::").map_or(0, |at| at + 2);
        out.push_str(&part[start..]);
    }
    out
}

/// Returns the name of a value's type.
pub fn name_of<T>(_: &T) -> String {
    name::<T>()
}

/// Returns the bytes of the elements.
pub fn raw<T: Number>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}

/// The argument for one parameter.
pub struct Item<'a> {
    /// Name of the buffer in reports.
    pub name: Option<String>,
    pub given: Given<'a>,
    /// Whether this is the length that follows the address of a slice.
    pub of_slice: bool,
}

/// Contents of an argument.
pub enum Given<'a> {
    Value {
        bytes: Vec<u8>,
        what: String,
    },
    Memory {
        /// Name of the Rust type of an element.
        element: String,
        /// Size of an element in bytes.
        size: u64,
        count: u64,
        /// Initial contents; `None` leaves the memory uninitialised.
        init: Option<Vec<u8>>,
        back: Option<Box<dyn Back + 'a>>,
        written: Written,
    },
}

/// Whether the kernel has to write every element of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    May,
    Must,
}

impl Given<'_> {
    /// Size of the parameter in bytes.
    pub fn param_bytes(&self) -> u64 {
        match self {
            Given::Value { bytes, .. } => bytes.len() as u64,
            Given::Memory { .. } => 8,
        }
    }

    /// Describes the argument for messages.
    pub fn describe(&self) -> String {
        match self {
            Given::Value { bytes, what } => format!("{what} ({})", plural(bytes.len() as u64, "byte")),
            Given::Memory { element, count, .. } => format!("the address of {count} {element} (8 bytes)"),
        }
    }
}

/// Formats a count with its noun: `1 byte`, `2 bytes`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Destination of a buffer's elements after the run.
pub trait Back {
    /// Stores the bytes of the whole buffer.
    fn take(&mut self, bytes: &[u8]);
}

impl<T: Number> Back for &mut [T] {
    fn take(&mut self, bytes: &[u8]) {
        bytemuck::cast_slice_mut(self).copy_from_slice(bytes);
    }
}

/// A vector that is replaced by the elements of the buffer.
pub struct Grown<'a, T>(pub &'a mut Vec<T>);

impl<T: Number> Back for Grown<'_, T> {
    fn take(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend(bytes.chunks_exact(size_of::<T>().max(1)).map(bytemuck::pod_read_unaligned::<T>));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod inner {
        pub struct Pair<A>(pub A);
    }

    #[test]
    fn names_have_no_paths() {
        assert_eq!(name::<f32>(), "f32");
        assert_eq!(name::<[u16; 3]>(), "[u16; 3]");
        assert_eq!(name::<inner::Pair<inner::Pair<u8>>>(), "Pair<Pair<u8>>");
    }
}
