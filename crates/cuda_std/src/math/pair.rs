//! Conversions between `f32` and pairs of 16-bit floats, as the tensor cores read them.

use cuda_std_macros::gpu_only;

/// Rounds two numbers to f16, to nearest with ties to even, and packs them; `low` is in the low half. Too large numbers
/// become infinities.
#[must_use]
#[gpu_only]
pub fn pack_f16(low: f32, high: f32) -> u32 {
    let pair;
    // SAFETY: the instructions are arithmetic only.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b16 l, h; cvt.rn.f16.f32 l, {low}; cvt.rn.f16.f32 h, {high}; mov.b32 {pair}, {{l, h}}; }}",
            low = in(reg32) low, high = in(reg32) high, pair = out(reg32) pair,
            options(pure, nomem, nostack, preserves_flags));
    }
    pair
}

/// The two f16 of a pair, the low one first; exact.
#[must_use]
#[gpu_only]
pub fn unpack_f16(pair: u32) -> [f32; 2] {
    let (low, high);
    // SAFETY: the instructions are arithmetic only.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b16 l, h; mov.b32 {{l, h}}, {pair}; cvt.f32.f16 {low}, l; cvt.f32.f16 {high}, h; }}",
            pair = in(reg32) pair, low = out(reg32) low, high = out(reg32) high,
            options(pure, nomem, nostack, preserves_flags));
    }
    [low, high]
}

/// Rounds two numbers to bf16, to nearest with ties to even, and packs them; `low` is in the low half. Too large
/// numbers become infinities.
#[must_use]
#[gpu_only]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    #[cfg(target_feature = "sm_80")]
    {
        let pair;
        // SAFETY: the instruction is arithmetic only.
        unsafe {
            core::arch::asm!("cvt.rn.bf16x2.f32 {pair}, {high}, {low};", low = in(reg32) low, high = in(reg32) high,
                pair = out(reg32) pair, options(pure, nomem, nostack, preserves_flags));
        }
        pair
    }
    #[cfg(not(target_feature = "sm_80"))]
    {
        let round = |x: f32| {
            let bits = x.to_bits();
            // Half of the last place that stays, less one if that place is even.
            if x.is_nan() { 0x7fff } else { (bits + 0x7fff + (bits >> 16 & 1)) >> 16 }
        };
        round(low) | round(high) << 16
    }
}

/// The two bf16 of a pair, the low one first; exact.
#[must_use]
#[inline(always)]
pub const fn unpack_bf16(pair: u32) -> [f32; 2] {
    [f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000)]
}
