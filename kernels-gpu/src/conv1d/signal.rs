//! A signal whose length was compared with its frame once, so that no access needs a test of its own.

use super::Frame;
use crate::filter::Sample;

/// A signal with as many elements as its frame says, at least one.
#[derive(Clone, Copy)]
pub struct Signal<'a, T> {
    elements: &'a [T],
    frame: Frame,
}

impl<'a, T: Sample> Signal<'a, T> {
    /// The signal of a frame, or `None` if the frame has no element or not as many as `elements`.
    #[inline(always)]
    pub fn new(elements: &'a [T], frame: Frame) -> Option<Self> {
        let fits = elements.len() == frame.samples as usize * frame.channels as usize && !elements.is_empty();
        if fits { Some(Self { elements, frame }) } else { None }
    }

    /// The element at a place in memory that may be before the signal or after it; by the border's rule where it is so
    /// by no more than the mask reaches.
    #[inline(always)]
    pub fn at(&self, place: i32) -> T {
        match self.frame.source_at(place) {
            // SAFETY: of a frame that has elements, `source_at` gives a place in the signal.
            Some(at) => unsafe { *self.elements.get_unchecked(at as usize) },
            None => T::ZERO,
        }
    }
}
