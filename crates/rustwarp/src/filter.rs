//! Items shared by the convolutions of one and of two axes.

use kernels_gpu::filter;

/// Largest number of elements along an axis, for which positions outside it on both sides fit in 32 bits.
pub const MAX_AXIS: usize = 1 << 30;

/// Values assumed for the elements outside the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Border {
    /// Zeros.
    #[default]
    Zero,
    /// The nearest element.
    Clamp,
    /// The mirror image about the edge element, which is not repeated.
    Mirror,
}

impl Border {
    /// The number that kernels take for this border. It is public for the ladders.
    #[doc(hidden)]
    pub fn for_kernels(self) -> u32 {
        match self {
            Self::Zero => filter::ZERO,
            Self::Clamp => filter::CLAMP,
            Self::Mirror => filter::MIRROR,
        }
    }
}
