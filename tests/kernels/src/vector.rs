//! The crates that `cuda_std` exports: `glam`, `half`, `vek`.

use cuda_std::glam::{UVec3, Vec2, Vec3};
use cuda_std::half::bf16;
use cuda_std::prelude::*;
use cuda_std::{f16, vek};

/// Indices have the types of glam: the length of the position in the grid, and of a normalised cross product.
#[kernel]
pub unsafe fn vector_glam(out: *mut f32) {
    let index = thread::index_2d();
    let position: Vec2 = index.as_vec2();
    let dim: UVec3 = thread::grid_dim() * thread::block_dim();
    let normal = Vec3::new(position.x + 1.0, 0.0, 0.0).cross(Vec3::new(0.0, position.y + 1.0, 0.0)).normalize();
    let rank = (index.y * dim.x + index.x) as usize;
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(rank) = position.length() + normal.z };
}

/// Sums of 16-bit floats with the neighbour's value.
#[kernel]
pub unsafe fn vector_half(x: &[f32], out: *mut f32) {
    let i = thread::global_index();
    let (short, brain) = (f16::from_f32(x[i]), bf16::from_f32(x[i]));
    // SAFETY: whole warps are launched, and every lane reaches the shuffles.
    let (short_next, brain_next) =
        unsafe { (warp::shuffle_xor(u32::MAX, short, 1), warp::shuffle_xor(u32::MAX, brain, 1)) };
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(i) = (short + short_next).to_f32() + (brain + brain_next).to_f32() };
}

/// The dot product of a vector with itself.
#[kernel]
pub unsafe fn vector_vek(x: &[f32], out: *mut f32) {
    let i = thread::global_index();
    let v = vek::Vec3::new(x[i], 1.0, 2.0);
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(i) = v.dot(v) };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};

    let lengths: Vec<f32> = (0..12 * 4).map(|i| f64::hypot((i % 12) as f64, (i / 12) as f64) as f32 + 1.0).collect();
    // Small multiples of 1/4 and their sums are exact in both 16-bit types.
    let x: Vec<f32> = (0..64).map(|i| i as f32 * 0.25 - 8.0).collect();
    let sums: Vec<f32> = (0..64).map(|i| 2.0 * (x[i] + x[i ^ 1])).collect();
    let dots: Vec<f32> = x.iter().map(|x| x * x + 5.0).collect();
    std::vec![
        Case::in_space("vector_glam", [3, 2, 1], [4, 2, 1]).near(&lengths, 1e-6, 0.0).calls(|b| vector_glam(out(b[0]))),
        Case::new("vector_half", 2, 32).input(&x).output(&sums).calls(|b| vector_half(slice(b[0], 64), out(b[1]))),
        Case::new("vector_vek", 2, 32).input(&x).output(&dots).calls(|b| vector_vek(slice(b[0], 64), out(b[1]))),
    ]
}
