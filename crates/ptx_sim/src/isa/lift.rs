//! Lifts the meaning for one lane to a warp. This is the only place with a loop over lanes; it is compiled for every
//! level of the host's vector instructions.
//!
//! Sources are copied to locals first, so that the loop over a function of plain numbers vectorises and a destination
//! may also be a source.

pub use crate::registers::File;
use crate::registers::{Args, LANES, NO_SLOT, Pure, Registers, Slot};

/// The meaning of an instruction, and the files of its operands.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// Code that the machine calls.
    pub run: Pure,
    /// Files of the destinations.
    pub d: &'static [File],
    /// Files of the sources.
    pub s: &'static [File],
}

/// A number that one lane of a register row holds.
pub trait Value: Copy + Default {
    /// Register file.
    const FILE: File;
    /// Reads the values of all lanes of source `i`.
    fn read(registers: &Registers, args: &Args, i: usize) -> [Self; LANES];
    /// Writes the lanes of `mask`; no effect for `NO_SLOT`.
    fn write(registers: &mut Registers, slot: Slot, mask: u32, values: &[Self; LANES]);
}

/// Computes a row lane by lane. It is a plain loop, which the vectoriser recognises; a body too large to vectorise is
/// not unrolled.
#[inline(always)]
pub fn every<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; LANES] {
    let mut row = [T::default(); LANES];
    for (lane, place) in row.iter_mut().enumerate() {
        *place = f(lane);
    }
    row
}

/// Writes the lanes of `mask` of a row.
#[inline(always)]
pub fn blend<T: Copy>(row: &mut [T; LANES], mask: u32, values: &[T; LANES]) {
    if mask == u32::MAX {
        *row = *values;
    } else {
        for lane in 0..LANES {
            row[lane] = if mask >> lane & 1 != 0 { values[lane] } else { row[lane] };
        }
    }
}

macro_rules! value {
    ($($type:ty, $file:ident, $row:ident, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Value for $type {
            const FILE: File = File::$file;
            #[inline(always)]
            fn read(registers: &Registers, args: &Args, i: usize) -> [Self; LANES] {
                let row = &registers.$row[args.s[i] as usize];
                every(|lane| { let $bits = row[lane]; $from })
            }
            #[inline(always)]
            fn write(registers: &mut Registers, slot: Slot, mask: u32, values: &[Self; LANES]) {
                if slot != NO_SLOT {
                    blend(&mut registers.$row[slot as usize], mask, &every(|lane| { let $value = values[lane]; $to }));
                }
            }
        }
    )*};
}

value! {
    u16, Half, w32, |b| b as u16, |v| u32::from(v);
    i16, Half, w32, |b| b as i16, |v| u32::from(v as u16);
    u32, Word, w32, |b| b, |v| v;
    i32, Word, w32, |b| b as i32, |v| v as u32;
    f32, Single, w32, |b| f32::from_bits(b), |v| v.to_bits();
    u64, Long, w64, |b| b, |v| v;
    i64, Long, w64, |b| b as i64, |v| v as u64;
    f64, Double, w64, |b| f64::from_bits(b), |v| v.to_bits();
}

impl Value for bool {
    const FILE: File = File::Pred;
    #[inline(always)]
    fn read(registers: &Registers, args: &Args, i: usize) -> [Self; LANES] {
        let bits = predicate(registers, args, i);
        every(|lane| bits >> lane & 1 != 0)
    }
    #[inline(always)]
    fn write(registers: &mut Registers, slot: Slot, mask: u32, values: &[Self; LANES]) {
        write_predicate(registers, slot, mask, pack(values));
    }
}

/// Packs one bit per lane.
#[inline(always)]
pub fn pack(values: &[bool; LANES]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_movemask_epi8, _mm_slli_epi16};
        // SAFETY: both types have the same size, and any bytes are a valid vector.
        let [low, high] = unsafe { std::mem::transmute::<[bool; LANES], [__m128i; 2]>(*values) };
        // SAFETY: every x86-64 processor has SSE2.
        let bits = |bytes| unsafe { _mm_movemask_epi8(_mm_slli_epi16::<7>(bytes)) } as u32;
        bits(low) | bits(high) << 16
    }
    #[cfg(not(target_arch = "x86_64"))]
    values.iter().enumerate().fold(0, |bits, (lane, &value)| bits | u32::from(value) << lane)
}

