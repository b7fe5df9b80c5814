//! The bins of a histogram from its settings.

use crate::error::{Error, Result};
use crate::kernels::Problem;
use crate::kernels::settings::{Flag, Number, Range, Setting, Settings};
use crate::kernels::spelling::DTYPE;
use kernels_gpu::histogram::Letter;
use rustwarp::element::Dtype;
use rustwarp::histogram::{Bins, Channels, Counted, Cut};

const BINS: Setting<Number> = Setting {
    name: "bins",
    help: "Number N of bins: the bin of a u8 or u32 is its value, and values from N on are not counted; floats have N \
        equal parts of the range",
    generated: false,
    kind: Number { default: 256, min: 1, max: 1 << 20 },
};

pub(super) const LETTERS: Setting<Flag> = Setting {
    name: "letters",
    help: "Count only the letters of a text, small and capital, in groups of four: a-d, e-h, …, y-z",
    generated: false,
    kind: Flag,
};

const RANGE: Setting<Range> = Setting {
    name: "range",
    help: "Count floats that are at least LOW and below HIGH",
    generated: false,
    kind: Range { default: (-1.0, 1.0) },
};

const CHANNELS: Setting<Number> = Setting {
    name: "channels",
    help: "Number N of interleaved channels of bytes, such as 3 for the colours of pixels: element i belongs to \
        channel i % N, and each channel has its own bins",
    generated: false,
    kind: Number { default: 1, min: 1, max: 4 },
};

const ACTIVE: Setting<Number> = Setting {
    name: "active",
    help: "Count the first N of the channels only, at most as many as there are; all if it is left out",
    generated: false,
    kind: Number { default: 4, min: 1, max: 4 },
};

pub(super) const SKEW: Setting<Number> = Setting {
    name: "skew",
    help: "Percentage of the generated elements that are equal to the first one",
    generated: true,
    kind: Number { default: 0, min: 0, max: 100 },
};

/// The family's options.
pub(super) const SETTINGS: &[Setting] =
    &[BINS.listed(), LETTERS.listed(), RANGE.listed(), CHANNELS.listed(), ACTIVE.listed(), SKEW.listed()];

/// The bins that the settings define.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    /// Number of bins of each channel.
    pub bins: u32,
    /// Whether letters are counted in groups of four.
    pub letters: bool,
    /// Low end, high end, and bins per unit, each exact in the element's type; zeros for types without a range.
    pub range: [f64; 3],
    /// More than one for bytes only.
    pub channels: Channels,
}

impl Question {
    /// Reads the settings of a problem.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that contradict each other or the element type.
    pub fn of(problem: &Problem<'_>) -> Result<Self> {
        Self::new(problem.settings, problem.dtype)
    }

    /// The bins, as the library takes them.
    ///
    /// # Safety
    /// `S` is the rule of the problem from which the question was read.
    pub unsafe fn bins<S: Counted>(&self) -> Bins<S> {
        // SAFETY: `new` derived the range by `Cut::cut` from the elements' type, gives letters their own bins, and
        // several channels to bytes only.
        unsafe { Bins::from_parts(self.bins, self.range, self.channels) }
    }

    /// Shape of the counts: channels by bins, or bins if there is one channel.
    pub fn shape(&self) -> Vec<usize> {
        let bins = self.bins as usize;
        if self.has_channels() { vec![self.channels.counted() as usize, bins] } else { vec![bins] }
    }

