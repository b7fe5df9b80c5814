//! Interleaved channels, and the kernels that count them.

use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::best::channels::{Pair, Pixel, Rgb, Rgba, Rgbx, histogram_best_channels};

/// Interleaved channels, such as the colours of pixels: element `i` belongs to channel `i % interleaved`, and the first
/// `counted` channels are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channels {
    interleaved: u32,
    counted: u32,
}

impl Channels {
    /// One channel, to which all elements belong.
    pub const ONE: Self = Self { interleaved: 1, counted: 1 };

    /// Red, green and blue.
    pub const RGB: Self = Self { interleaved: 3, counted: 3 };

    /// Red, green, blue and alpha.
    pub const RGBA: Self = Self { interleaved: 4, counted: 4 };

    /// Red, green, blue, and a fourth channel that is not counted.
    pub const RGBX: Self = Self { interleaved: 4, counted: 3 };

    /// The first `counted` of `interleaved` channels.
    ///
    /// # Errors
    /// [`Error::Argument`] unless there are 1 to 4 channels, of which at least one is counted.
    pub fn new(interleaved: u32, counted: u32) -> Result<Self> {
        if (1..=4).contains(&interleaved) && (1..=interleaved).contains(&counted) {
            return Ok(Self { interleaved, counted });
        }
        Err(Error::Argument(format!(
            "a histogram counts the first of 1 to 4 interleaved channels, not {counted} of {interleaved}: copy the \
             channels that are to be counted to memory of their own"
        )))
    }

    /// Number of interleaved channels.
    pub fn interleaved(self) -> u32 {
        self.interleaved
    }

    /// Number of channels that are counted.
    pub fn counted(self) -> u32 {
        self.counted
    }

    /// Number of channels for which the kernel has counters: those that are counted, or more if no kernel leaves out as
    /// many.
    pub(super) fn with_counters(self) -> u32 {
        if self.counted == self.interleaved { self.interleaved } else { self.interleaved.clamp(2, 3) }
    }
}

/// Pixels whose channels have kernels of their own, and the columns of counters with which they are compiled. It is
/// public for the ladders, which list their entries.
#[doc(hidden)]
pub const KERNELS: ([Channels; 4], [u32; 2]) =
    ([Channels { interleaved: 2, counted: 2 }, Channels::RGB, Channels::RGBA, Channels::RGBX], [16, 32]);

/// The kernel for more than one channel, with this number of columns. It is public for the ladders, which list its
/// entries.
#[doc(hidden)]
pub fn call<'a>(
    input: Slice<'a, u8>,
    (channels, columns): (Channels, u32),
    bins: u32,
    [totals, counts]: [PtrMut<'a, u64>; 2],
    ticket: PtrMut<'a, u32>,
) -> Call<'a> {
    let launcher = match (channels.interleaved, channels.with_counters()) {
        (4, 4) => of::<Rgba>,
        (4, _) => of::<Rgbx>,
        (3, _) => of::<Rgb>,
        _ => of::<Pair>,
    };
    launcher(columns)(input, bins, channels.counted, totals, ticket, counts)
}

type Launcher = for<'a> fn(Slice<'a, u8>, u32, u32, PtrMut<'a, u64>, PtrMut<'a, u32>, PtrMut<'a, u64>) -> Call<'a>;

fn of<P: Pixel>(columns: u32) -> Launcher {
    if columns == 16 { histogram_best_channels::<P, 16> } else { histogram_best_channels::<P, 32> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_one_to_four() {
        for interleaved in 1..=4 {
            for counted in 1..=interleaved {
                let channels = Channels::new(interleaved, counted).expect("channels");
                assert_eq!((channels.interleaved(), channels.counted()), (interleaved, counted));
                assert!((counted..=interleaved).contains(&channels.with_counters()));
            }
        }
        assert_eq!(Channels::new(4, 3).expect("channels"), Channels::RGBX);
        assert_eq!(Channels::RGBX.with_counters(), 3);
        for (interleaved, counted) in [(0, 0), (1, 0), (3, 0), (3, 4), (5, 3)] {
            assert!(matches!(Channels::new(interleaved, counted), Err(Error::Argument(_))), "{counted}/{interleaved}");
        }
    }
}
