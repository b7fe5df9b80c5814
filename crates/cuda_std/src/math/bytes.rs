//! Rearrangement of bytes.

use cuda_std_macros::gpu_only;

/// Four bytes chosen from eight (`prmt`): byte `i` of the result is that whose number is hexadecimal digit `i` of
/// `SELECTOR`, counted from the least significant. The bytes of `low` have the numbers 0 to 3, those of `high` 4 to 7.
#[must_use]
#[gpu_only]
pub fn select_bytes<const SELECTOR: u32>(low: u32, high: u32) -> u32 {
    const { assert!(SELECTOR & !0x7777 == 0, "a selector has four digits from 0 to 7") };
    let bytes;
    // SAFETY: the instruction is arithmetic only.
    unsafe {
        core::arch::asm!("prmt.b32 {bytes}, {low}, {high}, {selector};", bytes = out(reg32) bytes, low = in(reg32) low,
            high = in(reg32) high, selector = const SELECTOR, options(pure, nomem, nostack, preserves_flags));
    }
    bytes
}
