//! Texture fetches: one instruction of a multiprocessor's texture units each.
//!
//! The host creates a texture and passes its handle to the kernel as a `u64`. The texture defines where the texels are
//! and how they are read: number of dimensions, type and number of channels, filter, address mode for coordinates
//! outside, whether coordinates are normalised to 0..1, and whether integers of 8 and 16 bits are converted to floats
//! in 0..=1 (or -1..=1). A fetch returns four channels, of which only those that the texture has are meaningful.
//!
//! [`tex1d`], [`tex2d`] and [`tex3d`] take float coordinates: texel i covers i to i + 1, and its centre is i + 0.5.
//! [`tex1d_fetch`], [`tex2d_fetch`] and [`tex3d_fetch`] take integer coordinates; they use no filter and no address
//! mode, and return zeros outside. (CUDA C++ Programming Guide, "Texture Functions" and "Texture Fetching".)
//!
//! The linear filter's weights have 8 fractional bits. For more precision fetch texels and interpolate in the kernel.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics::{self as nvvm, Channels};

/// Types of a fetched channel: `f32` for textures of floats and of integers that are converted to floats; `i32` and
/// `u32` for other integers, extended to 32 bits.
pub trait Channel: Copy {
    #[doc(hidden)]
    unsafe fn sample_1d(texture: u64, at: [f32; 1]) -> [Self; 4];
    #[doc(hidden)]
    unsafe fn sample_2d(texture: u64, at: [f32; 2]) -> [Self; 4];
    #[doc(hidden)]
    unsafe fn sample_3d(texture: u64, at: [f32; 3]) -> [Self; 4];
    #[doc(hidden)]
    unsafe fn texel_1d(texture: u64, at: [i32; 1]) -> [Self; 4];
    #[doc(hidden)]
    unsafe fn texel_2d(texture: u64, at: [i32; 2]) -> [Self; 4];
    #[doc(hidden)]
    unsafe fn texel_3d(texture: u64, at: [i32; 3]) -> [Self; 4];
}

/// Fetches from a one-dimensional texture in a CUDA array.
///
/// # Safety
/// `texture` must be the handle of such a texture that has not been destroyed, the type of its channels must be the one
/// that `T` stands for, and its texels must not be written during the launch.
#[inline(always)]
pub unsafe fn tex1d<T: Channel>(texture: u64, x: f32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::sample_1d(texture, [x]) }
}

/// Fetches from a two-dimensional texture.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex2d<T: Channel>(texture: u64, x: f32, y: f32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::sample_2d(texture, [x, y]) }
}

/// Fetches from a three-dimensional texture.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex3d<T: Channel>(texture: u64, x: f32, y: f32, z: f32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::sample_3d(texture, [x, y, z]) }
}

/// Reads texel `x` of a one-dimensional texture in linear memory. On a texture in a CUDA array GPUs return zeros.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex1d_fetch<T: Channel>(texture: u64, x: i32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::texel_1d(texture, [x]) }
}

/// Reads the texel in column `x` and row `y` of a two-dimensional texture.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex2d_fetch<T: Channel>(texture: u64, x: i32, y: i32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::texel_2d(texture, [x, y]) }
}

/// Reads the texel in column `x`, row `y` and plane `z` of a three-dimensional texture.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex3d_fetch<T: Channel>(texture: u64, x: i32, y: i32, z: i32) -> [T; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::texel_3d(texture, [x, y, z]) }
}

macro_rules! channel {
    ($t:ident { $($method:ident($place:ident $($i:literal)*) = $intrinsic:ident;)* }) => {
        impl Channel for $t { $(
            #[gpu_only]
            unsafe fn $method(texture: u64, at: [$place; [$($i),*].len()]) -> [Self; 4] {
                // SAFETY: the caller upholds this function's contract.
                let Channels(r, g, b, a) = unsafe { nvvm::$intrinsic(texture, $(at[$i]),*) };
                [r, g, b, a]
            }
        )* }
    };
}
channel!(f32 {
    sample_1d(f32 0) = tex1d_f32;
    sample_2d(f32 0 1) = tex2d_f32;
    sample_3d(f32 0 1 2) = tex3d_f32;
    texel_1d(i32 0) = texel1d_f32;
    texel_2d(i32 0 1) = texel2d_f32;
    texel_3d(i32 0 1 2) = texel3d_f32;
});
channel!(i32 {
    sample_1d(f32 0) = tex1d_i32;
    sample_2d(f32 0 1) = tex2d_i32;
    sample_3d(f32 0 1 2) = tex3d_i32;
    texel_1d(i32 0) = texel1d_i32;
    texel_2d(i32 0 1) = texel2d_i32;
    texel_3d(i32 0 1 2) = texel3d_i32;
});
channel!(u32 {
    sample_1d(f32 0) = tex1d_u32;
    sample_2d(f32 0 1) = tex2d_u32;
    sample_3d(f32 0 1 2) = tex3d_u32;
    texel_1d(i32 0) = texel1d_u32;
    texel_2d(i32 0 1) = texel2d_u32;
    texel_3d(i32 0 1 2) = texel3d_u32;
});