/// Reads source `i`, a predicate, and applies its `!`.
#[inline(always)]
pub fn predicate(registers: &Registers, args: &Args, i: usize) -> u32 {
    let bits = registers.pred[args.s[i] as usize];
    if args.negated >> i & 1 != 0 { !bits } else { bits }
}

/// Writes the lanes of `mask` of a predicate; no effect for `NO_SLOT`.
#[inline(always)]
pub fn write_predicate(registers: &mut Registers, slot: Slot, mask: u32, bits: u32) {
    if slot != NO_SLOT {
        let row = &mut registers.pred[slot as usize];
        *row = bits & mask | *row & !mask;
    }
}

/// Result of a lane's function: one value or several.
pub trait Results: Copy + Default {
    /// Files of the destinations.
    const FILES: &'static [File];
    /// Writes all destinations.
    fn write(registers: &mut Registers, mask: u32, args: &Args, values: &[Self; LANES]);
}

impl<T: Value> Results for T {
    const FILES: &'static [File] = &[T::FILE];
    #[inline(always)]
    fn write(registers: &mut Registers, mask: u32, args: &Args, values: &[Self; LANES]) {
        T::write(registers, args.d[0], mask, values);
    }
}

impl<T: Value, U: Value> Results for (T, U) {
    const FILES: &'static [File] = &[T::FILE, U::FILE];
    #[inline(always)]
    fn write(registers: &mut Registers, mask: u32, args: &Args, values: &[Self; LANES]) {
        T::write(registers, args.d[0], mask, &every(|lane| values[lane].0));
        U::write(registers, args.d[1], mask, &every(|lane| values[lane].1));
    }
}

impl<T: Value> Results for (T, T, T, T) {
    const FILES: &'static [File] = &[T::FILE, T::FILE, T::FILE, T::FILE];
    #[inline(always)]
    fn write(registers: &mut Registers, mask: u32, args: &Args, values: &[Self; LANES]) {
        T::write(registers, args.d[0], mask, &every(|lane| values[lane].0));
        T::write(registers, args.d[1], mask, &every(|lane| values[lane].1));
        T::write(registers, args.d[2], mask, &every(|lane| values[lane].2));
        T::write(registers, args.d[3], mask, &every(|lane| values[lane].3));
    }
}

/// Lifts a function of one source.
#[inline(always)]
pub fn one<D: Results, A: Value>(registers: &mut Registers, mask: u32, args: &Args, f: impl Fn(A) -> D) {
    let a = A::read(registers, args, 0);
    let values = every(|lane| f(a[lane]));
    D::write(registers, mask, args, &values);
}

/// Lifts a function of two sources.
#[inline(always)]
pub fn two<D: Results, A: Value, B: Value>(registers: &mut Registers, mask: u32, args: &Args, f: impl Fn(A, B) -> D) {
    let (a, b) = (A::read(registers, args, 0), B::read(registers, args, 1));
    let values = every(|lane| f(a[lane], b[lane]));
    D::write(registers, mask, args, &values);
}

/// Lifts a function of three sources.
#[inline(always)]
pub fn three<D: Results, A: Value, B: Value, C: Value>(
    registers: &mut Registers,
    mask: u32,
    args: &Args,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b, c) = (A::read(registers, args, 0), B::read(registers, args, 1), C::read(registers, args, 2));
    let values = every(|lane| f(a[lane], b[lane], c[lane]));
    D::write(registers, mask, args, &values);
}

/// Lifts a function of four sources.
#[inline(always)]
pub fn four<D: Results, A: Value, B: Value, C: Value, E: Value>(
    registers: &mut Registers,
    mask: u32,
    args: &Args,
    f: impl Fn(A, B, C, E) -> D,
) {
    let (a, b, c) = (A::read(registers, args, 0), B::read(registers, args, 1), C::read(registers, args, 2));
    let e = E::read(registers, args, 3);
    let values = every(|lane| f(a[lane], b[lane], c[lane], e[lane]));
    D::write(registers, mask, args, &values);
}

