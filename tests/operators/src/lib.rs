//! Operators of another crate than `kernels-gpu`, over values of 1 to 64 bytes, and their kernels: as a user of the
//! library would write them. Results are exact, so that they can be compared bit by bit with those of a plain loop.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use bytemuck::{Pod, Zeroable};
use kernels_gpu::operator::Operator;
use kernels_gpu::{reduce_kernel, scan_by_key_kernel, scan_kernel, segmented_reduce_kernel, transform_kernel};

/// Values that a test generates.
pub trait Sample: Pod + PartialEq + core::fmt::Debug {
    /// The value made of these random bits.
    fn sample(random: u64) -> Self;
}

/// Declares an operator on a type, and its kernels. Values that do not divide into words of 4 bytes, or are large, are
/// in local memory here and there, which is slow but right: no warning.
macro_rules! operator {
    ($operator:ident($value:ty), commutative: $commutative:literal, identity: $identity:expr,
     $a:ident, $b:ident => $combine:expr;
     $reduce:ident, $scan:ident $(, $segmented:ident)?) => {
        /// See the type of its values.
        pub struct $operator;

        impl Operator<$value> for $operator {
            const COMMUTATIVE: bool = $commutative;

            fn identity() -> $value {
                $identity
            }
            fn combine($a: $value, $b: $value) -> $value {
                $combine
            }
        }

        reduce_kernel! {
            /// The reduction by this operator.
            pub fn $reduce<$operator>(x: $value) -> $value { x }
            allow(local_memory)
        }
        scan_kernel! {
            /// The scan by this operator.
            pub fn $scan<$operator>($value) allow(local_memory)
        }
        $( segmented_reduce_kernel! {
            /// The segmented reduction by this operator.
            pub fn $segmented<$operator>($value) allow(local_memory)
        } )?
    };
}

/// A map `x -> scale * x + shift` of integers modulo 2^16: 4 bytes, aligned to 2.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Line16 {
    scale: u16,
    shift: u16,
}

impl Sample for Line16 {
    fn sample(random: u64) -> Self {
        Self { scale: random as u16 | 1, shift: (random >> 16) as u16 }
    }
}

operator! {
    Compose16(Line16), commutative: false, identity: Line16 { scale: 1, shift: 0 },
    a, b => Line16 {
        scale: a.scale.wrapping_mul(b.scale),
        shift: a.shift.wrapping_mul(b.scale).wrapping_add(b.shift),
    };
    reduce_line16, scan_line16, segmented_line16
}

/// A map `x -> scale * x + shift` of integers modulo 2^32: 8 bytes, aligned to 4.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Line32 {
    scale: u32,
    shift: u32,
}

impl Sample for Line32 {
    fn sample(random: u64) -> Self {
        Self { scale: random as u32 | 1, shift: (random >> 32) as u32 }
    }
}

operator! {
    Compose32(Line32), commutative: false, identity: Line32 { scale: 1, shift: 0 },
    a, b => Line32 {
        scale: a.scale.wrapping_mul(b.scale),
        shift: a.shift.wrapping_mul(b.scale).wrapping_add(b.shift),
    };
    reduce_line32, scan_line32, segmented_line32
}

/// The hash of a text and its length, of which the concatenation's follow: 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Text {
    hash: u32,
    /// 31 to the power of the length, modulo 2^32.
    power: u32,
    length: u32,
}

impl Sample for Text {
    fn sample(random: u64) -> Self {
        Self { hash: random as u32 & 0xff, power: 31, length: 1 }
    }
}

operator! {
    Concatenate(Text), commutative: false, identity: Text { hash: 0, power: 1, length: 0 },
    a, b => Text {
        hash: a.hash.wrapping_mul(b.power).wrapping_add(b.hash),
        power: a.power.wrapping_mul(b.power),
        length: a.length + b.length,
    };
    reduce_text, scan_text, segmented_text
}

/// A matrix of integers modulo 2^32: 16 bytes, aligned to 4.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Matrix32([[u32; 2]; 2]);

impl Sample for Matrix32 {
    fn sample(random: u64) -> Self {
        let part = |k: u32| (random >> (16 * k)) as u32 & 0xffff;
        Self([[part(0), part(1)], [part(2), part(3)]])
    }
}

/// Element `i, j` of a product.
macro_rules! product {
    ($t:ident, $a:ident, $b:ident, $i:literal, $j:literal) => {
        $a.0[$i][0].wrapping_mul($b.0[0][$j]).wrapping_add($a.0[$i][1].wrapping_mul($b.0[1][$j]))
    };
}

operator! {
    Multiply32(Matrix32), commutative: false, identity: Matrix32([[1, 0], [0, 1]]),
    a, b => Matrix32([
        [product!(u32, a, b, 0, 0), product!(u32, a, b, 0, 1)],
        [product!(u32, a, b, 1, 0), product!(u32, a, b, 1, 1)],
    ]);
    reduce_matrix32, scan_matrix32, segmented_matrix32
}

/// The hash of a text modulo 2^64: 24 bytes, aligned to 8.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct LongText {
    hash: u64,
    power: u64,
    length: u64,
}

impl Sample for LongText {
    fn sample(random: u64) -> Self {
        Self { hash: random & 0xff, power: 0x1_0000_01b3, length: 1 }
    }
}