    /// Number of counts.
    pub fn counts(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there is more than one channel.
    pub fn has_channels(&self) -> bool {
        self.channels != Channels::ONE
    }

    /// Refuses several channels, which cannot be counted at this place.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than one channel.
    pub fn require_one_channel(&self, place: &str) -> Result<()> {
        match self.has_channels() {
            false => Ok(()),
            true => Err(Error::Usage(format!("{CHANNELS} is not supported {place}: leave it out"))),
        }
    }

    /// The bins for elements of this type.
    ///
    /// # Errors
    /// Those of [`Question::of`].
    pub fn new(settings: &Settings, dtype: Dtype) -> Result<Self> {
        let refuse = |text: String| Err(Error::Usage(text));
        let bins = settings.number(&BINS) as u32;
        let channels = channels(settings, dtype)?;
        if settings.flag(&LETTERS) {
            if dtype != Dtype::U8 {
                return refuse(format!("{LETTERS} counts bytes of text, not {dtype}: use {DTYPE} u8"));
            }
            let given = [
                (BINS.to_string(), settings.is_given(&BINS)),
                (RANGE.to_string(), settings.is_given(&RANGE)),
                (CHANNELS.to_string(), channels != Channels::ONE),
            ];
            if let Some((other, _)) = given.iter().find(|(_, given)| *given) {
                return refuse(format!("{LETTERS} has its own bins: leave {other} out"));
            }
            return Ok(Self { bins: Letter::GROUPS, letters: true, range: [0.0; 3], channels });
        }
        if settings.is_given(&RANGE) && !dtype.is_float() {
            return refuse(format!(
                "{RANGE} is for floats, and the bin of a {dtype} is its value: leave it out, or use {DTYPE} f32"
            ));
        }
        let ends = settings.range(&RANGE);
        let range = match dtype {
            Dtype::F32 => parts(ends, bins, [ends.0 as f32, ends.1 as f32])?,
            Dtype::F64 => parts(ends, bins, [ends.0, ends.1])?,
            _ => [0.0; 3],
        };
        Ok(Self { bins, letters: false, range, channels })
    }
}

/// The channels that the settings define.
fn channels(settings: &Settings, dtype: Dtype) -> Result<Channels> {
    let (interleaved, active) = (settings.number(&CHANNELS) as u32, settings.number(&ACTIVE) as u32);
    if interleaved > 1 && dtype != Dtype::U8 {
        return Err(Error::Usage(format!("{CHANNELS} is for bytes, not {dtype}: use {DTYPE} u8")));
    }
    if settings.is_given(&ACTIVE) && active > interleaved {
        return Err(Error::Usage(format!(
            "{ACTIVE} {active} counts channels of {CHANNELS} {interleaved}, which are fewer: leave {ACTIVE} out, or \
             give more channels of {DTYPE} u8"
        )));
    }
    Ok(Channels::new(interleaved, active.min(interleaved))?)
}

/// The range in the elements' own type.
fn parts<T: Cut>((low, high): (f64, f64), bins: u32, [near_low, near_high]: [T; 2]) -> Result<[f64; 3]> {
    T::cut(near_low, near_high, bins).ok_or_else(|| {
        Error::Usage(format!(
            "{RANGE} {low}:{high} cannot be cut into {bins} bins of {}: its ends or their distance are beyond what the \
             type can hold; use a wider or a narrower range, or {DTYPE} f64",
            T::DTYPE
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(dtype: Dtype, given: &[(&str, &str)]) -> Result<Question> {
        Question::new(&Settings::new(SETTINGS, given.iter().copied()).expect("settings"), dtype)
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refusal = |dtype, given: &[(&str, &str)]| question(dtype, given).expect_err("refused").to_string();
        assert!(refusal(Dtype::U32, &[("letters", "")]).contains("--dtype u8"));
        assert!(refusal(Dtype::U8, &[("letters", ""), ("bins", "9")]).contains("leave --bins out"));
        assert!(refusal(Dtype::U32, &[("range", "0:1")]).contains("--range is for floats"));
        assert!(refusal(Dtype::U32, &[("channels", "3")]).contains("--dtype u8"));
        assert!(refusal(Dtype::U8, &[("channels", "3"), ("letters", "")]).contains("leave --channels out"));
        for given in
            [&[("active", "3")][..], &[("channels", "2"), ("active", "3")], &[("letters", ""), ("active", "2")]]
        {
            assert!(refusal(Dtype::U8, given).contains("leave --active out"));
        }
        // Both ends are one f32; the distance is none; its inverse is none.
        for range in ["1:1.00000001", "-3e38:3e38", "0:1e-44"] {
            assert!(refusal(Dtype::F32, &[("range", range)]).contains("--dtype f64"), "{range}");
            assert!(question(Dtype::F64, &[("range", range)]).is_ok(), "{range}");
        }
    }

    #[test]
    fn a_range_is_cut_in_the_elements_own_type() {
        let given = [("range", "0.1:0.7"), ("bins", "3")];
        let [low, high, scale] = question(Dtype::F32, &given).expect("a range").range;
        assert_eq!((low as f32, high as f32, scale as f32), (0.1, 0.7, 3.0 / (0.7_f32 - 0.1)));
        assert_eq!(question(Dtype::F64, &given).expect("a range").range, [0.1, 0.7, 3.0 / (0.7 - 0.1)]);
        assert_eq!(question(Dtype::U8, &[("letters", "")]).expect("letters").bins, 7);
    }

    #[test]
    fn all_channels_are_counted_unless_fewer_are_active() {
        let shape = |given: &[(&str, &str)]| question(Dtype::U8, given).expect("channels").shape();
        assert_eq!(shape(&[]), [256]);
        assert_eq!(shape(&[("channels", "1"), ("active", "1")]), [256]);
        assert_eq!(shape(&[("channels", "3"), ("bins", "7")]), [3, 7]);
        assert_eq!(shape(&[("channels", "4"), ("active", "3")]), [3, 256]);
        assert_eq!(shape(&[("channels", "2"), ("active", "1")]), [1, 256]);
    }
}
