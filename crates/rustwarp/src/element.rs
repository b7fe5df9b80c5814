//! Element types with their names on the command line and in files, and arrays whose element type is known only at run
//! time.

use crate::error::{Error, Result};
use bytemuck::Pod;
use std::fmt;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Rust's own")]
pub enum Dtype {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    U8,
    I8,
    F16,
    Bf16,
    /// Floats of 8 bits with 4 of an exponent and 3 of a fraction, without infinities (E4M3).
    F8,
}

impl Dtype {
    /// All element types.
    pub const ALL: &[Self] = &[
        Self::F32,
        Self::F64,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::U8,
        Self::I8,
        Self::F16,
        Self::Bf16,
        Self::F8,
    ];

    /// The six types for which `vecadd` and `reduce` have kernels.
    pub const NUMBERS: &[Self] = &[Self::F32, Self::F64, Self::I32, Self::U32, Self::I64, Self::U64];

    /// The name of the type, as in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F8 => "f8",
        }
    }

    /// Whether the type is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::Bf16 | Self::F8)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::F8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Dtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|dtype| dtype.name()).collect();
            Error::Argument(format!("unknown element type `{text}`; expected one of {}", names.join(" ")))
        })
    }
}

/// A number of any type, represented exactly: an f32 is widened, integers are stored whole.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// f32 or f64.
    Float(f64),
    /// An integer.
    Int(i128),
}

impl Value {
    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Float(x) => x,
            Self::Int(x) => x as f64,
        }
    }
}

impl fmt::Display for Value {
    /// Prints floats so that they read back to the same bits as f64.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(x) if x.is_nan() => f.write_str("NaN"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Int(x) => write!(f, "{x}"),
        }
    }
}

impl serde::Serialize for Value {
    /// Serialises NaN and infinities, which JSON lacks, as the strings `"NaN"`, `"inf"` and `"-inf"`.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Float(x) if x.is_finite() => serializer.serialize_f64(x),
            Self::Float(_) => serializer.collect_str(self),
            Self::Int(x) => match (i64::try_from(x), u64::try_from(x)) {
                (Ok(x), _) => serializer.serialize_i64(x),
                (_, Ok(x)) => serializer.serialize_u64(x),
                _ => serializer.collect_str(self),
            },
        }
    }
}

/// Element types of operands and results on the host: the numbers, and u8.
pub trait Scalar: Pod + Send + Sync + fmt::Debug {
    /// The element type.
    const DTYPE: Dtype;
    /// The exact value.
    fn value(self) -> Value;
    /// The elements of the array if it has this type.
    fn view(array: &Array) -> Option<&[Self]>;
    /// Makes an array of elements of this type.
    fn wrap(values: Vec<Self>) -> Array;
}

/// Types with sums, maxima and minima on one device: every [`Element`], and `half::f16` and `half::bf16`, which are
/// added as f32.
pub trait Summand: Scalar {
    /// The type of sums, maxima and minima: f32 for f16 and bf16, else the type itself.
    type Sum: Element;

    /// The type's name among the kernels.
    #[doc(hidden)]
    type Entry: kernels_gpu::number::Entry<Sum = Self::Sum>;
}

/// Checks, in a constant, that memory of `T` is memory of `Bits` too: elements of 16 bits are integers to the kernels.
pub(crate) const fn require_layout<T, Bits>() {
    assert!(size_of::<T>() == size_of::<Bits>() && align_of::<T>() >= align_of::<Bits>());
}

/// Element types that kernels are instantiated for, on the host.
pub trait Element: kernels_gpu::number::Number + Summand<Sum = Self> {
    /// The nearest float; for an integer type the low bits of the value, as wrapping arithmetic gives them.
    fn round(value: Value) -> Self;
    /// Converts 64 random bits: floats are multiples of 2^-23 in [-1, 1), integers have their whole range.
    fn from_random(random: u64) -> Self;
}

/// An array whose element type is known only at run time.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the element types")]
pub enum Array {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    U8(Vec<u8>),
    I8(Vec<i8>),
    F16(Vec<half::f16>),
    Bf16(Vec<half::bf16>),
    F8(Vec<float8::F8E4M3>),
}

/// Runs code that is generic over the element type: `with_dtype!(dtype, T => expression, else => expression)`.
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $t:ident => $body:expr, else => $other:expr) => {
        match $dtype {
            $crate::element::Dtype::F32 => {
                type $t = f32;
                $body
            }
            $crate::element::Dtype::F64 => {
                type $t = f64;
                $body
            }
            $crate::element::Dtype::I32 => {
                type $t = i32;
                $body
            }
            $crate::element::Dtype::U32 => {
                type $t = u32;
                $body
            }
            $crate::element::Dtype::I64 => {
                type $t = i64;
                $body
            }
            $crate::element::Dtype::U64 => {
                type $t = u64;
                $body
            }
            _ => $other,
        }
    };
}

