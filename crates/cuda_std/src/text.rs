//! Text on the stack, where there is no heap.

use core::ffi::c_char;
use core::fmt;
use core::mem::MaybeUninit;

use crate::io::vprintf;

/// Text on the stack, zero-terminated. When full it is printed, or what does not fit is dropped.
pub(crate) struct Text<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
    len: usize,
    spills: bool,
}

impl<const N: usize> Text<N> {
    /// No text yet. `spills`: whether it is printed when full.
    pub(crate) fn new(spills: bool) -> Self {
        Self { bytes: [const { MaybeUninit::uninit() }; N], len: 0, spills }
    }

    /// The text as C has it.
    pub(crate) fn as_c_str(&mut self) -> *const c_char {
        // `len` stays below `N`: there is room for the zero.
        if let Some(end) = self.bytes.get_mut(self.len) {
            end.write(0);
        }
        self.bytes.as_ptr().cast()
    }

    /// Prints the text and starts anew.
    pub(crate) fn flush(&mut self) {
        let mut text = self.as_c_str();
        // SAFETY: the format takes one zero-terminated text, and `text` is one.
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
            // No panic here: the panic handler comes through this, and a recursion would leave the stack's size
            // unknown. C would take a zero for the end.
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
