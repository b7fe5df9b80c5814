//! Formatted text in a buffer on the stack: kernels have no heap.

use core::ffi::c_char;
use core::fmt;
use core::mem::MaybeUninit;

use crate::io::vprintf;

/// A string buffer on the stack. When full it is either printed and emptied, or drops further text.
pub(crate) struct Text<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
    len: usize,
    spills: bool,
}

impl<const N: usize> Text<N> {
    /// An empty buffer. `spills`: whether it is printed when full.
    pub(crate) fn new(spills: bool) -> Self {
        Self { bytes: [const { MaybeUninit::uninit() }; N], len: 0, spills }
    }

    /// The text as a zero-terminated C string.
    pub(crate) fn as_c_str(&mut self) -> *const c_char {
        // `len` stays below `N`: there is room for the zero.
        if let Some(end) = self.bytes.get_mut(self.len) {
            end.write(0);
        }
        self.bytes.as_ptr().cast()
    }

    /// Prints the text and empties the buffer.
    pub(crate) fn flush(&mut self) {
        let mut text = self.as_c_str();
        // SAFETY: the format takes one zero-terminated string, and `text` points to one.
        unsafe { vprintf(c"%s".as_ptr(), (&raw mut text).cast()) };
        self.len = 0;
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len + 1 >= N && self.spills {
                self.flush();
            }
            // This code must not panic: the panic handler calls it, and with a recursion ptxas could not compute the
            // size of the stack. A zero byte is left out since it would end the C string.
            if self.len + 1 < N && byte != 0 {
                if let Some(place) = self.bytes.get_mut(self.len) {
                    place.write(byte);
                    self.len += 1;
                }
            }
        }
        Ok(())
    }
}
