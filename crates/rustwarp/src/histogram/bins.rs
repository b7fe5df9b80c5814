//! The bins of a histogram: rules that assign elements to bins.

use super::channels::Channels;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use kernels_gpu::histogram::{Letter, Sample};
use std::marker::PhantomData;
use std::ops::Range;

/// An integer whose bin is its value.
pub trait Key: Counted<Element = Self> + Scalar {}
impl Key for u8 {}
impl Key for u32 {}

/// The equal parts of a range.
pub(crate) fn cut<T: Cut>(range: Range<T>, bins: u32) -> Result<Bins<T>> {
    let (low, high) = (range.start.value(), range.end.value());
    Bins::parts(range, bins).ok_or_else(|| {
        Error::Argument(format!(
            "the range {low}..{high} cannot be cut into {bins} bins of {}: its ends or their distance are beyond what \
             the type can hold",
            T::DTYPE
        ))
    })
}

/// A float type in which a range can be divided into bins.
pub trait Cut: Counted<Element = Self> + Element {
    /// Low end, high end, and bins per unit, each exact in this type; `None` if one is not finite, or the range is
    /// empty.
    fn cut(low: Self, high: Self, bins: u32) -> Option<[f64; 3]>;
}

macro_rules! cuts {
    ($($t:ident)*) => { $(
        impl Cut for $t {
            fn cut(low: Self, high: Self, bins: u32) -> Option<[f64; 3]> {
                let scale = f64::from(bins) as $t / (high - low);
                let all = [f64::from(low), f64::from(high), f64::from(scale)];
                (low < high && scale > 0.0 && all.iter().all(|x| x.is_finite())).then_some(all)
            }
        }
    )* };
}
cuts!(f32 f64);

/// The bins of a histogram by the rule `S`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins<S> {
    /// Number of bins of each channel.
    pub(super) count: u32,
    /// The result of [`Cut::cut`] for floats; zeros for other types.
    pub(super) range: [f64; 3],
    /// More than one for bytes only.
    pub(super) channels: Channels,
    rule: PhantomData<S>,
}

impl<T: Key> Bins<T> {
    /// A bin for each value below `count`.
    pub fn keys(count: u32) -> Self {
        Self { count, range: [0.0; 3], channels: Channels::ONE, rule: PhantomData }
    }
}

impl Bins<u8> {
    /// A bin for each value below `count`, in each counted one of several channels.
    pub fn of_channels(channels: Channels, count: u32) -> Self {
        Self { channels, ..Self::keys(count) }
    }
}

impl Bins<Letter> {
    /// The groups of four letters.
    pub fn letters() -> Self {
        Self { count: Letter::GROUPS, range: [0.0; 3], channels: Channels::ONE, rule: PhantomData }
    }
}

impl<T: Cut> Bins<T> {
    /// `count` equal parts of a half-open range; `None` if it cannot be divided into them in the elements' type.
    pub fn parts(range: Range<T>, count: u32) -> Option<Self> {
        let range = T::cut(range.start, range.end, count)?;
        Some(Self { count, range, channels: Channels::ONE, rule: PhantomData })
    }
}

impl<S> Bins<S> {
    /// Creates bins from their parts. It is public for the ladders, which resolve the rule at run time.
    ///
    /// # Safety
    /// The bins are those of [`Bins::keys`], [`Bins::of_channels`], [`Bins::letters`] or [`Bins::parts`] for the rule:
    /// `range` is the result of [`Cut::cut`] for floats and `count` bins, and zeros for other types; there is more than
    /// one channel only if the rule is `u8`.
    #[doc(hidden)]
    pub unsafe fn from_parts(count: u32, range: [f64; 3], channels: Channels) -> Self {
        Self { count, range, channels, rule: PhantomData }
    }

    /// Number of bins, and the result of [`Cut::cut`] for floats.
    pub(crate) fn numbers(&self) -> (u32, [f64; 3]) {
        (self.count, self.range)
    }

    /// Number of bins; of each channel, if there are several.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of counts: one for each bin of each counted channel, channel by channel.
    pub fn counts(&self) -> usize {
        self.count as usize * self.channels.counted() as usize
    }

    /// Refuses several channels, for work that divides the elements anywhere.
    pub(crate) fn require_one_channel(&self, attempt: &str) -> Result<()> {
        match self.channels.interleaved() {
            1 => Ok(()),
            several => Err(Error::Argument(format!(
                "the histogram of {several} interleaved channels is not computed {attempt}: count the elements of \
                 whole pixels with `histogram::of_channels`, and add the counts"
            ))),
        }
    }
}

/// A rule that assigns elements to bins.
///
/// # Safety
/// The type has the representation of its elements.
pub unsafe trait Counted: Sample {
    /// The elements in memory.
    type Element: Scalar;
}

macro_rules! counted {
    ($($rule:ident: $element:ident),*) => { $(
        // SAFETY: the types are the same, or the rule is a transparent structure of its element.
        unsafe impl Counted for $rule {
            type Element = $element;
        }
    )* };
}
counted!(u8: u8, Letter: u8, u32: u32, f32: f32, f64: f64);
