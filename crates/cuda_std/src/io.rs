//! Printing from kernels, without a heap.
//!
//! [`print!`](crate::print) and [`println!`](crate::println) format into a buffer on the stack and hand it to the
//! system's `vprintf`. The text of a launch appears when the host next waits for the device; text beyond the size of
//! the device's buffer (1 MiB unless the host sets another) overwrites the oldest.
//!
//! # Costs
//! Formatting calls through function pointers, so ptxas can compute neither the stack nor the registers that a kernel
//! needs. Every kernel that prints or may panic is given the maximum over all formatting in the module: about 64
//! registers for integers and text, and all 255 once any kernel of the module prints a float, which then limits blocks
//! to 256 threads. Printing a float also needs more than the default 1 KiB of stack per thread (`cuCtxSetLimit`; 8 KiB
//! is enough). [`vprintf`] has none of these costs.

use core::ffi::{c_char, c_void};
use core::fmt;

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::text::Text;

/// Calls the system's `vprintf`: C's `printf` with the arguments laid out in memory as in a C struct, and each `float`
/// widened to `double`.
///
/// # Safety
/// `format` must be a zero-terminated string whose conversions match the values that `arguments` points to.
#[gpu_only]
pub unsafe fn vprintf(format: *const c_char, arguments: *mut c_void) -> i32 {
    // SAFETY: the caller upholds this function's contract.
    unsafe { core::arch::nvptx::vprintf(format.cast(), arguments.cast()) }
}

/// Prints formatted text. Up to 255 bytes are printed in one piece; longer text is printed in several pieces, between
/// which other threads may print.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::io::print_fmt(::core::format_args!($($arg)*)) };
}

/// Prints formatted text as [`print!`](crate::print) does, followed by a line break.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::io::print_fmt(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// Prints the arguments of one [`print!`](crate::print), which expands to this call.
#[gpu_only]
#[inline(never)]
pub fn print_fmt(arguments: fmt::Arguments<'_>) {
    let mut text = Text::<256>::new(true);
    // Writing to `Text` cannot fail. After an error in a `Display` implementation the text so far is still printed.
    let _ = fmt::write(&mut text, arguments);
    text.flush();
}
