//! What surrounds every function of the API: no panic leaves it, and its error is the thread's last one.

use crate::code::{Answer, Code};
use crate::{context, log};
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use crate::driver::Handle;

// Neither has a destructor, because programs call the runtime from exit handlers, after those of thread locals.
thread_local! {
    /// Whether stream 0 means the thread's own default stream in the current call.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The driver's handle of the thread's own default stream.
const STREAM_PER_THREAD: Handle = 2;

/// Runs a function of the API; `per_thread` selects the meaning of stream 0.
pub fn anywhere(name: &str, per_thread: bool, work: impl FnOnce() -> Answer) -> u32 {
    let outer = PER_THREAD.replace(per_thread);
    let result = catch_unwind(AssertUnwindSafe(work));
    PER_THREAD.set(outer);
    let code = match result {
        Ok(Ok(())) => 0,
        Ok(Err(Code(code))) => code,
        Err(_) => {
            log::once(&format!("{name}: a defect of the runtime library; please report it"));
            Code::UNKNOWN.0
        }
    };
    if code != 0 {
        LAST.set(code);
    }
    code
}

/// As [`anywhere`], with a context.
pub fn in_context(name: &str, per_thread: bool, work: impl FnOnce() -> Answer) -> u32 {
    anywhere(name, per_thread, || {
        context::current()?;
        work()
    })
}

/// Refuses a call of a function that is not supported.
pub fn refuse(name: &str) -> u32 {
    anywhere(name, false, || {
        log::once(&format!("{name} is not supported"));
        Err(Code::NOT_SUPPORTED)
    })
}

/// The thread's last error, which is forgotten on request.
pub fn last_error(forget: bool) -> u32 {
    if forget { LAST.replace(0) } else { LAST.get() }
}

/// The driver's handle of a stream: the one that 0 means in this call.
pub fn on(stream: Handle) -> Handle {
    if stream == 0 && PER_THREAD.get() { STREAM_PER_THREAD } else { stream }
}

/// Stands for the promises of a function's caller, on which its body rests.
///
/// # Safety
/// The arguments of the function are those that its documentation requires.
pub unsafe fn promised() {}

/// Defines exported functions, which run in a context; after `anywhere:`, without one. The name after `or` is the twin
/// whose stream 0 is the thread's own default stream.
#[macro_export]
#[doc(hidden)]
macro_rules! exported {
    (anywhere: $($rest:tt)*) => { $crate::exported!(@all anywhere $($rest)*); };
    (@all $where:ident $($name:ident $arguments:tt $(or $twin:ident)? $body:block)*) => {
        $(
            $crate::exported!(@define $where, false, $name, $arguments, $body);
            $($crate::exported!(@define $where, true, $twin, $arguments, $body);)?
        )*
    };
    (@define $where:ident, $per_thread:literal, $name:ident, ($($argument:ident: $type:ty),* $(,)?), $body:block) => {
        #[doc = concat!("The runtime's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments must be those that the runtime's documentation of the function requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
            // SAFETY: the caller upholds the contract of the runtime's function.
            $crate::entry::$where(stringify!($name), $per_thread, || unsafe {
                $crate::entry::promised();
                $body
            })
        }
    };
    ($($rest:tt)*) => { $crate::exported!(@all in_context $($rest)*); };
}

/// Writes a result through a pointer of the caller.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer.
///
/// # Safety
/// A pointer that is not null must be valid for a write.
pub unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: by contract; the caller's memory need not be aligned.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Reads an argument through a pointer of the caller.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer.
///
/// # Safety
/// A pointer that is not null must be valid for a read of a `T`.
pub unsafe fn get<T: Copy>(place: *const T) -> Answer<T> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: by contract; the caller's memory need not be aligned.
    Ok(unsafe { place.read_unaligned() })
}

/// Returns a zero-terminated text.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer.
///
/// # Safety
/// A pointer that is not null must be a zero-terminated string that outlives the result.
pub unsafe fn text<'a>(text: *const c_char) -> Answer<&'a CStr> {
    if text.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: by contract.
    Ok(unsafe { CStr::from_ptr(text) })
}
