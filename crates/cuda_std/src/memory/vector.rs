//! Vectors of 16 bytes, which a thread loads or stores in one instruction.

use crate::launch::Scalar;

/// `N` values that fill 16 bytes and are aligned to 16: four `f32`, two `f64`, sixteen `u8`.
///
/// [`Vector::load`] and [`Vector::store`] are one instruction each. (LLVM may split a plain copy into several.)
///
/// A kernel that is generic over its elements can name vectors of every `N`, in one match arm per size of element: that
/// `N` values fill 16 bytes is checked where a vector is used. The check costs nothing, since the compiler decides it
/// and drops the arms that fail.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Vector<T, const N: usize>(pub [T; N]);

/// The form that LLVM moves in one instruction. It splits an array into elements, whose common alignment is then lost.
#[cfg(target_arch = "nvptx64")]
#[repr(simd)]
struct Register<T, const N: usize>([T; N]);

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
    /// Panics unless `N` values fill 16 bytes. The condition is constant, so a use that satisfies it costs nothing.
    #[inline(always)]
    fn require_filled() {
        assert!(size_of::<T>() * N == 16, "a vector has 16 bytes");
    }

    /// Reads the vector at `at`.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to initialised memory that is not written meanwhile.
    #[inline(always)]
    pub unsafe fn load(at: *const Self) -> Self {
        Self::require_filled();
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller upholds this function's contract; both types are `N` values without padding and have
        // the same alignment.
        unsafe {
            core::mem::transmute_copy(&at.cast::<Register<T, N>>().read())
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            at.read()
        }
    }

    /// Writes the vector to `at`.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to memory that no other thread accesses meanwhile.
    #[inline(always)]
    pub unsafe fn store(self, at: *mut Self) {
        Self::require_filled();
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller upholds this function's contract; both types are `N` values without padding and have
        // the same alignment.
        unsafe {
            at.cast::<Register<T, N>>().write(core::mem::transmute_copy(&self));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            at.write(self);
        }
    }

    /// For `len` values at `first`: the number of values before the first 16-byte boundary, and the number of vectors
    /// after it.
    #[inline(always)]
    pub fn parts(first: *const T, len: usize) -> (usize, usize) {
        Self::require_filled();
        let head = to_boundary(first).min(len);
        (head, (len - head) / N)
    }

    /// Splits `values` into those before the first 16-byte boundary, the vectors, and the remaining values.
    #[inline(always)]
    pub fn split(values: &[T]) -> (&[T], &[Self], &[T]) {
        Self::require_filled();
        // SAFETY: a vector is `N` values without padding, which fill 16 bytes.
        unsafe { split(values) }
    }
}

impl U32x4 {
    /// Splits `values` into those before the first 16-byte boundary, vectors of their bytes as words, and the remaining
    /// values.
    #[inline(always)]
    pub fn split_words<T: Scalar>(values: &[T]) -> (&[T], &[Self], &[T]) {
        const { assert!(16 % size_of::<T>() == 0, "a vector would end inside a value") };
        // SAFETY: scalars have no padding, and any initialised bytes are valid words.
        unsafe { split(values) }
    }
}

/// Number of values from `first` to the first 16-byte boundary.
#[inline(always)]
fn to_boundary<T>(first: *const T) -> usize {
    const { assert!(size_of::<T>() == align_of::<T>(), "a value aligned to less than its size may miss the boundary") };
    (first.addr().wrapping_neg() % 16) / size_of::<T>()
}

/// Splits `values` as [`Vector::split`] does, into any type of 16 bytes.
///
/// # Safety
/// `V` must have a size and an alignment of 16 bytes, the size of `T` must divide 16, and any `T`s that fill a `V` must
/// be a valid `V`.
#[inline(always)]
unsafe fn split<T, V>(values: &[T]) -> (&[T], &[V], &[T]) {
    // `align_to` would not do: if there is no vector, it returns a dangling pointer, and LLVM can then no longer derive
    // that the vectors belong to a kernel's parameter, which it may read through the read-only cache.
    let (first, boundary, each) = (values.as_ptr(), to_boundary(values.as_ptr()), 16 / size_of::<T>());
    let head = boundary.min(values.len());
    let vectors = (values.len() - head) / each;
    // SAFETY: the three parts follow each other in `values`; the caller upholds the conditions on `V`; and the boundary
    // is aligned, even if it lies beyond the end and there are no vectors.
    unsafe {
        (
            core::slice::from_raw_parts(first, head),
            core::slice::from_raw_parts(first.wrapping_add(boundary).cast::<V>(), vectors),
            core::slice::from_raw_parts(first.add(head + vectors * each), values.len() - head - vectors * each),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_parts_are_the_whole_in_order() {
        let values: [u32; 64] = core::array::from_fn(|i| i as u32);
        for start in 0..8 {
            for len in 0..40 {
                let slice = &values[start..start + len];
                let (head, vectors, tail) = U32x4::split(slice);
                let joined = head.iter().chain(vectors.iter().flat_map(|v| &v.0)).chain(tail);
                assert!(joined.eq(slice), "{start} {len}");
                assert!(head.len() < 4 && tail.len() < 4, "{start} {len}");
                assert_eq!(U32x4::parts(slice.as_ptr(), len), (head.len(), vectors.len()), "{start} {len}");
            }
        }
    }

    #[test]
    fn words_are_the_bytes_between_boundaries() {
        let bytes: [u8; 80] = core::array::from_fn(|i| i as u8);
        for start in 0..16 {
            for len in 0..=80 - start {
                let (head, vectors, tail) = U32x4::split_words(&bytes[start..start + len]);
                let words = vectors.iter().flat_map(|v| v.0.iter().flat_map(|word| word.to_ne_bytes()));
                let joined = head.iter().copied().chain(words).chain(tail.iter().copied());
                assert!(joined.eq(bytes[start..start + len].iter().copied()), "{start} {len}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "16 bytes")]
    fn other_sizes_are_rejected_where_they_are_used() {
        Vector::<u64, 4>::split(&[]);
    }
}
