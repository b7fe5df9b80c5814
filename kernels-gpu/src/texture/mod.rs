//! Texture: an array of one, two or three dimensions is sampled between its elements, as when a picture is scaled and
//! turned.
//!
//! A sample at coordinate x (texel i reaches from i to i + 1) is the texel that x lies in, or a mean of the nearest
//! two, four or eight; outside, the array is repeated, mirrored, continued by its edge, or 0. In software this takes
//! dozens of instructions, on a texture unit one: the unit reads the texels, converts and weights them, and its cache
//! keeps neighbours in all dimensions together.
//!
//! The rungs: [`global`] and [`texels`] filter in instructions; [`mod@unit`] and [`best`] use the texture unit's
//! filter.
//!
//! Samples lie on a grid that an affine map places in the array. Results are row-major, as are the texels; x varies
//! fastest, and the channels of a texel lie side by side.
//!
//! Sources: CUDA C++ Programming Guide, "Texture Memory" and "Texture Fetching"; the toolkit's sample `simpleTexture`.

use cuda_std::launch::Instance;
use cuda_std::math;
use cuda_std::texture::{tex1d, tex1d_fetch, tex2d, tex2d_fetch, tex3d, tex3d_fetch};
use cuda_std::thread;

pub mod best;
pub mod global;
pub mod texels;
pub mod unit;

mod by_hand;

/// Threads of a block of one dimension, and of a block of rows of [`COLUMNS`].
pub const BLOCK: u32 = 256;

/// Columns of a block of two dimensions, which has `BLOCK / COLUMNS` rows. Blocks are one plane thick.
pub const COLUMNS: u32 = 32;

/// The filter for values between texels.
pub mod filter {
    /// The texel that the coordinate lies in.
    pub const POINT: u32 = 0;
    /// Linear interpolation of the nearest two, four or eight texels.
    pub const LINEAR: u32 = 1;
}

/// The address mode for coordinates outside; the numbers are CUDA's.
pub mod address {
    /// The array is repeated.
    pub const WRAP: u32 = 0;
    /// The nearest texel.
    pub const CLAMP: u32 = 1;
    /// The array is repeated, every second time the other way around.
    pub const MIRROR: u32 = 2;
    /// 0.
    pub const BORDER: u32 = 3;
}

/// The positions of the samples. Sample (i, j, k) is at x = i `[0]` + (j `[1]` + `[2]`), y = i `[3]` + (j `[4]` +
/// `[5]`), z = k `[6]` + `[7]`, each product and sum by a fused multiply-add in f32, which gives the same bits
/// everywhere.
pub type Map = [f32; 8];

/// The number of dimensions.
pub trait Dimensions: Instance + 'static {
    /// Number of dimensions: 1, 2 or 3.
    const COUNT: u32;

    /// The texture unit's result for a coordinate; axes beyond the texture's are ignored.
    ///
    /// # Safety
    /// The requirements are those of [`tex1d`], for a texture of this number of dimensions that gives floats.
    unsafe fn sample(texture: u64, at: [f32; 3]) -> [f32; 4];

    /// A texel; in one dimension of linear memory.
    ///
    /// # Safety
    /// The requirements are those of [`tex1d_fetch`], for a texture of this number of dimensions.
    unsafe fn texel<C: cuda_std::texture::Channel>(texture: u64, at: [i32; 3]) -> [C; 4];
}

macro_rules! dimensions {
    ($($name:ident $entry:literal $text:literal $count:literal $sample:ident $texel:ident [$($i:literal)*];)*) => { $(
        #[doc = concat!($text, ".")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }

        impl Dimensions for $name {
            const COUNT: u32 = $count;

            #[inline(always)]
            unsafe fn sample(texture: u64, at: [f32; 3]) -> [f32; 4] {
                // SAFETY: the caller upholds this function's contract.
                unsafe { $sample(texture, $(at[$i]),*) }
            }
            #[inline(always)]
            unsafe fn texel<C: cuda_std::texture::Channel>(texture: u64, at: [i32; 3]) -> [C; 4] {
                // SAFETY: the caller upholds this function's contract.
                unsafe { $texel(texture, $(at[$i]),*) }
            }
        }
    )* };
}
dimensions! {
    Line "line" "One dimension" 1 tex1d tex1d_fetch [0];
    Plane "plane" "Two dimensions" 2 tex2d tex2d_fetch [0 1];
    Space "space" "Three dimensions" 3 tex3d tex3d_fetch [0 1 2];
}

/// The type of texels, and of results.
pub trait Format: Instance + 'static {
    /// Type of one channel of a texel in memory.
    type Element: Copy + 'static;
    /// Type of one channel of a result.
    type Result: Copy + 'static;

    /// The number that a filter by hand works on.
    fn number(element: Self::Element) -> f32;

    /// The same number for a texel read through the texture cache.
    ///
    /// # Safety
    /// The requirements are those of [`Dimensions::texel`], for a texture that gives u32 for [`Byte`], else floats.
    unsafe fn texel<D: Dimensions>(texture: u64, at: [i32; 3]) -> [f32; 4];

    /// The result of such a number.
    fn result(number: f32) -> Self::Result;

    /// The result of what a texture unit gives, which reads u8 as numbers from 0 to 1.
    fn fetched(value: f32) -> Self::Result;
}

