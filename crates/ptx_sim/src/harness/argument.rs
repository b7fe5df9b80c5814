//! Kernel arguments: numbers, arrays of numbers, and memory that holds them.

use sealed::Sealed;

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

/// Element type of a buffer: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`. Every bit pattern is a value and there is no
/// padding. The trait is sealed.
pub trait Number: Sealed + Copy + 'static {}

/// A parameter passed by value: a [`Number`] or an array of them.
pub trait Argument: Sealed {}

mod sealed {
    /// Representation of a value in the machine. The trait is public so that it can be a bound, and unreachable so that
    /// other crates cannot implement it.
    pub trait Sealed: Sized {
        /// Name of the Rust type.
        const NAME: &'static str;
        /// Size in bytes.
        const BYTES: usize;
        /// Converts the value to little-endian bytes.
        fn to_bytes(&self) -> Vec<u8>;
        /// Converts little-endian bytes, [`Sealed::BYTES`] of them, to a value.
        fn from_bytes(bytes: &[u8]) -> Option<Self>;
        /// Describes the value for messages.
        fn describe(&self) -> String {
            Self::NAME.to_owned()
        }
    }
}

macro_rules! numbers {
    ($($t:ident)*) => {$(
        impl Number for $t {}
        impl Argument for $t {}
        impl Sealed for $t {
            const NAME: &'static str = stringify!($t);
            const BYTES: usize = size_of::<$t>();
            fn to_bytes(&self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
        }
        impl<const N: usize> Argument for [$t; N] {}
        impl<const N: usize> Sealed for [$t; N] {
            const NAME: &'static str = stringify!($t);
            const BYTES: usize = size_of::<$t>() * N;
            fn to_bytes(&self) -> Vec<u8> {
                raw(self)
            }
            fn from_bytes(_: &[u8]) -> Option<Self> {
                None
            }
            fn describe(&self) -> String {
                format!("[{}; {N}]", Self::NAME)
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// Concatenates the bytes of the elements.
pub fn raw<T: Number>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * T::BYTES);
    elements.iter().for_each(|element| bytes.extend_from_slice(&element.to_bytes()));
    bytes
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
        element: &'static str,
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
        for (element, bytes) in self.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
            if let Some(value) = T::from_bytes(bytes) {
                *element = value;
            }
        }
    }
}

/// A vector that is replaced by the elements of the buffer.
pub struct Grown<'a, T>(pub &'a mut Vec<T>);

impl<T: Number> Back for Grown<'_, T> {
    fn take(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend(bytes.chunks_exact(T::BYTES).filter_map(T::from_bytes));
    }
}
