//! What one lane moves at most in one instruction.

/// 16 bytes: `W` neighbouring elements on a 16-byte boundary. A warp's load of one chunk per lane is 512 neighbouring bytes.
///
/// Unlike [`cuda_std::memory::Vector`] it can be named for a `W` that does not fit the type, as long as nothing is run with it:
/// kernels that are generic over the element choose `W` by its size.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Chunk<T, const W: usize>(pub [T; W]);
