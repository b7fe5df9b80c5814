//! Each thread's stack of contexts.

use super::handle::Handle;
use crate::code::{Answer, Code};
use std::cell::Cell;

/// Greatest depth of a thread's stack.
const MOST: usize = 64;

thread_local! {
    // These have no destructors, because programs call the driver from exit handlers, after those of thread locals.
    static STACK: [Cell<Handle>; MOST] = const { [const { Cell::new(0) }; MOST] };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

/// Returns the current context's handle; 0 if there is none.
pub fn top() -> Handle {
    let depth = DEPTH.get();
    if depth == 0 { 0 } else { STACK.with(|stack| stack[depth - 1].get()) }
}

/// Makes a context the current one.
///
/// # Errors
/// `INVALID_VALUE` if the stack is full.
pub fn push(context: Handle) -> Answer {
    let depth = DEPTH.get();
    STACK.with(|stack| stack.get(depth).map(|slot| slot.set(context))).ok_or(Code::INVALID_VALUE)?;
    DEPTH.set(depth + 1);
    Ok(())
}

/// Removes the current context; `None` if there is none.
pub fn pop() -> Option<Handle> {
    let context = top();
    let depth = DEPTH.get().checked_sub(1)?;
    DEPTH.set(depth);
    Some(context)
}

/// Replaces the current context; 0 removes it.
///
/// # Errors
/// As [`push`].
pub fn replace(context: Handle) -> Answer {
    pop();
    if context == 0 { Ok(()) } else { push(context) }
}

/// Returns a number of the calling thread.
pub fn thread() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    if THREAD.get() == 0 {
        THREAD.set(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
    THREAD.get()
}
