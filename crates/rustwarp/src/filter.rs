//! What convolutions of one and of two axes share.

use kernels_gpu::filter;

/// Most elements along an axis: positions beyond the border on both sides fit in 32 bits.
pub const MAX_AXIS: usize = 1 << 30;

/// What counts as the elements beyond the border.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Border {
    /// Zeros.
    #[default]
    Zero,
    /// The nearest element.
    Clamp,
    /// The mirror image, whose mirror is the border's element.
    Mirror,
}

impl Border {
    /// As kernels take it.
    pub fn for_kernels(self) -> u32 {
        match self {
            Self::Zero => filter::ZERO,
            Self::Clamp => filter::CLAMP,
            Self::Mirror => filter::MIRROR,
        }
    }
}