/// Builds the [`Pure`] of a body, compiled for every level of the host's vector instructions.
macro_rules! for_each_level {
    (|$registers:ident, $mask:ident, $args:ident| $body:expr) => {{
        use $crate::registers::{Args, Pure, Registers};
        #[inline(always)]
        fn body($registers: &mut Registers, $mask: u32, $args: &Args) {
            $body
        }
        fn baseline(registers: &mut Registers, mask: u32, args: &Args) {
            body(registers, mask, args);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
        fn v3(registers: &mut Registers, mask: u32, args: &Args) {
            body(registers, mask, args);
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `v3` is safe except for its target features, which are those of the level.
        let pure = unsafe { Pure::lifted(baseline, v3) };
        #[cfg(not(target_arch = "x86_64"))]
        let pure = Pure::plain(baseline);
        pure
    }};
}
pub(crate) use for_each_level;

/// Builds the [`Meaning`] of a function for one lane: `lift!((u32, u32) -> u32, |a, b| a & b)`.
macro_rules! lift {
    (($a:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift!(@ one, $d, [$a], $f)
    };
    (($a:ty, $b:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift!(@ two, $d, [$a, $b], $f)
    };
    (($a:ty, $b:ty, $c:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift!(@ three, $d, [$a, $b, $c], $f)
    };
    (($a:ty, $b:ty, $c:ty, $e:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift!(@ four, $d, [$a, $b, $c, $e], $f)
    };
    (@ $arity:ident, $d:ty, [$($s:ty),*], $f:expr) => {
        $crate::isa::lift::Meaning {
            run: $crate::isa::lift::for_each_level!(|registers, mask, args| {
                $crate::isa::lift::$arity::<$d, $($s),*>(registers, mask, args, $f)
            }),
            d: <$d as $crate::isa::lift::Results>::FILES,
            s: &[$(<$s as $crate::isa::lift::Value>::FILE),*],
        }
    };
}
pub(crate) use lift;

/// Defines the loop of [`lift_call`]: one for all functions of the same types.
macro_rules! call {
    ($($name:ident, ($($s:ident $x:ident $i:literal),*);)*) => {$(
        #[inline(never)]
        pub fn $name<D: Results, $($s: Value),*>(
            registers: &mut Registers,
            mask: u32,
            args: &Args,
            function: fn($($s),*) -> D,
        ) {
            $(let $x = $s::read(registers, args, $i);)*
            let mut values = [D::default(); LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                if mask >> lane & 1 != 0 {
                    *value = function($($x[lane]),*);
                }
            }
            D::write(registers, mask, args, &values);
        }
    )*};
}

call! {
    call_one, (A a 0);
    call_two, (A a 0, B b 1);
    call_three, (A a 0, B b 1, C c 2);
    call_four, (A a 0, B b 1, C c 2, E e 3);
    call_five, (A a 0, B b 1, C c 2, E e 3, F f 4);
}

/// As `lift!`, for a function that would not vectorise: the loop calls it for each lane, so that a rare instruction
/// adds little code.
macro_rules! lift_call {
    (($a:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift_call!(@ call_one, $d, [$a], $f)
    };
    (($a:ty, $b:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift_call!(@ call_two, $d, [$a, $b], $f)
    };
    (($a:ty, $b:ty, $c:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift_call!(@ call_three, $d, [$a, $b, $c], $f)
    };
    (($a:ty, $b:ty, $c:ty, $e:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift_call!(@ call_four, $d, [$a, $b, $c, $e], $f)
    };
    (($a:ty, $b:ty, $c:ty, $e:ty, $g:ty) -> $d:ty, $f:expr) => {
        $crate::isa::lift::lift_call!(@ call_five, $d, [$a, $b, $c, $e, $g], $f)
    };
    (@ $arity:ident, $d:ty, [$($s:ty),*], $f:expr) => {{
        fn run(registers: &mut $crate::registers::Registers, mask: u32, args: &$crate::registers::Args) {
            $crate::isa::lift::$arity::<$d, $($s),*>(registers, mask, args, $f);
        }
        $crate::isa::lift::Meaning {
            run: $crate::registers::Pure::plain(run),
            d: <$d as $crate::isa::lift::Results>::FILES,
            s: &[$(<$s as $crate::isa::lift::Value>::FILE),*],
        }
    }};
}
pub(crate) use lift_call;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_has_its_bit() {
        for lanes in (0..LANES).map(|lane| 1 << lane).chain([0, u32::MAX, 0x8421_7ff0]) {
            assert_eq!(pack(&every(|lane| lanes >> lane & 1 != 0)), lanes);
        }
    }
}
