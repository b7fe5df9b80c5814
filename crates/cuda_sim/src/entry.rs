//! What surrounds every function of the driver: no panic leaves it, and its result is logged on request.

use crate::code::{Answer, Code};
use crate::{log, report};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Whether stream 0 means the thread's own default stream in the current call. It has no destructor, because
    /// programs call the driver from exit handlers, after those of thread locals.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
    /// The function that is called.
    static CURRENT: Cell<&'static str> = const { Cell::new("") };
}

/// An exported function, by its name.
pub struct Symbol(pub &'static str, pub *const ());

// SAFETY: the address of a function.
unsafe impl Sync for Symbol {}

/// Runs a function of the driver; `per_thread` selects the meaning of stream 0.
pub fn call(name: &'static str, per_thread: bool, work: impl FnOnce() -> Answer) -> u32 {
    let outer = (PER_THREAD.replace(per_thread), CURRENT.replace(name));
    let result = catch_unwind(AssertUnwindSafe(work));
    PER_THREAD.set(outer.0);
    CURRENT.set(outer.1);
    let code = match result {
        Ok(Ok(())) => 0,
        Ok(Err(Code(code))) => code,
        Err(_) => {
            log::line(&format!("{name}: a defect of the simulated driver; please report it"));
            Code::UNKNOWN.0
        }
    };
    report::show_due();
    log::called(name, code);
    code
}

/// Whether stream 0 means the thread's own default stream.
pub fn per_thread() -> bool {
    PER_THREAD.get()
}

/// The name of the function that the program calls.
pub fn current_call() -> &'static str {
    CURRENT.get()
}

/// Stands for the promises of a function's caller, on which its body rests.
///
/// # Safety
/// The arguments of the function are those that its documentation requires.
pub unsafe fn promised() {}

/// Defines exported functions, and the list `SYMBOLS` of them. The name after `or` is the twin whose stream 0 is the
/// thread's own default stream.
macro_rules! api {
    ($($(#[$about:meta])* $name:ident $arguments:tt $(or $twin:ident)? $body:block)*) => {
        $(
            api!(@define false, $name, $arguments, $body);
            $(api!(@define true, $twin, $arguments, $body);)?
        )*

        /// The functions of this file.
        pub const SYMBOLS: &[$crate::entry::Symbol] = &[$(
            $crate::entry::Symbol(stringify!($name), $name as *const ()),
            $($crate::entry::Symbol(stringify!($twin), $twin as *const ()),)?
        )*];
    };
    (@define $per_thread:literal, $name:ident, ($($argument:ident: $type:ty),* $(,)?), $body:block) => {
        #[doc = concat!("The driver's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments must be those that the driver's documentation of the function requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
            // SAFETY: the caller upholds the contract of the driver's function.
            $crate::entry::call(stringify!($name), $per_thread, || unsafe {
                $crate::entry::promised();
                $body
            })
        }
    };
}
pub(crate) use api;

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

/// Makes something and writes it through a pointer of the caller; for a null pointer, nothing is made.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer, and those of `make`.
///
/// # Safety
/// As for [`put`].
pub unsafe fn put_made<T>(place: *mut T, make: impl FnOnce() -> Answer<T>) -> Answer {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: by contract.
    unsafe { put(place, make()?) }
}

/// As [`put`], if the caller wants the result.
///
/// # Safety
/// As for [`put`].
pub unsafe fn put_if<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: by contract; the caller's memory need not be aligned.
        unsafe { place.write_unaligned(value) };
    }
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
    // SAFETY: by contract.
    Ok(unsafe { place.read_unaligned() })
}

/// Reads a zero-terminated name.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer, and for text that is not UTF-8.
///
/// # Safety
/// A pointer that is not null must be a zero-terminated string.
pub unsafe fn name(text: *const std::ffi::c_char) -> Answer<String> {
    if text.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: by contract.
    let text = unsafe { std::ffi::CStr::from_ptr(text) };
    text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_VALUE)
}

/// Copies text with its zero byte into a buffer of `room` bytes, cut off where it ends.
///
/// # Errors
/// `INVALID_VALUE` if there is no buffer.
///
/// # Safety
/// The buffer must be null or have `room` bytes.
pub unsafe fn put_text(buffer: *mut std::ffi::c_char, room: i32, text: &str) -> Answer {
    let room = usize::try_from(room).unwrap_or(0);
    if buffer.is_null() || room == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the text and its end fit in the buffer.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), bytes.len());
        buffer.add(bytes.len()).write(0);
    }
    Ok(())
}

/// Reads a list.
///
/// # Errors
/// `INVALID_VALUE` for a null pointer to a list that is not empty.
///
/// # Safety
/// The list must be null or have `count` elements.
pub unsafe fn list<T: Copy>(place: *const T, count: usize) -> Answer<Vec<T>> {
    // SAFETY: by contract.
    (0..count).map(|at| unsafe { get(place.wrapping_add(at)) }).collect()
}

/// Writes as many elements as there is room for, and how many those are; without a list, how many there are.
///
/// # Errors
/// `INVALID_VALUE` without a count.
///
/// # Safety
/// The list must be null or have room for `count` elements.
pub unsafe fn put_list<T: Copy>(known: &[T], place: *mut T, count: *mut usize) -> Answer {
    // SAFETY: by contract.
    unsafe {
        let room = if place.is_null() { 0 } else { get(count)? };
        for (at, node) in known.iter().take(room).enumerate() {
            put(place.wrapping_add(at), *node)?;
        }
        put(count, if place.is_null() { known.len() } else { known.len().min(room) })
    }
}
