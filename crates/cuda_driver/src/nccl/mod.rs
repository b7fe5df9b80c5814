//! The part of NCCL, NVIDIA's library for communication between GPUs, that the library uses, with the names and values
//! of `nccl.h`. Like the driver, it is opened at run time.
//!
//! By hand: of the crates with bindings, cudarc's `nccl` loads the library at run time too, but panics if it or a
//! symbol is missing, and needs cudarc's contexts.

mod functions;

pub use functions::*;

use crate::library::{Library, search};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The result of a function. A library may return values that are newer than this list.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names are those of nccl.h")]
pub struct ncclResult_t(pub u32);

/// The values that the library names.
impl ncclResult_t {
    /// The call has succeeded.
    pub const SUCCESS: Self = Self(0);
    /// NCCL cannot be opened, or lacks the function.
    pub const INTERNAL_ERROR: Self = Self(3);
    /// A communicator that does not block has not finished the call.
    pub const IN_PROGRESS: Self = Self(7);
}

/// A communicator.
#[expect(non_camel_case_types, reason = "the names are those of nccl.h")]
pub type ncclComm_t = *mut c_void;

/// What the ranks of a communicator share.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ncclUniqueId {
    /// The bytes, which mean something to NCCL alone.
    pub internal: [u8; 128],
}

/// Type of the elements.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names are those of nccl.h")]
pub struct ncclDataType_t(pub u32);

/// The values that the library names.
#[expect(missing_docs, reason = "the names say it")]
impl ncclDataType_t {
    pub const UINT8: Self = Self(1);
    pub const INT32: Self = Self(2);
    pub const UINT32: Self = Self(3);
    pub const INT64: Self = Self(4);
    pub const UINT64: Self = Self(5);
    pub const FLOAT32: Self = Self(7);
    pub const FLOAT64: Self = Self(8);
}

/// An operation.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names are those of nccl.h")]
pub struct ncclRedOp_t(pub u32);

/// The values that the library names.
#[expect(missing_docs, reason = "the names say it")]
impl ncclRedOp_t {
    pub const SUM: Self = Self(0);
    pub const MAX: Self = Self(2);
    pub const MIN: Self = Self(3);
}

/// The settings of a communicator as of NCCL 2.18: later versions read as much of the structure as its size says.
#[repr(C)]
#[expect(non_snake_case, reason = "the names are those of nccl.h")]
#[expect(missing_docs, reason = "NVIDIA's documentation describes them")]
pub struct ncclConfig_t {
    pub size: usize,
    pub magic: u32,
    pub version: u32,
    pub blocking: c_int,
    pub cgaClusterSize: c_int,
    pub minCTAs: c_int,
    pub maxCTAs: c_int,
    pub netName: *const c_char,
    pub splitShare: c_int,
}

impl ncclConfig_t {
    /// A communicator whose functions return when their host's part has ended (`blocking`), or at once: then a rank
    /// that is gone blocks no other, and NCCL starts a thread for each call.
    pub fn with_blocking(blocking: bool) -> Self {
        let unset = c_int::MIN;
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21_800,
            blocking: blocking.into(),
            cgaClusterSize: unset,
            minCTAs: unset,
            maxCTAs: unset,
            netName: std::ptr::null(),
            splitShare: unset,
        }
    }
}

/// Returns NCCL's library, which the first call opens.
///
/// # Errors
/// The names that were tried, each with the loader's reason.
fn open() -> Result<&'static Library, &'static [String]> {
    static LIBRARY: OnceLock<Result<Library, Vec<String>>> = OnceLock::new();
    let names = || ["libnccl.so.2", "libnccl.so"].map(str::to_owned).to_vec();
    LIBRARY.get_or_init(|| search("RUSTWARP_LIBNCCL", names)).as_ref().map_err(Vec::as_slice)
}

/// Opens NCCL, and returns its version, e.g. (2, 28, 9). If `RUSTWARP_LIBNCCL` is set, only the library that it names
/// is tried; else `libnccl.so.2` and `libnccl.so`.
///
/// # Errors
/// [`NcclError`] with the names that were tried, or with the version that is too old.
pub fn load() -> Result<(u32, u32, u32), NcclError> {
    let library = open().map_err(|tried| NcclError::NotFound { tried: tried.to_vec() })?;
    let mut code = 0;
    // SAFETY: the argument points to room for one `int`.
    let result = unsafe { ncclGetVersion(&mut code) };
    let code = if result == ncclResult_t::SUCCESS { code.unsigned_abs() } else { 0 };
    // Until 2.8, minor versions had one digit.
    let version = match code {
        0..10_000 => (code / 1000, code / 100 % 10, code % 100),
        _ => (code / 10_000, code / 100 % 100, code % 100),
    };
    if version < (2, 18, 0) {
        return Err(NcclError::TooOld { library: library.name.clone(), version });
    }
    Ok(version)
}

/// Why there is no usable NCCL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NcclError {
    /// None of the candidate libraries could be opened.
    #[error(
        "several GPUs need NCCL, and none could be opened: tried {}; install it (Debian and Ubuntu: the package \
         `libnccl2`; Python: `pip install nvidia-nccl-cu13`), or set RUSTWARP_LIBNCCL to the path of `libnccl.so.2`",
        tried.join(", ")
    )]
    NotFound {
        /// The names tried, each with the loader's reason.
        tried: Vec<String>,
    },
    /// The library lacks communicators that do not block.
    #[error(
        "{library} is NCCL {}.{}.{}, and several GPUs need 2.18 or later: install a newer one",
        version.0, version.1, version.2
    )]
    TooOld {
        /// The name under which the library was found.
        library: String,
        /// Its version.
        version: (u32, u32, u32),
    },
}

/// NCCL's text for a result.
pub fn error_text(result: ncclResult_t) -> String {
    // SAFETY: the function takes any number.
    let text = unsafe { ncclGetErrorString(result) };
    if text.is_null() {
        return format!("NCCL error {}", result.0);
    }
    // SAFETY: NCCL returns a static zero-terminated string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// NCCL's text for the last error of this process.
pub fn last_error() -> String {
    // SAFETY: the communicator is optional.
    let text = unsafe { ncclGetLastError(std::ptr::null_mut()) };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: NCCL returns a zero-terminated string, which is copied before the next call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}
