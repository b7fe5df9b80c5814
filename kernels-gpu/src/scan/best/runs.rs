//! What ends the runs of a scan: nothing in a scan of everything, keys in a scan by key.

/// Where the runs of a scan begin. The *heads* of a lane's `S` times `V` elements are bits: bit `s * V + k` says that a
/// run begins at element `k` of `V`.
pub trait Runs: Copy {
    /// Whether there are several runs. If not, there are no heads.
    const KEYED: bool;
    /// Bytes that say where runs begin, for each element.
    const BYTES: usize;

    /// Whether all of them can be loaded in whole chunks of `W` elements.
    fn in_chunks<const W: usize>(self) -> bool;

    /// The heads of the lane's elements, for a warp's part that begins with element `first` and has `R` rows of chunks
    /// of `W`. `whole` says that all its chunks lie inside, and can be loaded as such.
    ///
    /// # Safety
    /// All lanes of the warp call it together; `scratch` is as for [`gather()`](super::blocked::gather()).
    unsafe fn heads<const W: usize, const R: usize, const V: usize, const S: usize>(
        self,
        first: usize,
        whole: bool,
        scratch: *mut u8,
    ) -> u64;
}

/// All elements are one run.
#[derive(Clone, Copy)]
pub struct OneRun;

impl Runs for OneRun {
    const KEYED: bool = false;
    const BYTES: usize = 0;

    #[inline(always)]
    fn in_chunks<const W: usize>(self) -> bool {
        true
    }
    #[inline(always)]
    unsafe fn heads<const W: usize, const R: usize, const V: usize, const S: usize>(
        self,
        _: usize,
        _: bool,
        _: *mut u8,
    ) -> u64 {
        0
    }
}

/// The heads of neighbours `s` of `V`.
#[inline(always)]
pub const fn of_row<const V: usize>(heads: u64, s: usize) -> u32 {
    heads.wrapping_shr((s * V) as u32) as u32 & ((1 << V) - 1)
}
