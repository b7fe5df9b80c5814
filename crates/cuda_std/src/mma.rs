//! Products of small matrices on the tensor cores, by one warp at a time: `mma.sync`, on every GPU since sm_80. PTX
//! with these instructions is for sm_80 and later, also in a build for an earlier architecture. For the tensor cores of
//! sm_90 at their full rate there is [`crate::warpgroup`].
//!
//! A product adds a [`Left`] factor of 16 rows times a [`Right`] factor of 8 columns to [`Sums`]. Both factors have 32
//! bytes of the depth: 16 elements of [`F16`] and [`Bf16`], 8 of [`Tf32`], 32 of [`S8`]. Each lane of the warp holds a
//! part of each matrix in its registers. With `g = lane / 4` and `t = lane % 4`:
//!
//! ```text
//! Left, register 0: row g,     bytes 4t … 4t + 3 of the depth      Right, register 0: column g, bytes 4t … 4t + 3
//!                1: row g + 8, the same bytes                                     1: column g, bytes 16 + 4t …
//!                2: row g,     bytes 16 + 4t …                     Sums, 0: row g,     column 2t
//!                3: row g + 8, bytes 16 + 4t …                           1: row g,     column 2t + 1
//!                                                                        2: row g + 8, column 2t
//!                                                                        3: row g + 8, column 2t + 1
//! ```
//!
//! Element type, side and sums of a factor are parts of its Rust type:
//!
//! ```
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! unsafe fn product(sums: &mut Sums<f32>, left: Left<F16>, right: Right<F16>) {
//!     unsafe { sums.add(left, right) };
//! }
//! ```
//!
//! Factors of two types, a left factor in the place of a right one, sums of another type, and a fragment of another
//! number of registers do not compile:
//!
//! ```compile_fail,E0308
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! unsafe fn product(sums: &mut Sums<f32>, left: Left<F16>, right: Right<Bf16>) {
//!     unsafe { sums.add(left, right) };
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! unsafe fn product(sums: &mut Sums<f32>, left: Left<F16>, right: Right<F16>) {
//!     unsafe { sums.add(left, left) };
//! }
//! ```
//!
//! ```compile_fail,E0271
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! unsafe fn product(sums: &mut Sums<f32>, left: Left<S8>, right: Right<S8>) {
//!     unsafe { sums.add(left, right) };
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! fn right(registers: [u32; 4]) -> Right<F16> {
//!     Right::from_registers(registers)
//! }
//! ```
//!
//! Nor does a load that turns elements other than those of 16 bits:
//!
//! ```compile_fail,E0599
//! # use cuda_std::memory::SharedAddress;
//! # use cuda_std::mma::{Bf16, F16, Left, Right, S8, Sums};
//! unsafe fn left(at: SharedAddress) -> Left<S8> {
//!     unsafe { Left::<S8>::load_across(at) }
//! }
//! ```
//!
//! Source: NVIDIA, "Parallel Thread Execution", sections "Matrix multiply-accumulate operation using mma instruction"
//! and "ldmatrix".

use crate::memory::SharedAddress;
use core::marker::PhantomData;
use cuda_std_macros::gpu_only;

/// IEEE 754's binary16; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16;

/// The upper half of an f32; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bf16;

/// f32, of which the last 13 bits are not read; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tf32;

/// Signed bytes; sums are i32, and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct S8;

/// A type of factors.
pub trait Factor: Copy {
    /// The type of the sums.
    type Sum: Copy;

    /// Bytes of an element.
    const SIZE: u32;

    /// `sums + left * right`.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[doc(hidden)]
    unsafe fn multiply_add(sums: [Self::Sum; 4], left: [u32; 4], right: [u32; 2]) -> [Self::Sum; 4];
}

/// Types with elements of 16 bits, which [`Left::load_across`] and [`Right::load_two_across`] turn while they load.
pub trait Half: Factor {}
impl Half for F16 {}
impl Half for Bf16 {}

macro_rules! factor {
    ($($t:ident $sum:ident $size:literal $instruction:literal)*) => { $(
        impl Factor for $t {
            type Sum = $sum;
            const SIZE: u32 = $size;

            #[gpu_only]
            unsafe fn multiply_add(sums: [$sum; 4], left: [u32; 4], right: [u32; 2]) -> [$sum; 4] {
                let [mut p, mut q, mut r, mut s] = sums;
                // SAFETY: the instruction uses registers only, and by contract all lanes reach it. It is not `pure`, so
                // that it stays where the kernel has it: between the loads of other registers.
                unsafe {
                    core::arch::asm!(
                        concat!("mma.sync.aligned.", $instruction,
                            " {{{p}, {q}, {r}, {s}}}, {{{a}, {b}, {c}, {d}}}, {{{e}, {f}}}, {{{p}, {q}, {r}, {s}}};"),
                        p = inout(reg32) p, q = inout(reg32) q, r = inout(reg32) r, s = inout(reg32) s,
                        a = in(reg32) left[0], b = in(reg32) left[1], c = in(reg32) left[2], d = in(reg32) left[3],
                        e = in(reg32) right[0], f = in(reg32) right[1],
                        options(nomem, nostack, preserves_flags)
                    );
                }
                [p, q, r, s]
            }
        }
    )* };
}
factor! {
    F16 f32 2 "m16n8k16.row.col.f32.f16.f16.f32"
    Bf16 f32 2 "m16n8k16.row.col.f32.bf16.bf16.f32"
    Tf32 f32 4 "m16n8k8.row.col.f32.tf32.tf32.f32"
    S8 i32 1 "m16n8k32.row.col.s32.s8.s8.s32"
}

/// A factor of 16 rows and 32 bytes of the depth, over the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Left<T>([u32; 4], PhantomData<T>);

impl<T: Factor> Left<T> {
    /// The factor of which this lane has these registers: see the module.
    #[must_use]
    #[inline(always)]
    pub const fn from_registers(registers: [u32; 4]) -> Self {
        Self(registers, PhantomData)
    }

    /// Loads the factor from shared memory, where it lies along the depth. Lane `l` gives the address of row `l % 16`,
    /// from byte `l / 16 * 16` of the depth on.
    ///
    /// # Safety
    /// That of [`SharedAddress::load_matrices`].
    #[must_use]
    #[inline(always)]
    pub unsafe fn load(at: SharedAddress) -> Self {
        // SAFETY: the caller upholds this function's contract.
        Self::from_registers(unsafe { at.load_matrices() })
    }
}

impl<T: Half> Left<T> {
    /// Loads the factor from shared memory, where it lies along the rows. Lane `l` gives the address of element
    /// `l / 16 * 8 + l % 8` of the depth, from row `l / 8 % 2 * 8` on.
    ///
    /// # Safety
    /// That of [`SharedAddress::load_matrices`].
    #[must_use]
    #[inline(always)]
    pub unsafe fn load_across(at: SharedAddress) -> Self {
        // SAFETY: the caller upholds this function's contract.
        Self::from_registers(unsafe { at.load_matrices_transposed() })
    }
}

/// A factor of 8 columns and 32 bytes of the depth, over the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Right<T>([u32; 2], PhantomData<T>);

impl<T: Factor> Right<T> {
    /// The factor of which this lane has these registers: see the module.
    #[must_use]
    #[inline(always)]
    pub const fn from_registers(registers: [u32; 2]) -> Self {
        Self(registers, PhantomData)
    }

    /// Loads two factors, of 16 neighbouring columns, from shared memory, where they lie along the depth. Lane `l`
    /// gives the address of column `l / 16 * 8 + l % 8`, from byte `l / 8 % 2 * 16` of the depth on.
    ///
    /// # Safety
    /// That of [`SharedAddress::load_matrices`].
    #[must_use]
    #[inline(always)]
    pub unsafe fn load_two(at: SharedAddress) -> [Self; 2] {
        // SAFETY: the caller upholds this function's contract.
        let [a, b, c, d] = unsafe { at.load_matrices() };
        [Self::from_registers([a, b]), Self::from_registers([c, d])]
    }
}

impl<T: Half> Right<T> {
    /// Loads two factors, of 16 neighbouring columns, from shared memory, where they lie along the columns. Lane `l`
    /// gives the address of element `l % 16` of the depth, from column `l / 16 * 8` on.
    ///
    /// # Safety
    /// That of [`SharedAddress::load_matrices`].
    #[must_use]
    #[inline(always)]
    pub unsafe fn load_two_across(at: SharedAddress) -> [Self; 2] {
        // SAFETY: the caller upholds this function's contract.
        let [a, b, c, d] = unsafe { at.load_matrices_transposed() };
        [Self::from_registers([a, b]), Self::from_registers([c, d])]
    }
}

/// Sums of products, f32 or i32, with 16 rows and 8 columns over the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Sums<S>([S; 4]);

impl<S: Copy> Sums<S> {
    /// The sums of which this lane has these elements: see the module.
    #[must_use]
    #[inline(always)]
    pub const fn from_registers(registers: [S; 4]) -> Self {
        Self(registers)
    }

    /// This lane's elements: see the module.
    #[must_use]
    #[inline(always)]
    pub const fn registers(self) -> [S; 4] {
        self.0
    }

    /// Adds the product of two factors. Products of elements are exact. Sums of integers wrap; those of floats are f32,
    /// which the hardware rounds toward zero, in an order that it chooses and that is the same in every run.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub unsafe fn add<T: Factor<Sum = S>>(&mut self, left: Left<T>, right: Right<T>) {
        // SAFETY: the caller upholds this function's contract.
        self.0 = unsafe { T::multiply_add(self.0, left.0, right.0) };
    }
}
