//! Printing from kernels, without a heap.
//!
//! [`print!`](crate::print) and [`println!`](crate::println) format into a buffer on the stack and hand it to the
//! system's `vprintf`. The text of a launch appears when the host next waits for the device; with very much of it (1
//! MiB unless the host asks for more) the oldest is lost.
//!
//! What it costs: formatting goes through function pointers, so ptxas knows neither the stack that a kernel needs nor
//! its registers. It takes the worst of all formatting in the module for every kernel that prints or may panic: about
//! 64 registers with integers and texts, all 255 once any kernel of the module prints a float, and then blocks of more
//! than 256 threads don't launch. Printing a float also needs more than the 1 KiB of stack that a thread has by default
//! (`cuCtxSetLimit`; 8 KiB is enough). [`vprintf`] has none of these costs.

use core::ffi::{c_char, c_void};
use core::fmt;

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::text::Text;

/// The system's `vprintf`: C's `printf`, with the arguments laid out in memory as in a C struct, `float` widened to
/// `double`.
///
/// # Safety
/// `format` must be a zero-terminated text whose conversions match what `arguments` points to.
#[gpu_only]
pub unsafe fn vprintf(format: *const c_char, arguments: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { core::arch::nvptx::vprintf(format.cast(), arguments.cast()) }
}

/// Prints formatted text. Up to 255 bytes stay in one piece; longer text is printed in several, between which other
/// threads may print.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::io::print_fmt(::core::format_args!($($arg)*)) };
}

/// [`print!`](crate::print), and a new line.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::io::print_fmt(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// What [`print!`](crate::print) calls.
#[gpu_only]
#[inline(never)]
pub fn print_fmt(arguments: fmt::Arguments<'_>) {
    let mut text = Text::<256>::new(true);
    // Writing to `Text` does not fail; a `Display` that does has printed what it could.
    let _ = fmt::write(&mut text, arguments);
    text.flush();
}
