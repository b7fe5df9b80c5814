//! Vectors of 16 bytes, which a thread loads or stores in one instruction.

use crate::launch::Scalar;

/// `N` values that fill 16 bytes and are aligned to 16: four `f32`, two `f64`, sixteen `u8`.
///
/// [`Vector::load`] and [`Vector::store`] are one instruction. (A plain copy is that too most of the time, but LLVM may take it apart.)
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Vector<T, const N: usize>(pub [T; N]);

/// Four `f32`.
pub type F32x4 = Vector<f32, 4>;
/// Four `u32`.
pub type U32x4 = Vector<u32, 4>;
/// Four `i32`.
pub type I32x4 = Vector<i32, 4>;
/// Two `f64`.
pub type F64x2 = Vector<f64, 2>;
/// Two `u64`.
pub type U64x2 = Vector<u64, 2>;
/// Two `i64`.
pub type I64x2 = Vector<i64, 2>;

impl<T: Scalar, const N: usize> Vector<T, N> {
    const FILLED: () = assert!(size_of::<T>() * N == 16, "a vector has 16 bytes");

    /// Reads the vector at `at`.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to initialised memory that nobody writes meanwhile.
    #[inline(always)]
    pub unsafe fn load(at: *const Self) -> Self {
        const { Self::FILLED };
        // SAFETY: the caller's promise. Element by element: LLVM joins these loads, and keeps the type of the elements.
        Self(core::array::from_fn(|i| unsafe { (*at).0[i] }))
    }

    /// Writes the vector to `at`.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to memory that nobody else accesses meanwhile.
    #[inline(always)]
    pub unsafe fn store(self, at: *mut Self) {
        const { Self::FILLED };
        let mut i = 0;
        while i < N {
            // SAFETY: the caller's promise.
            unsafe { (*at).0[i] = self.0[i] };
            i += 1;
        }
    }

    /// `values` as vectors: first what lies before the first 16-byte boundary, then the vectors, then what is left.
    #[inline(always)]
    pub fn split(values: &[T]) -> (&[T], &[Self], &[T]) {
        const { Self::FILLED };
        // SAFETY: a vector is `N` values without padding, and any bytes of scalars are valid.
        unsafe { values.align_to() }
    }
}
