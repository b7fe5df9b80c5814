//! Products of small matrices whose elements are spread over the lanes of a warp.

#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
use super::{ALL, shuffle_idx};

/// Adds the product of a 16x4 and a 4x8 matrix of `f64` to a 16x8 matrix: one tensor-core instruction since sm_90, two
/// on sm_80, shuffles and fused multiply-adds before.
///
/// With `g = lane / 4` and `t = lane % 4` the lane holds
/// - in `left`, column `t` of the left factor, rows `g` and `g + 8`;
/// - in `right`, row `t` of the right factor, column `g`;
/// - in `sums`, row `g`, columns `2 t` and `2 t + 1`, then the same columns of row `g + 8`.
///
/// The four products of an element are added to it by fused multiply-adds. The GPU chooses their order, which is the
/// same in every run.
///
/// # Safety
/// All 32 lanes must reach this call.
#[cuda_std_macros::gpu_only]
pub unsafe fn multiply_add_f64(sums: [f64; 4], left: [f64; 2], right: f64) -> [f64; 4] {
    #[allow(unused_mut)]
    let [mut p, mut q, mut r, mut s] = sums;
    // SAFETY: the instruction uses registers only, and by contract all lanes reach it.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 \
             {{{p}, {q}, {r}, {s}}}, {{{a}, {b}}}, {{{c}}}, {{{p}, {q}, {r}, {s}}};",
            p = inout(reg64) p, q = inout(reg64) q, r = inout(reg64) r, s = inout(reg64) s,
            a = in(reg64) left[0], b = in(reg64) left[1], c = in(reg64) right,
            options(pure, nomem, nostack, preserves_flags)
        );
        [p, q, r, s]
    }
    // SAFETY: the instruction uses registers only, and by contract all lanes reach it.
    #[cfg(all(target_feature = "sm_80", not(target_feature = "sm_90")))]
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{p}, {q}}}, {{{a}}}, {{{c}}}, {{{p}, {q}}};",
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{r}, {s}}}, {{{b}}}, {{{c}}}, {{{r}, {s}}};",
            p = inout(reg64) p, q = inout(reg64) q, r = inout(reg64) r, s = inout(reg64) s,
            a = in(reg64) left[0], b = in(reg64) left[1], c = in(reg64) right,
            options(pure, nomem, nostack, preserves_flags)
        );
        [p, q, r, s]
    }
    #[cfg(not(target_feature = "sm_80"))]
    {
        use crate::math::Float;
        let lane = super::lane_id();
        let mut k = 0;
        while k < 4 {
            // SAFETY: by contract all lanes reach this call.
            let [upper, lower, even, odd] = unsafe {
                let (row, column) = (lane & !3 | k, lane % 4 * 8 + k);
                [
                    shuffle_idx(ALL, left[0], row),
                    shuffle_idx(ALL, left[1], row),
                    shuffle_idx(ALL, right, column),
                    shuffle_idx(ALL, right, column + 4),
                ]
            };
            (p, q) = (Float::mul_add(upper, even, p), Float::mul_add(upper, odd, q));
            (r, s) = (Float::mul_add(lower, even, r), Float::mul_add(lower, odd, s));
            k += 1;
        }
        [p, q, r, s]
    }
}
