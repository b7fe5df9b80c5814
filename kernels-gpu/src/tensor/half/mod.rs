//! Products of matrices of 16-bit floats on tensor cores: `C = A * B`, sums in f32, C rounded to the factors' type.
//!
//! One kernel, [`product`], for tiles of four widths. Tensor maps say how the matrices lie, so that no thread computes
//! addresses: copies and stores at the edges of a matrix are cut by the hardware. A factor may be stored transposed;
//! the tensor cores read it as it is.
//!
//! Sources: NVIDIA CUTLASS and P. Shah's fast.cu (warpgroups that copy and that multiply, persistent blocks, stores by
//! tensor maps); NVIDIA's "Parallel Thread Execution" (wgmma, tensor maps).

pub mod pad;
pub mod product;

mod ring;

use cuda_std::launch::Instance;
use cuda_std::math::{pack_bf16, pack_f16, unpack_bf16, unpack_f16};
use cuda_std::warpgroup::{Sums, Tile};

pub use ring::{COPY_ROWS, DEPTH, ROWS};

/// A type of 16-bit floats, of which matrices hold the bits.
pub trait Half: Instance + Copy + 'static {
    /// Rounds two numbers to nearest and packs them, `low` into the low half.
    fn pack(low: f32, high: f32) -> u32;

    /// The number with these bits.
    fn widen(bits: u16) -> f32;

    /// Starts the product of two tiles.
    ///
    /// # Safety
    /// As for [`Sums::add_f16`].
    unsafe fn add<S: Accumulator, const A: bool, const B: bool>(sums: &mut S, a: Tile<A>, b: Tile<B>);
}

/// IEEE 754's binary16.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// The upper half of an f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Instance for F16 {
    const NAME: &'static str = "f16";
}

impl Instance for Bf16 {
    const NAME: &'static str = "bf16";
}

impl Half for F16 {
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_f16(low, high)
    }
    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_f16(bits.into())[0]
    }
    #[inline(always)]
    unsafe fn add<S: Accumulator, const A: bool, const B: bool>(sums: &mut S, a: Tile<A>, b: Tile<B>) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { sums.add_f16(a, b) };
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
    #[inline(always)]
    unsafe fn add<S: Accumulator, const A: bool, const B: bool>(sums: &mut S, a: Tile<A>, b: Tile<B>) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { sums.add_bf16(a, b) };
    }
}

/// [`Sums`] of 64 rows and any number of columns.
pub trait Accumulator {
    /// Columns of the tile.
    const COLUMNS: u32;

    /// Stages of the ring: as many as shared memory has room for.
    const STAGES: u32;

    /// Sums that are all 0.
    fn zero() -> Self;

    /// The thread's element.
    fn get(&self, element: usize) -> f32;

    /// [`Sums::fence`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn fence(&mut self);

    /// [`Sums::wait`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn wait(&mut self);

    /// [`Sums::add_f16`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn add_f16<const A: bool, const B: bool>(&mut self, a: Tile<A>, b: Tile<B>);

    /// [`Sums::add_bf16`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn add_bf16<const A: bool, const B: bool>(&mut self, a: Tile<A>, b: Tile<B>);
}

macro_rules! accumulator {
    ($registers:literal $columns:literal $stages:literal) => {
        impl Accumulator for Sums<$registers> {
            const COLUMNS: u32 = $columns;
            const STAGES: u32 = $stages;

            #[inline(always)]
            fn zero() -> Self {
                Self::zero()
            }
            #[inline(always)]
            fn get(&self, element: usize) -> f32 {
                self.get()[element]
            }
            #[inline(always)]
            unsafe fn fence(&mut self) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::fence(self) };
            }
            #[inline(always)]
            unsafe fn wait(&mut self) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::wait(self) };
            }
            #[inline(always)]
            unsafe fn add_f16<const A: bool, const B: bool>(&mut self, a: Tile<A>, b: Tile<B>) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::add_f16(self, a, b, true) };
            }
            #[inline(always)]
            unsafe fn add_bf16<const A: bool, const B: bool>(&mut self, a: Tile<A>, b: Tile<B>) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::add_bf16(self, a, b, true) };
            }
        }
    };
}
accumulator!(128 256 4);
accumulator!(96 192 4);
accumulator!(64 128 6);
accumulator!(32 64 8);
