//! The context of each thread: the primary one of its device, unless the program has set another by the driver API.

use crate::code::{Answer, Code};
use crate::{driver, registry};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

thread_local! {
    /// The thread's device. It has no destructor: see `entry`.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// Starts the driver.
///
/// # Errors
/// `INSUFFICIENT_DRIVER` if there is none, and those of `cuInit`.
pub fn start() -> Answer {
    static STARTED: OnceLock<Answer> = OnceLock::new();
    *STARTED.get_or_init(|| {
        // SAFETY: cuInit takes flags, which must be 0.
        unsafe { driver::cuInit(0) }.map_err(|code| code.or(Code::NEWER_DRIVER, Code::INSUFFICIENT_DRIVER))
    })
}

/// Makes sure that the thread has a context, and that the variables that host and device share have memory.
///
/// # Errors
/// Those of [`start`] and of the driver.
pub fn current() -> Answer {
    start()?;
    let mut context = 0;
    // SAFETY: the pointer is valid.
    unsafe { driver::cuCtxGetCurrent(&mut context) }?;
    if context == 0 {
        select(DEVICE.get())?;
    }
    registry::load_managed()
}

/// Makes the primary context of a device the thread's.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device.
pub fn select(device: i32) -> Answer {
    start()?;
    let context = primary(device)?;
    // SAFETY: a context of the driver.
    unsafe { driver::cuCtxSetCurrent(context) }?;
    DEVICE.set(device);
    Ok(())
}

/// The thread's device.
///
/// # Errors
/// Those of [`start`].
pub fn device() -> Answer<i32> {
    start()?;
    let mut device = DEVICE.get();
    // SAFETY: the pointer is valid. Without a context, the thread's own device is the answer.
    match unsafe { driver::cuCtxGetDevice(&mut device) } {
        Ok(()) => Ok(device),
        Err(Code::NO_CONTEXT) => Ok(DEVICE.get()),
        Err(code) => Err(code),
    }
}

/// The primary contexts that are retained, by device.
fn retained() -> MutexGuard<'static, BTreeMap<i32, usize>> {
    static RETAINED: Mutex<BTreeMap<i32, usize>> = Mutex::new(BTreeMap::new());
    RETAINED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The primary context of a device.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device.
pub fn primary(device: i32) -> Answer<usize> {
    let mut retained = retained();
    if let Some(context) = retained.get(&device) {
        return Ok(*context);
    }
    let mut context = 0;
    // SAFETY: the pointer is valid.
    unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, device) }?;
    retained.insert(device, context);
    Ok(context)
}

/// Destroys all that the thread's device has: the next call starts again.
///
/// # Errors
/// Those of the driver.
pub fn reset() -> Answer {
    let device = device()?;
    if retained().remove(&device).is_none() {
        return Ok(());
    }
    // SAFETY: no pointers are involved.
    unsafe {
        driver::cuCtxSetCurrent(0)?;
        driver::cuDevicePrimaryCtxReset_v2(device)
    }
}
