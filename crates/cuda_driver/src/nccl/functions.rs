//! The functions.

#![expect(non_snake_case, reason = "the names are those of nccl.h")]

use super::{ncclComm_t, ncclConfig_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId, open};
use crate::library::Slot;
use crate::sys::CUstream;
use std::ffi::{c_char, c_int, c_void};

/// Defines a function per row, with the result of a call where NCCL or the symbol is missing.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty = $missing:expr;)*) => { $(
        #[doc = concat!("NCCL's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments must be those that NCCL's documentation of the function requires.
        pub unsafe fn $name($($argument: $type),*) -> $result {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), open);
            match SLOT.get() {
                Ok(address) => {
                    // SAFETY: the address is that of NCCL's function of this name, which takes these arguments and
                    // returns this result.
                    let function = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
                    };
                    // SAFETY: the caller upholds this function's contract.
                    unsafe { function($($argument),*) }
                }
                Err(_) => $missing,
            }
        }
    )* };
}

/// Defines functions whose result is an [`ncclResult_t`].
macro_rules! results {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        functions! { $($name($($argument: $type),*) -> ncclResult_t = ncclResult_t::INTERNAL_ERROR;)* }
    };
}

functions! {
    ncclGetErrorString(result: ncclResult_t) -> *const c_char = std::ptr::null();
    ncclGetLastError(comm: ncclComm_t) -> *const c_char = std::ptr::null();
}

results! {
    ncclAllGather(
        from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, comm: ncclComm_t, stream: CUstream,
    );
    ncclAllReduce(
        from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t, comm: ncclComm_t,
        stream: CUstream,
    );
    ncclBroadcast(
        from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, root: c_int, comm: ncclComm_t,
        stream: CUstream,
    );
    ncclCommAbort(comm: ncclComm_t);
    ncclCommDestroy(comm: ncclComm_t);
    ncclCommFinalize(comm: ncclComm_t);
    ncclCommGetAsyncError(comm: ncclComm_t, error: *mut ncclResult_t);
    ncclCommInitRankConfig(
        comm: *mut ncclComm_t, ranks: c_int, id: ncclUniqueId, rank: c_int, config: *mut ncclConfig_t,
    );
    ncclGetUniqueId(id: *mut ncclUniqueId);
    ncclGetVersion(version: *mut c_int);
    ncclGroupEnd();
    ncclGroupStart();
    ncclRecv(
        to: *mut c_void, count: usize, dtype: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: CUstream,
    );
    ncclReduceScatter(
        from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t, comm: ncclComm_t,
        stream: CUstream,
    );
    ncclSend(
        from: *const c_void, count: usize, dtype: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: CUstream,
    );
}

#[cfg(test)]
mod tests {
    use super::super::{NcclError, error_text, load};
    use super::*;

    #[test]
    fn without_nccl_a_call_is_an_ordinary_error() {
        let mut version = 0;
        // SAFETY: the argument points to room for one `int`.
        let result = unsafe { ncclGetVersion(&mut version) };
        match load() {
            Ok(version) => assert!(version >= (2, 18, 0) && result == ncclResult_t::SUCCESS),
            Err(NcclError::NotFound { tried }) => {
                assert_eq!(result, ncclResult_t::INTERNAL_ERROR);
                assert!(tried[0].starts_with("libnccl.so.2 ("), "{tried:?}");
            }
            Err(NcclError::TooOld { version, .. }) => assert!(version < (2, 18, 0)),
        }
        assert!(!error_text(ncclResult_t::INTERNAL_ERROR).is_empty());
    }
}