macro_rules! scalar {
    ($($t:ty, $variant:ident, $x:ident => $value:expr;)*) => {
        $(
            impl Scalar for $t {
                const DTYPE: Dtype = Dtype::$variant;

                fn value(self) -> Value {
                    let $x = self;
                    $value
                }
                fn view(array: &Array) -> Option<&[Self]> {
                    match array {
                        Array::$variant(values) => Some(values),
                        _ => None,
                    }
                }
                fn wrap(values: Vec<Self>) -> Array {
                    Array::$variant(values)
                }
            }
        )*

        impl Array {
            /// Type of the elements.
            pub fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$variant(_) => Dtype::$variant,)*
                }
            }
            /// Number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(values) => values.len(),)*
                }
            }
            /// The elements as bytes in memory: little-endian.
            pub fn bytes(&self) -> &[u8] {
                match self {
                    $(Self::$variant(values) => bytemuck::cast_slice(values),)*
                }
            }
            /// The elements as mutable bytes.
            pub fn bytes_mut(&mut self) -> &mut [u8] {
                match self {
                    $(Self::$variant(values) => bytemuck::cast_slice_mut(values),)*
                }
            }
            /// Creates an array of `len` zeros.
            pub fn zeros(dtype: Dtype, len: usize) -> Self {
                match dtype {
                    $(Dtype::$variant => Self::$variant(vec![<$t as bytemuck::Zeroable>::zeroed(); len]),)*
                }
            }
        }
    };
}
scalar! {
    f32, F32, x => Value::Float(x.into());
    f64, F64, x => Value::Float(x);
    i32, I32, x => Value::Int(x.into());
    u32, U32, x => Value::Int(x.into());
    i64, I64, x => Value::Int(x.into());
    u64, U64, x => Value::Int(x.into());
    u8, U8, x => Value::Int(x.into());
    i8, I8, x => Value::Int(x.into());
    half::f16, F16, x => Value::Float(x.into());
    half::bf16, Bf16, x => Value::Float(x.into());
    float8::F8E4M3, F8, x => Value::Float(x.to_f64());
}

macro_rules! summands {
    ($($t:ty: $entry:ty, $sum:ty;)*) => { $(
        impl Summand for $t {
            type Sum = $sum;
            type Entry = $entry;
        }
    )* };
}
summands! { half::f16: kernels_gpu::number::F16, f32; half::bf16: kernels_gpu::number::Bf16, f32; }

macro_rules! element {
    ($($t:ident, $x:ident => $random:expr;)*) => {
        summands! { $($t: $t, $t;)* }

        $(
            impl Element for $t {
                fn round(value: Value) -> Self {
                    match value {
                        Value::Float(x) => x as $t,
                        Value::Int(x) => x as $t,
                    }
                }
                fn from_random($x: u64) -> Self {
                    $random
                }
            }
        )*
    };
}
element! {
    f32, x => ((x >> 40) as i32 - (1 << 23)) as f32 / (1 << 23) as f32;
    f64, x => ((x >> 40) as i32 - (1 << 23)) as f64 / (1 << 23) as f64;
    i32, x => (x >> 32) as i32;
    u32, x => (x >> 32) as u32;
    i64, x => x as i64;
    u64, x => x;
}

impl Array {
    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_in_json_read_back_exactly() {
        for x in [0.1_f32, f32::MIN_POSITIVE, f32::MAX, -0.0, 1.0 / 3.0] {
            let text = serde_json::to_string(&x.value()).expect("a number");
            assert_eq!(text.parse::<f64>().expect("a float") as f32, x, "{text}");
            assert_eq!(text.parse::<f64>().expect("a float").is_sign_negative(), x.is_sign_negative());
        }
        assert_eq!(serde_json::to_string(&f32::NAN.value()).expect("text"), "\"NaN\"");
        assert_eq!(serde_json::to_string(&f64::NEG_INFINITY.value()).expect("text"), "\"-inf\"");
        assert_eq!(serde_json::to_string(&u64::MAX.value()).expect("text"), "18446744073709551615");
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(i32::round(Value::Int(1 << 31)), i32::MIN);
        assert_eq!(u64::round(Value::Int(-1)), u64::MAX);
    }

    #[test]
    fn random_floats_stay_in_range() {
        assert_eq!(f32::from_random(0), -1.0);
        assert!(f32::from_random(u64::MAX) < 1.0);
        assert_eq!(f64::from_random(u64::MAX), f64::from(f32::from_random(u64::MAX)));
    }
}
