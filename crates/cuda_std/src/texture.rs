//! Fetches from textures: what a multiprocessor's texture units do in one instruction.
//!
//! The host makes a texture and passes its handle to the kernel as a `u64`. The handle stands for where the texels are
//! and how they are read: number of dimensions, type and number of channels, filter, what a coordinate outside means,
//! whether coordinates go from 0 to 1, and whether integers of 8 and 16 bits are read as numbers from 0 to 1 (or from
//! -1 to 1). A fetch gives four channels; count only on those that the texture has.
//!
//! [`tex1d`], [`tex2d`] and [`tex3d`] take floats, where texel i lies between i and i + 1, its centre at i + 0.5.
//! [`tex1d_fetch`], [`tex2d_fetch`] and [`tex3d_fetch`] take whole numbers: no filter, no address mode, and zeros
//! outside. (CUDA C++ Programming Guide, "Texture Functions" and "Texture Fetching".)
//!
//! A linear filter weighs texels with 8 bits behind the point: where more is needed, fetch texels and weigh them in the
//! kernel.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics::{self as nvvm, Channels};

/// What the channels are taken as: `f32` for textures of floats and for integers that are read as numbers from 0 to 1
/// or -1 to 1; `i32` and `u32` for other integers, extended to 32 bits.
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

/// A fetch from a texture of one dimension, in a CUDA array.
///
/// # Safety
/// `texture` must be the handle of such a texture that lives, its channels must be what `T` stands for, and nobody may
/// write its texels during the launch.
#[inline(always)]
pub unsafe fn tex1d<T: Channel>(texture: u64, x: f32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::sample_1d(texture, [x]) }
}

/// A fetch from a texture of two dimensions.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex2d<T: Channel>(texture: u64, x: f32, y: f32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::sample_2d(texture, [x, y]) }
}

/// A fetch from a texture of three dimensions.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex3d<T: Channel>(texture: u64, x: f32, y: f32, z: f32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::sample_3d(texture, [x, y, z]) }
}

/// Texel `x` of a texture of one dimension in linear memory: not of one in a CUDA array, where a GPU gives zeros.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex1d_fetch<T: Channel>(texture: u64, x: i32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::texel_1d(texture, [x]) }
}

/// The texel in column `x` and row `y` of a texture of two dimensions.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex2d_fetch<T: Channel>(texture: u64, x: i32, y: i32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::texel_2d(texture, [x, y]) }
}

/// The texel in column `x`, row `y` and plane `z` of a texture of three dimensions.
///
/// # Safety
/// As for [`tex1d`].
#[inline(always)]
pub unsafe fn tex3d_fetch<T: Channel>(texture: u64, x: i32, y: i32, z: i32) -> [T; 4] {
    // SAFETY: the caller's promise.
    unsafe { T::texel_3d(texture, [x, y, z]) }
}

macro_rules! channel {
    ($t:ident { $($method:ident($place:ident $($i:literal)*) = $intrinsic:ident;)* }) => {
        impl Channel for $t { $(
            #[gpu_only]
            unsafe fn $method(texture: u64, at: [$place; [$($i),*].len()]) -> [Self; 4] {
                // SAFETY: the caller's promise.
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
