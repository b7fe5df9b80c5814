//! Accesses to shared memory by addresses of 32 bits, of words and of whole matrices.

use cuda_std_macros::gpu_only;

/// An address in shared memory. It has 32 bits, so arithmetic on it costs half of what it costs on a generic pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAddress(pub(crate) u32);

impl SharedAddress {
    /// The address that `at` points to.
    ///
    /// # Safety
    /// `at` must point into shared memory.
    #[must_use]
    #[gpu_only]
    pub unsafe fn of<T>(at: *const T) -> Self {
        let address;
        // SAFETY: the instructions are arithmetic only; by contract `at` points into shared memory.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 shared; cvta.to.shared.u64 shared, {at}; cvt.u32.u64 {address}, shared; }}",
                at = in(reg64) at, address = out(reg32) address, options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(address)
    }

    /// Reads a `T` of 4, 8 or 16 bytes from this address.
    ///
    /// # Safety
    /// The address must be a multiple of the size, and hold a `T` that no thread writes at the same time.
    #[must_use]
    #[gpu_only]
    pub unsafe fn load<T: Copy>(self) -> T {
        const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "shared memory is read by 4, 8 or 16 bytes") };
        // SAFETY: the caller upholds this function's contract, and the bits are those of a `T`.
        unsafe {
            if size_of::<T>() == 4 {
                let bits: u32;
                core::arch::asm!("ld.shared.b32 {bits}, [{at}];", bits = out(reg32) bits, at = in(reg32) self.0,
                    options(readonly, nostack, preserves_flags));
                core::mem::transmute_copy(&bits)
            } else if size_of::<T>() == 16 {
                let (low, high): (u64, u64);
                core::arch::asm!("ld.shared.v2.b64 {{{low}, {high}}}, [{at}];", low = out(reg64) low,
                    high = out(reg64) high, at = in(reg32) self.0, options(readonly, nostack, preserves_flags));
                core::mem::transmute_copy(&[low, high])
            } else {
                let bits: u64;
                core::arch::asm!("ld.shared.b64 {bits}, [{at}];", bits = out(reg64) bits, at = in(reg32) self.0,
                    options(readonly, nostack, preserves_flags));
                core::mem::transmute_copy(&bits)
            }
        }
    }

    /// Writes a `T` of 4, 8 or 16 bytes to this address.
    ///
    /// # Safety
    /// The address must be a multiple of the size, and nothing else accesses the bytes at the same time.
    #[gpu_only]
    pub unsafe fn store<T: Copy>(self, value: T) {
        const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "shared memory is written by 4, 8 or 16 bytes") };
        // SAFETY: the caller upholds this function's contract, and the bits are those of a `T`.
        unsafe {
            if size_of::<T>() == 4 {
                let bits: u32 = core::mem::transmute_copy(&value);
                core::arch::asm!("st.shared.b32 [{at}], {bits};", at = in(reg32) self.0, bits = in(reg32) bits,
                    options(nostack, preserves_flags));
            } else if size_of::<T>() == 16 {
                let [low, high]: [u64; 2] = core::mem::transmute_copy(&value);
                core::arch::asm!("st.shared.v2.b64 [{at}], {{{low}, {high}}};", at = in(reg32) self.0,
                    low = in(reg64) low, high = in(reg64) high, options(nostack, preserves_flags));
            } else {
                let bits: u64 = core::mem::transmute_copy(&value);
                core::arch::asm!("st.shared.b64 [{at}], {bits};", at = in(reg32) self.0, bits = in(reg64) bits,
                    options(nostack, preserves_flags));
            }
        }
    }

    /// Stores four matrices of 8x8 elements of 16 bits (`stmatrix`, since sm_90). Lane `l` holds the elements `2 (l %
    /// 4)` and the next of row `l / 4` of matrix `i` in `matrices[i]`, and gives the address of row `l % 8` of matrix
    /// `l / 8`.
    ///
    /// # Safety
    /// All lanes of the warp call it together, each with an address that is a multiple of 16, of 16 bytes that nothing
    /// else accesses at the same time.
    #[gpu_only]
    pub unsafe fn store_matrices(self, matrices: [u32; 4]) {
        let [a, b, c, d] = matrices;
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{at}], {{{a}, {b}, {c}, {d}}};",
                at = in(reg32) self.0, a = in(reg32) a, b = in(reg32) b, c = in(reg32) c, d = in(reg32) d,
                options(nostack, preserves_flags));
        }
    }

    /// Loads four matrices of 8x8 elements of 16 bits (`ldmatrix`, since sm_75). Lane `l` gives the address of row `l %
    /// 8` of matrix `l / 8`, and receives in element `i` the elements `2 (l % 4)` and the next of row `l / 4` of matrix
    /// `i`.
    ///
    /// # Safety
    /// All lanes of the warp call it together, each with an address that is a multiple of 16, of 16 initialised bytes
    /// that no thread writes at the same time.
    #[must_use]
    #[gpu_only]
    pub unsafe fn load_matrices(self) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{a}, {b}, {c}, {d}}}, [{at}];",
                at = in(reg32) self.0, a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }

    /// Loads four matrices as [`SharedAddress::load_matrices`] does, each transposed: lane `l` receives the elements `2
    /// (l % 4)` and the next of column `l / 4`.
    ///
    /// # Safety
    /// That of [`SharedAddress::load_matrices`].
    #[must_use]
    #[gpu_only]
    pub unsafe fn load_matrices_transposed(self) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{a}, {b}, {c}, {d}}}, [{at}];",
                at = in(reg32) self.0, a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }

    /// The next address that is a multiple of `alignment`, a power of two; wraps.
    #[must_use]
    #[inline(always)]
    pub const fn align_up(self, alignment: u32) -> Self {
        Self(self.0.wrapping_add(alignment - 1) & alignment.wrapping_neg())
    }

    /// The address `bytes` bytes after this one; wraps.
    #[must_use]
    #[inline(always)]
    pub const fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}