/// f32, read as it is.
#[derive(Clone, Copy, Debug)]
pub struct Float;

/// u8, read as a number from 0 to 1 (`cudaReadModeNormalizedFloat`).
#[derive(Clone, Copy, Debug)]
pub struct Fraction;

/// u8 in and out, rounded where it was filtered.
#[derive(Clone, Copy, Debug)]
pub struct Byte;

impl Instance for Float {
    const NAME: &'static str = "float";
}

impl Instance for Fraction {
    const NAME: &'static str = "fraction";
}

impl Instance for Byte {
    const NAME: &'static str = "byte";
}

impl Format for Float {
    type Element = f32;
    type Result = f32;

    #[inline(always)]
    fn number(element: f32) -> f32 {
        element
    }
    #[inline(always)]
    unsafe fn texel<D: Dimensions>(texture: u64, at: [i32; 3]) -> [f32; 4] {
        // SAFETY: the caller upholds this function's contract.
        unsafe { D::texel::<f32>(texture, at) }
    }
    #[inline(always)]
    fn result(number: f32) -> f32 {
        number
    }
    #[inline(always)]
    fn fetched(value: f32) -> f32 {
        value
    }
}

impl Format for Fraction {
    type Element = u8;
    type Result = f32;

    #[inline(always)]
    fn number(element: u8) -> f32 {
        f32::from(element) / 255.0
    }
    #[inline(always)]
    unsafe fn texel<D: Dimensions>(texture: u64, at: [i32; 3]) -> [f32; 4] {
        // SAFETY: the caller upholds this function's contract.
        unsafe { D::texel::<f32>(texture, at) }
    }
    #[inline(always)]
    fn result(number: f32) -> f32 {
        number
    }
    #[inline(always)]
    fn fetched(value: f32) -> f32 {
        value
    }
}

impl Format for Byte {
    type Element = u8;
    type Result = u8;

    #[inline(always)]
    fn number(element: u8) -> f32 {
        f32::from(element)
    }
    #[inline(always)]
    unsafe fn texel<D: Dimensions>(texture: u64, at: [i32; 3]) -> [f32; 4] {
        // SAFETY: the caller upholds this function's contract.
        unsafe { D::texel::<u32>(texture, at) }.map(|channel| channel as f32)
    }
    #[inline(always)]
    fn result(number: f32) -> u8 {
        (number + 0.5) as u8
    }
    #[inline(always)]
    fn fetched(value: f32) -> u8 {
        Self::result(value * 255.0)
    }
}

/// The thread's sample; blocks are as [`COLUMNS`] says.
#[inline(always)]
fn place() -> [u32; 3] {
    [
        thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x(),
        thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y(),
        thread::block_idx_z(),
    ]
}

/// Whether `place` is one of the `size` samples.
#[inline(always)]
fn is_inside(place: [u32; 3], size: [u32; 3]) -> bool {
    place[0] < size[0] && place[1] < size[1] && place[2] < size[2]
}

/// The coordinate of a sample: see [`Map`].
#[inline(always)]
fn coordinate<D: Dimensions>(map: &Map, place: [u32; 3]) -> [f32; 3] {
    let [i, j, k] = place.map(|index| index as f32);
    let row =
        |axis: usize| if D::COUNT > 1 { math::Float::mul_add(j, map[axis], map[axis + 1]) } else { map[axis + 1] };
    let y = if D::COUNT > 1 { math::Float::mul_add(i, map[3], row(4)) } else { 0.0 };
    let z = if D::COUNT > 2 { math::Float::mul_add(k, map[6], map[7]) } else { 0.0 };
    [math::Float::mul_add(i, map[0], row(1)), y, z]
}

/// Index of a sample's first channel in the result.
#[inline(always)]
fn slot(place: [u32; 3], size: [u32; 3], channels: u32) -> usize {
    let row = place[2] as usize * size[1] as usize + place[1] as usize;
    (row * size[0] as usize + place[0] as usize) * channels as usize
}

/// Writes the channels of one sample.
///
/// # Safety
/// `output` has room for the grid of samples, and no other thread writes this one.
#[inline(always)]
unsafe fn store<R: Copy>(output: *mut R, slot: usize, channels: u32, values: [R; 4]) {
    // SAFETY: the caller upholds this function's contract, for as many channels as there are.
    unsafe {
        output.add(slot).write(values[0]);
        if channels > 1 {
            output.add(slot + 1).write(values[1]);
        }
        if channels > 2 {
            output.add(slot + 2).write(values[2]);
        }
        if channels > 3 {
            output.add(slot + 3).write(values[3]);
        }
    }
}
