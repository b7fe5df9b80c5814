//! The hardware's approximations for `f32`: one or two instructions each. The error bounds are those of the PTX ISA
//! manual.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
mod nvvm {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.sqrt.approx.f"]
        pub safe fn sqrt(x: f32) -> f32;
        #[link_name = "llvm.nvvm.rsqrt.approx.f"]
        pub safe fn rsqrt(x: f32) -> f32;
        #[link_name = "llvm.nvvm.rcp.approx.ftz.f"]
        pub safe fn rcp(x: f32) -> f32;
        #[link_name = "llvm.nvvm.div.approx.f"]
        pub safe fn div(x: f32, y: f32) -> f32;
        #[link_name = "llvm.nvvm.ex2.approx.f32"]
        pub safe fn ex2(x: f32) -> f32;
        #[link_name = "llvm.nvvm.lg2.approx.f"]
        pub safe fn lg2(x: f32) -> f32;
        #[link_name = "llvm.nvvm.sin.approx.f"]
        pub safe fn sin(x: f32) -> f32;
        #[link_name = "llvm.nvvm.cos.approx.f"]
        pub safe fn cos(x: f32) -> f32;
    }
}

/// The square root; relative error at most 2^-23.
#[must_use]
#[gpu_only]
pub fn sqrt(x: f32) -> f32 {
    nvvm::sqrt(x)
}

/// `1 / sqrt(x)`; relative error at most 2^-22.9.
#[must_use]
#[gpu_only]
pub fn rsqrt(x: f32) -> f32 {
    nvvm::rsqrt(x)
}

/// `1 / x`; relative error at most 2^-23. Subnormal numbers count as zero, and results below 2^-126 become zero.
#[must_use]
#[gpu_only]
pub fn recip(x: f32) -> f32 {
    nvvm::rcp(x)
}

/// `x / y`; error at most 2 units in the last place for `2^-126 <= |y| <= 2^126`.
#[must_use]
#[gpu_only]
pub fn div(x: f32, y: f32) -> f32 {
    nvvm::div(x, y)
}

/// `2^x`; relative error at most 2^-22.
#[must_use]
#[gpu_only]
pub fn exp2(x: f32) -> f32 {
    nvvm::ex2(x)
}

/// `e^x`, computed as `2^(x * log2 e)`. The error grows with `|x|`.
#[must_use]
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// The logarithm to base 2; absolute error at most 2^-22 for `x` in 0.5..=2, and relative error at most 2^-22
/// elsewhere.
#[must_use]
#[gpu_only]
pub fn log2(x: f32) -> f32 {
    nvvm::lg2(x)
}

/// The natural logarithm, computed as `log2(x) * ln 2`.
#[must_use]
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    log2(x) * core::f32::consts::LN_2
}

/// The sine; absolute error at most 2^-20.5 for `x` in -π..=π, larger outside.
#[must_use]
#[gpu_only]
pub fn sin(x: f32) -> f32 {
    nvvm::sin(x)
}

/// The cosine; absolute error at most 2^-20.5 for `x` in -π..=π, larger outside.
#[must_use]
#[gpu_only]
pub fn cos(x: f32) -> f32 {
    nvvm::cos(x)
}

/// The hyperbolic tangent; relative error at most 2^-11.
#[must_use]
#[gpu_only]
pub fn tanh(x: f32) -> f32 {
    let y;
    // SAFETY: the instruction uses registers only.
    unsafe {
        core::arch::asm!("tanh.approx.f32 {}, {};",
            out(reg32) y, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
    };
    y
}
