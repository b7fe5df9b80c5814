//! Frames: activations of functions.

use crate::memory::address::STACK_START;
use crate::program::Function;
use crate::registers::Registers;
use std::ops::{Deref, DerefMut};

/// The registers of a frame, in a box because they are taken out and put back whenever a warp runs.
#[derive(Debug, Default, Hash)]
pub struct Held(Option<Box<Registers>>);

static NONE: Registers = Registers { w32: Vec::new(), w64: Vec::new(), pred: Vec::new(), shadow: None };

impl From<Registers> for Held {
    fn from(registers: Registers) -> Self {
        Self(Some(Box::new(registers)))
    }
}

impl Deref for Held {
    type Target = Registers;
    #[inline]
    fn deref(&self) -> &Registers {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Held {
    #[inline]
    fn deref_mut(&mut self) -> &mut Registers {
        self.0.get_or_insert_default()
    }
}

/// One activation of a function, shared by the lanes that called it together.
#[derive(Debug, Default, Hash)]
pub struct Frame {
    pub function: u32,
    pub registers: Held,
    /// Start of its bytes in the threads' local memory.
    pub base: u64,
    /// End of its bytes, including `alloca`.
    pub top: u64,
    /// Lanes that have not returned; 0 marks a free entry.
    pub lanes: u32,
    /// Calling frame and the call's pc; `None` for the kernel itself.
    pub caller: Option<(u32, u32)>,
    /// Number of bytes that gaps between variables add to this frame and those that led to it.
    pub added: u64,
    /// Call depth.
    pub depth: u32,
}

/// Returns where a kernel's frame starts.
pub fn first_frame(function: &Function) -> u64 {
    STACK_START.next_multiple_of(function.frame_align)
}