operator! {
    ConcatenateLong(LongText), commutative: false, identity: LongText { hash: 0, power: 1, length: 0 },
    a, b => LongText {
        hash: a.hash.wrapping_mul(b.power).wrapping_add(b.hash),
        power: a.power.wrapping_mul(b.power),
        length: a.length + b.length,
    };
    reduce_long_text, scan_long_text, segmented_long_text
}

/// A matrix of integers modulo 2^64: 32 bytes, aligned to 16.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Matrix64([[u64; 2]; 2]);

impl Sample for Matrix64 {
    fn sample(random: u64) -> Self {
        Self([[random, random >> 7], [random >> 13, random | 1]])
    }
}

operator! {
    Multiply64(Matrix64), commutative: false, identity: Matrix64([[1, 0], [0, 1]]),
    a, b => Matrix64([
        [product!(u64, a, b, 0, 0), product!(u64, a, b, 0, 1)],
        [product!(u64, a, b, 1, 0), product!(u64, a, b, 1, 1)],
    ]);
    reduce_matrix64, scan_matrix64, segmented_matrix64
}

/// Minimum, maximum, sum and number of values: 16 bytes, aligned to 16.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Summary {
    /// The smallest value.
    pub min: f32,
    /// The largest value.
    pub max: f32,
    /// The sum of the values.
    pub sum: f32,
    /// The number of values.
    pub count: u32,
}

impl Summary {
    /// The summary of one value.
    pub fn of(x: f32) -> Self {
        Self { min: x, max: x, sum: x, count: 1 }
    }
}

impl Sample for Summary {
    /// Sums of these are exact.
    fn sample(random: u64) -> Self {
        let x = (random % 64) as f32 - 31.0;
        Self { min: x - 1.0, max: x + 1.0, ..Self::of(x) }
    }
}

operator! {
    Summarise(Summary), commutative: true,
    identity: Summary { min: f32::INFINITY, max: f32::NEG_INFINITY, sum: 0.0, count: 0 },
    a, b => Summary {
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        sum: a.sum + b.sum,
        count: a.count + b.count,
    };
    reduce_summary, scan_summary, segmented_summary
}

reduce_kernel! {
    /// The summary of all elements.
    pub fn summary<Summarise>(x: f32) -> Summary { Summary::of(x) }
}

reduce_kernel! {
    /// The summary of bytes.
    pub fn summary_of_bytes<Summarise>(x: u8) -> Summary { Summary::of(f32::from(x)) }
    allow(local_memory)
}

/// A row of a table, which is longer than any chunk: 256 bytes, aligned to 256.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(256))]
pub struct Row(pub [f32; 64]);

reduce_kernel! {
    /// The summary of the first column.
    pub fn summary_of_rows<Summarise>(row: Row) -> Summary { Summary::of(row.0[0]) }
}

transform_kernel! {
    /// The summary of each element.
    pub fn summaries(x: f32) -> Summary { Summary::of(x) }
}

transform_kernel! {
    /// Half of each byte.
    pub fn halves(x: u8) -> f32 { f32::from(x) / 2.0 }
}

transform_kernel! {
    /// The lengths of texts.
    pub fn lengths(x: Text) -> u32 { x.length }
}

/// Declares sums of arrays, element by element.
macro_rules! sums {
    ($($operator:ident [$t:ty; $n:literal] $reduce:ident $scan:ident $($segmented:ident)?;)*) => { $(
        impl Sample for [$t; $n] {
            fn sample(random: u64) -> Self {
                core::array::from_fn(|k| (random >> k) as $t)
            }
        }

        operator! {
            $operator([$t; $n]), commutative: true, identity: [0; $n],
            a, b => core::array::from_fn(|k| a[k].wrapping_add(b[k]));
            $reduce, $scan $(, $segmented)?
        }
    )* };
}
sums! {
    Bytes1 [u8; 1] reduce_bytes1 scan_bytes1 segmented_bytes1;
    Bytes3 [u8; 3] reduce_bytes3 scan_bytes3 segmented_bytes3;
    Halves3 [u16; 3] reduce_halves3 scan_halves3 segmented_halves3;
    Words3 [u32; 3] reduce_words3 scan_words3 segmented_words3;
    Words5 [u32; 5] reduce_words5 scan_words5 segmented_words5;
    Longs3 [u64; 3] reduce_longs3 scan_longs3 segmented_longs3;
    Words8 [u32; 8] reduce_words8 scan_words8 segmented_words8;
    Words12 [u32; 12] reduce_words12 scan_words12;
    Words16 [u32; 16] reduce_words16 scan_words16;
}

/// Declares scans by keys of several sizes.
macro_rules! by_key {
    ($($name:ident<$operator:ident>($key:ty, $value:ty);)*) => { $(
        scan_by_key_kernel! {
            /// The scan of each run of equal keys.
            pub fn $name<$operator>($key, $value) allow(local_memory)
        }
    )* };
}
by_key! {
    by_key_line16<Compose16>(u32, Line16);
    by_key_line32<Compose32>(u64, Line32);
    by_key_text<Concatenate>(u32, Text);
    by_key_matrix32<Multiply32>(u8, Matrix32);
    by_key_bytes1<Bytes1>(u8, [u8; 1]);
    by_key_bytes3<Bytes3>(u16, [u8; 3]);
    by_key_longs3<Longs3>([u16; 3], [u64; 3]);
    by_key_words16<Words16>(u64, [u32; 16]);
    by_key_of_16_bytes<Compose16>([u32; 4], Line16);
}
