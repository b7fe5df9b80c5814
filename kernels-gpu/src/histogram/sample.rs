//! The rules that assign an element to a bin. The host's reference implements the same rules independently.
//!
//! - `u8`, `u32`: the bin is the value. Values from the number of bins upwards are not counted.
//! - [`Letter`]: a byte of text. Bins are a-d, e-h, i-l, m-p, q-t, u-x, y-z, in either case; no other byte is counted.
//! - `f32`, `f64`: `bins` equal parts of the half-open range `low..high`. With `scale = bins / (high - low)`, an
//!   element `x` with `low <= x < high` belongs to bin `min(floor((x - low) * scale), bins - 1)`; every operation is
//!   rounded to nearest in the element's own type, so the result has the same bits on every device. Up to rounding, bin
//!   `k` is the half-open range from `low + k * width` to `low + (k + 1) * width`: an element within a few roundings of
//!   an edge may be counted on its other side. `high` itself is not counted (NumPy counts it in the last bin), and
//!   neither are NaN and values outside the range. The minimum is needed for elements just below `high` whose product
//!   rounds up to `bins`.

use cuda_std::launch::{Instance, Scalar};

/// An element that can be counted: `u8`, [`Letter`], `u32`, `f32`, `f64`.
pub trait Sample: Scalar + Instance {
    /// Number of rows, if the type alone determines it; elements then need no range check.
    const ROWS: Option<u32>;

    /// The parameters of the rule, held in registers.
    type Rule: Copy;

    /// Builds the rule for `bins` bins. For bins that are equal parts of a range, `range` holds its low end, its high
    /// end and the bins per unit, each exact in the element's type.
    fn rule(bins: u32, range: [f64; 3]) -> Self::Rule;

    /// The cheapest value to compute that determines the bin.
    fn row(self, rule: Self::Rule) -> u32;

    /// The bin of a row; the number of bins or more if its elements are not counted.
    #[inline(always)]
    fn bin_of(row: u32) -> u32 {
        row
    }

    /// The element's bin; the number of bins or more if it is not counted.
    #[inline(always)]
    fn bin(self, rule: Self::Rule) -> u32 {
        Self::bin_of(self.row(rule))
    }

    /// Calls `each` with the elements that 16 bytes of memory hold.
    fn unpack(words: [u32; 4], each: impl FnMut(Self));
}

/// A byte of text, of which only letters are counted, in groups of four.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Letter(pub u8);

impl Letter {
    /// Number of groups: six of four letters, and y-z.
    pub const GROUPS: u32 = 26_u32.div_ceil(4);
}

// SAFETY: it is a `u8`.
unsafe impl Scalar for Letter {}

impl Instance for Letter {
    const NAME: &'static str = "letter";
}

/// The bytes of four words, in the order in which they lie in memory. The code is written out, because LLVM would keep
/// a loop, whose index would place the words in local memory.
#[inline(always)]
fn bytes([a, b, c, d]: [u32; 4], mut each: impl FnMut(u8)) {
    let mut word = |word: u32| {
        each(word as u8);
        each((word >> 8) as u8);
        each((word >> 16) as u8);
        each((word >> 24) as u8);
    };
    word(a);
    word(b);
    word(c);
    word(d);
}

impl Sample for u8 {
    const ROWS: Option<u32> = Some(256);
    type Rule = ();

    #[inline(always)]
    fn rule(_: u32, _: [f64; 3]) {}
    #[inline(always)]
    fn row(self, (): ()) -> u32 {
        u32::from(self)
    }
    #[inline(always)]
    fn unpack(words: [u32; 4], each: impl FnMut(Self)) {
        bytes(words, each);
    }
}

impl Sample for Letter {
    const ROWS: Option<u32> = Some(256);
    type Rule = ();

    #[inline(always)]
    fn rule(_: u32, _: [f64; 3]) {}
    #[inline(always)]
    fn row(self, (): ()) -> u32 {
        u32::from(self.0)
    }
    #[inline(always)]
    fn bin_of(row: u32) -> u32 {
        // Lower case has this bit, and setting it maps only letters to a-z.
        let place = (row | 0x20).wrapping_sub(u32::from(b'a'));
        if place < 26 { place / 4 } else { Self::GROUPS }
    }
    #[inline(always)]
    fn unpack(words: [u32; 4], mut each: impl FnMut(Self)) {
        bytes(words, |byte| each(Self(byte)));
    }
}

impl Sample for u32 {
    const ROWS: Option<u32> = None;
    type Rule = ();

    #[inline(always)]
    fn rule(_: u32, _: [f64; 3]) {}
    #[inline(always)]
    fn row(self, (): ()) -> u32 {
        self
    }
    #[inline(always)]
    fn unpack([a, b, c, d]: [u32; 4], mut each: impl FnMut(Self)) {
        each(a);
        each(b);
        each(c);
        each(d);
    }
}

/// The rule by which a float's bin is found.
#[derive(Clone, Copy, Debug)]
pub struct Parts<T> {
    low: T,
    high: T,
    /// Bins per unit.
    scale: T,
    /// The last bin.
    last: u32,
}

macro_rules! float {
    ($t:ident: |$words:ident, $each:ident| $unpack:block) => {
        impl Sample for $t {
            const ROWS: Option<u32> = None;
            type Rule = Parts<$t>;

            #[inline(always)]
            fn rule(bins: u32, [low, high, scale]: [f64; 3]) -> Parts<$t> {
                Parts { low: low as $t, high: high as $t, scale: scale as $t, last: bins.wrapping_sub(1) }
            }
            #[inline(always)]
            fn row(self, Parts { low, high, scale, last }: Parts<$t>) -> u32 {
                // Comparisons with NaN are false.
                if self >= low && self < high {
                    // SAFETY: the product is neither negative nor NaN, and at most `bins` up to rounding.
                    let bin: u32 = unsafe { ((self - low) * scale).to_int_unchecked() };
                    bin.min(last)
                } else {
                    u32::MAX
                }
            }
            #[inline(always)]
            fn unpack($words: [u32; 4], mut $each: impl FnMut(Self)) {
                $unpack
            }
        }
    };
}
float!(f32: |words, each| {
    u32::unpack(words, |word| each(f32::from_bits(word)));
});
float!(f64: |words, each| {
    let pair = |low: u32, high: u32| f64::from_bits((u64::from(high) << 32) | u64::from(low));
    each(pair(words[0], words[1]));
    each(pair(words[2], words[3]));
});
