//! Sums of products of matrices, in the registers of a warpgroup.

use super::{Bf16, E4m3, F16, S8, Tf32, Tile};
use cuda_std_macros::gpu_only;

/// A type of sums.
pub trait Sum: Copy {}
impl Sum for f32 {}
impl Sum for i32 {}

/// A matrix of sums, f32 or i32, with 64 rows and `2 * R` columns over the registers of a warpgroup.
///
/// The thread `t` of the warpgroup, with `warp = t / 32`, `g = t % 32 / 4` and `c = t % 4`, holds, for every block `b`
/// of 8 columns, in elements `4 b` to `4 b + 3`: row `16 warp + g`, columns `8 b + 2 c` and the next; then the same
/// columns of the row 8 further down.
#[derive(Clone, Copy, Debug)]
pub struct Sums<const R: usize, T = f32>([T; R]);

impl<const R: usize, T: Sum> Sums<R, T> {
    /// Sums that are all 0.
    #[must_use]
    #[inline(always)]
    pub fn zero() -> Self {
        // SAFETY: 0 is a valid f32 and i32. A loop over the elements would keep the array in local memory.
        Self(unsafe { core::mem::zeroed() })
    }

    /// The thread's elements. Products that have not been waited for make them undefined.
    #[must_use]
    #[inline(always)]
    pub const fn get(&self) -> &[T; R] {
        &self.0
    }

    /// The thread's elements, to write.
    #[must_use]
    #[inline(always)]
    pub const fn get_mut(&mut self) -> &mut [T; R] {
        &mut self.0
    }
}

macro_rules! sums {
    ($registers:literal $columns:literal: $first:literal $($register:literal)*) => {
        impl Sums<$registers> {
            sums!(@product add_f16 16 F16 "f16" $columns: $first $($register)*);
            sums!(@product add_bf16 16 Bf16 "bf16" $columns: $first $($register)*);
            sums!(@along add_tf32 8 Tf32 "f32.tf32.tf32" "f32, of which the last 13 bits are not read," ", 1, 1"
                $columns: $first $($register)*);
            sums!(@along add_e4m3 32 E4m3 "f32.e4m3.e4m3" "floats of 8 bits with 3 of a fraction" ", 1, 1"
                $columns: $first $($register)*);
            sums!(@order $first $($register)*);
        }
        impl Sums<$registers, i32> {
            sums!(@along add_s8 32 S8 "s32.s8.s8" "i8" "" $columns: $first $($register)*);
            sums!(@order $first $($register)*);
        }
    };
    (@order $first:literal $($register:literal)*) => {
        /// Orders accesses of the threads to the sums, by whatever has set them, before the products that follow.
        ///
        /// # Safety
        /// All threads of the warpgroup call it together.
        #[gpu_only]
        pub unsafe fn fence(&mut self) {
            // SAFETY: the instruction only orders. The registers are named so that nothing sets them later.
            unsafe { sums!(@named self "wgmma.fence.sync.aligned;" $first $($register)*) }
        }

        /// Waits for all products of the warpgroup; the sums can then be used.
        ///
        /// # Safety
        /// All threads of the warpgroup call it together.
        #[gpu_only]
        pub unsafe fn wait(&mut self) {
            // SAFETY: the instruction only waits. The registers are named so that no use of them moves up.
            unsafe { sums!(@named self "wgmma.wait_group.sync.aligned 0;" $first $($register)*) }
        }
    };
    (@named $self:ident $instruction:literal $first:literal $($register:literal)*) => {
        core::arch::asm!(
            concat!($instruction, " // {", $first, "}", $(" {", $register, "}",)*),
            inout(reg32) $self.0[$first], $(inout(reg32) $self.0[$register],)*
            options(nostack, preserves_flags))
    };
    (@product $name:ident $depth:literal $element:ident $type:literal $columns:literal:
        $first:literal $($register:literal)*) => {
        #[doc = concat!("Starts the product of a factor with 64 rows and one with ", $columns, " columns, both with ",
            $depth, " of the depth and of `", $type, "`, and adds it to the sums, or replaces them unless `add`.")]
        ///
        /// Products are exact; a sum of products is f32, rounded toward zero at steps that the hardware chooses.
        ///
        /// # Safety
        #[doc = concat!("All threads of the warpgroup call it together, after [`fence`](Self::fence); 64 rows of `a` \
            and ", $columns, " of `b` (a row for each column of the product) are in shared memory, written by bulk \
            copies or before a proxy fence, and stay unchanged until the product has been waited for.")]
        #[gpu_only]
        pub unsafe fn $name<const A: bool, const B: bool>(
            &mut self,
            a: Tile<$element, A>,
            b: Tile<$element, B>,
            add: bool,
        ) {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred add; setp.ne.b32 add, {add}, 0;",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $columns, "k", $depth, ".f32.", $type, ".", $type),
                    concat!("{{", "{", $first, "}", $(", {", $register, "}",)* "}},"),
                    "{a}, {b}, add, 1, 1, {across_a}, {across_b}; }}",
                    inout(reg32) self.0[$first], $(inout(reg32) self.0[$register],)*
                    a = in(reg64) a.0, b = in(reg64) b.0, add = in(reg32) u32::from(add),
                    across_a = const A as u32, across_b = const B as u32,
                    options(nostack, preserves_flags));
            }
        }
    };
    (@along $name:ident $depth:literal $element:ident $types:literal $what:literal $signs:literal $columns:literal:
        $first:literal $($register:literal)*) => {
        #[doc = concat!("Starts the product of a factor with 64 rows and one with ", $columns, " columns, both with ",
            $depth, " of the depth and of ", $what, " and adds it to the sums, or replaces them unless `add`.")]
        ///
        /// Products are exact. Sums of integers wrap; those of floats are f32, of which the hardware keeps 14 bits in
        /// each step with factors of 8 bits, and rounds toward zero.
        ///
        /// # Safety
        #[doc = concat!("All threads of the warpgroup call it together, after [`fence`](Self::fence); 64 rows of `a` \
            and ", $columns, " of `b` (a row for each column of the product) are in shared memory, written by bulk \
            copies or before a proxy fence, and stay unchanged until the product has been waited for.")]
        #[gpu_only]
        pub unsafe fn $name(&mut self, a: Tile<$element>, b: Tile<$element>, add: bool) {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred add; setp.ne.b32 add, {add}, 0;",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $columns, "k", $depth, ".", $types),
                    concat!("{{", "{", $first, "}", $(", {", $register, "}",)* "}},"),
                    concat!("{a}, {b}, add", $signs, "; }}"),
                    inout(reg32) self.0[$first], $(inout(reg32) self.0[$register],)*
                    a = in(reg64) a.0, b = in(reg64) b.0, add = in(reg32) u32::from(add),
                    options(nostack, preserves_flags));
            }
        }
    };
}
sums!(32 64:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);
sums!(64 128:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
    41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
);
sums!(96 192:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
    41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77
    78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
);
sums!(128 256:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
    41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77
    78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110
    111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
);
