//! The device's panic handler: prints the message, the source location and the thread, then traps.

use core::ffi::{c_char, c_void};
use core::fmt;
use core::panic::PanicInfo;

use crate::io::vprintf;
use crate::text::Text;
use crate::thread::{block_idx, thread_idx};

/// Arguments of the report's format, laid out as `vprintf` reads them.
#[repr(C)]
struct Report {
    file: *const c_char,
    line: u32,
    column: u32,
    block: [u32; 3],
    thread: [u32; 3],
    message: *const c_char,
}

#[panic_handler]
#[cold]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut message = Text::<256>::new(false);
    // A message that does not fit is cut off, so that the report is printed in one piece: other threads could print
    // between two pieces.
    let _ = fmt::write(&mut message, format_args!("{}", info.message()));
    let (block, thread) = (block_idx(), thread_idx());
    let place = info.location();
    let mut report = Report {
        file: place.map_or(c"?".as_ptr(), |place| place.file_as_c_str().as_ptr()),
        line: place.map_or(0, |place| place.line()),
        column: place.map_or(0, |place| place.column()),
        block: [block.x, block.y, block.z],
        thread: [thread.x, thread.y, thread.z],
        message: message.as_c_str(),
    };
    let format = c"panicked at %s:%u:%u in block (%u,%u,%u) thread (%u,%u,%u):\n%s\n";
    // SAFETY: the report's fields match the format's conversions in order, and both strings are zero-terminated.
    unsafe { vprintf(format.as_ptr(), (&raw mut report).cast::<c_void>()) };
    // SAFETY: `trap` ends the launch and accesses no memory.
    unsafe { core::arch::nvptx::trap() }
}
