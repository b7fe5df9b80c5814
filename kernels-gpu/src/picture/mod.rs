//! Pictures of bytes: brightness, conversion to grey, and blur.
//!
//! Pictures are height x width x channels, row-major, the channels of a pixel side by side: one for shades of grey, or
//! red, green and blue. All arithmetic is in whole numbers, so that results are exact; halves are rounded up.
//!
//! - [`Scale`]: every byte times a factor, in hundredths, at most 255;
//! - [`Grey`]: the luminance `(299 r + 587 g + 114 b) / 1000` (ITU-R BT.601), one channel; shades of grey stay as they
//!   are;
//! - [`Blur`]: the average of the square of side `2 * radius + 1` around a pixel, or of the part of it inside the
//!   picture.
//!
//! The rungs: [`pixel`], the kernel of the PMPP slides, [`tiled`] and [`best`].
//!
//! Sources: the PMPP slides (`docs/sources.md`), chapter 4 (`pictureKernel`, 76 x 62 pixels in blocks of 16 x 16); D.
//! Kirk, W. Hwu, I. El Hajj, "Programming Massively Parallel Processors", chapter on multidimensional grids (greyscale
//! and blur).

use cuda_std::launch::{Instance, Scalar};

pub mod best;
pub mod pixel;
pub mod tiled;

/// Threads of a block along each axis.
pub const SIDE: u32 = 16;

/// Largest radius of a blur: up to here, a window's sum is divided by a 32-bit multiplication, see [`best`].
pub const MAX_RADIUS: u32 = 31;

/// The shape of a picture and the operation's parameter, which are the same for every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Picture {
    /// Height in pixels.
    pub rows: u32,
    /// Width in pixels.
    pub columns: u32,
    /// Number of channels, 1 or 3.
    pub channels: u32,
    /// The factor in hundredths, or the radius.
    pub amount: u32,
}

// SAFETY: four numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Picture {}

impl Picture {
    /// Index of a pixel's first byte.
    #[inline(always)]
    fn index(&self, row: u32, column: u32) -> usize {
        (row as usize * self.columns as usize + column as usize) * self.channels as usize
    }
}

/// The operations on pictures.
pub trait Op: Instance + 'static {
    /// Channels of the result.
    fn channels(channels: u32) -> u32;
    /// Distance up to which other pixels affect a pixel's result.
    fn reach(amount: u32) -> u32;
    /// The result for one channel of the pixel in the middle, given the bytes of its neighbourhood.
    fn apply(around: &impl Around, amount: u32, channel: u32) -> u8;
}

/// A pixel and those around it.
pub trait Around {
    /// Number of channels, 1 or 3.
    fn channels(&self) -> u32;
    /// A byte of the pixel this number of rows and columns away, which is inside the picture.
    fn byte(&self, down: i32, right: i32, channel: u32) -> u32;
    /// Rows and columns that the picture has above, below, left and right of the pixel, `reach` at most.
    fn inside(&self, reach: u32) -> [i32; 4];
}

macro_rules! op {
    ($(#[$doc:meta])* $name:ident $entry:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }
    };
}
op!(
    /// Every byte times a factor.
    Scale "scale"
);
op!(
    /// The luminance.
    Grey "grey"
);
op!(
    /// The average of a square.
    Blur "blur"
);

/// A byte times hundredths, rounded, at most 255.
#[inline(always)]
fn scaled(byte: u8, hundredths: u32) -> u8 {
    ((byte as u32 * hundredths + 50) / 100).min(255) as u8
}

/// The luminance of a colour.
#[inline(always)]
fn luminance(red: u32, green: u32, blue: u32) -> u8 {
    ((299 * red + 587 * green + 114 * blue + 500) / 1000) as u8
}

impl Op for Scale {
    fn channels(channels: u32) -> u32 {
        channels
    }
    fn reach(_: u32) -> u32 {
        0
    }
    #[inline(always)]
    fn apply(around: &impl Around, amount: u32, channel: u32) -> u8 {
        scaled(around.byte(0, 0, channel) as u8, amount)
    }
}

impl Op for Grey {
    fn channels(_: u32) -> u32 {
        1
    }
    fn reach(_: u32) -> u32 {
        0
    }
    #[inline(always)]
    fn apply(around: &impl Around, _: u32, _: u32) -> u8 {
        match around.channels() {
            3 => luminance(around.byte(0, 0, 0), around.byte(0, 0, 1), around.byte(0, 0, 2)),
            _ => around.byte(0, 0, 0) as u8,
        }
    }
}

impl Op for Blur {
    fn channels(channels: u32) -> u32 {
        channels
    }
    fn reach(amount: u32) -> u32 {
        amount
    }
    #[inline(always)]
    fn apply(around: &impl Around, amount: u32, channel: u32) -> u8 {
        let [above, below, left, right] = around.inside(amount);
        let mut sum = 0;
        let mut down = -above;
        while down <= below {
            let mut across = -left;
            while across <= right {
                sum += around.byte(down, across, channel);
                across += 1;
            }
            down += 1;
        }
        average(sum, ((above + below + 1) * (left + right + 1)) as u32)
    }
}

/// A sum of bytes divided by their number, at least one, rounded.
#[inline(always)]
fn average(sum: u32, count: u32) -> u8 {
    ((sum + count / 2) / count.max(1)) as u8
}

/// Number of rows or columns before and after a place on an axis of `len`, `reach` at most.
#[inline(always)]
fn inside(place: u32, len: u32, reach: u32) -> [i32; 2] {
    [place.min(reach) as i32, (len - 1 - place).min(reach) as i32]
}
