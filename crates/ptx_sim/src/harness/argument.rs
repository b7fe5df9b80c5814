//! What a kernel can be given: numbers, arrays of them, and memory that holds them.

use sealed::Sealed;

/// Extents in x, y, z.
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

/// An element of a buffer: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`. Every bit pattern is a value, and there is no
/// padding; no other type can implement it.
pub trait Number: Sealed + Copy + 'static {}

/// A parameter by value: a [`Number`], or an array of them.
pub trait Argument: Sealed {}

mod sealed {
    /// What the machine sees of a value. Public so that it can be a bound, out of reach so that nobody else implements
    /// it.
    pub trait Sealed: Sized {
        /// The Rust type.
        const NAME: &'static str;
        /// Its size.
        const BYTES: usize;
        /// Little-endian.
        fn to_bytes(&self) -> Vec<u8>;
        /// From as many bytes.
        fn from_bytes(bytes: &[u8]) -> Option<Self>;
        /// For messages.
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

/// The bytes of elements, one after the other.
pub fn raw<T: Number>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * T::BYTES);
    elements.iter().for_each(|element| bytes.extend_from_slice(&element.to_bytes()));
    bytes
}

/// One parameter.
pub struct Item<'a> {
    /// What reports call it.
    pub name: Option<String>,
    pub given: Given<'a>,
    /// The length that follows the address of a slice.
    pub of_slice: bool,
}

/// What a parameter is given.
pub enum Given<'a> {
    Value {
        bytes: Vec<u8>,
        what: String,
    },
    Memory {
        element: &'static str,
        /// Bytes of an element.
        size: u64,
        count: u64,
        /// `None`: nobody has written it.
        init: Option<Vec<u8>>,
        back: Option<Box<dyn Back + 'a>>,
        written: Written,
    },
}

/// Must the kernel write all of a buffer?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    May,
    Must,
}

impl Given<'_> {
    /// Bytes of the parameter.
    pub fn param_bytes(&self) -> u64 {
        match self {
            Given::Value { bytes, .. } => bytes.len() as u64,
            Given::Memory { .. } => 8,
        }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        match self {
            Given::Value { bytes, what } => format!("{what} ({})", plural(bytes.len() as u64, "byte")),
            Given::Memory { element, count, .. } => format!("the address of {count} {element} (8 bytes)"),
        }
    }
}

/// `1 byte`, `2 bytes`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Where the elements of a buffer go after the run.
pub trait Back {
    /// As many bytes as the buffer has.
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

/// A vector that becomes what is read.
pub struct Grown<'a, T>(pub &'a mut Vec<T>);

impl<T: Number> Back for Grown<'_, T> {
    fn take(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend(bytes.chunks_exact(T::BYTES).filter_map(T::from_bytes));
    }
}
