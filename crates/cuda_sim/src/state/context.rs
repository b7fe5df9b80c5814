//! Contexts, and each thread's stack of them.

use super::{Device, Handle, State, Stream};
use crate::code::{Answer, Code};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A context of a device.
pub struct Context {
    /// Number of its device.
    pub device: usize,
    pub flags: u32,
    /// The error of a kernel, which every later call returns.
    pub fault: Option<Code>,
    /// Limits that the program has set, by number.
    pub limits: BTreeMap<u32, usize>,
    /// Stream 0.
    pub legacy: Handle,
    /// Default streams of threads.
    pub per_thread: HashMap<usize, Handle>,
    /// Devices whose memory its kernels may access.
    pub peers: BTreeSet<usize>,
}

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
fn thread() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    if THREAD.get() == 0 {
        THREAD.set(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
    THREAD.get()
}

/// Returns the current context's handle.
///
/// # Errors
/// `INVALID_CONTEXT` if there is none or it was destroyed, and the error of a kernel that faulted in it.
pub fn current(state: &State) -> Answer<Handle> {
    let context = top();
    match state.contexts.get(&context) {
        None => Err(Code::INVALID_CONTEXT),
        Some(Context { fault: Some(code), .. }) => Err(*code),
        Some(_) => Ok(context),
    }
}

impl State {
    /// Creates a context with its default stream.
    pub fn create_context(&mut self, device: usize, flags: u32) -> Handle {
        let (context, legacy) = (self.handle(), self.handle());
        self.streams.insert(legacy, Stream::new(context, 0, 0));
        let new = Context {
            device,
            flags,
            fault: None,
            limits: BTreeMap::new(),
            legacy,
            per_thread: HashMap::new(),
            peers: BTreeSet::new(),
        };
        self.contexts.insert(context, new);
        context
    }

    /// Destroys a context with everything in it.
    pub fn destroy_context(&mut self, context: Handle) {
        let of = |(at, block): (&u64, &super::Block)| (block.context == context).then_some(*at);
        let blocks: Vec<u64> = self.blocks.iter().filter_map(of).collect();
        for address in blocks {
            // It exists, so that it can be freed.
            let _ = self.free_block(address);
        }
        let modules: Vec<Handle> =
            self.modules.iter().filter(|(_, module)| module.context == context).map(|(at, _)| *at).collect();
        modules.into_iter().for_each(|module| self.unload(module));
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        self.contexts.remove(&context);
    }

    /// Returns the device of the current context.
    ///
    /// # Errors
    /// As [`current`].
    pub fn current_device(&mut self) -> Answer<&mut Device> {
        let context = current(self)?;
        let device = self.contexts.get(&context).map_or(0, |context| context.device);
        self.devices.get_mut(device).ok_or(Code::INVALID_DEVICE)
    }

    /// Resolves a stream's handle: 0 and 1 are the context's default stream, 2 (and 0 in functions with a default
    /// stream per thread) the thread's.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such stream, and as [`current`].
    pub fn stream(&mut self, handle: Handle) -> Answer<Handle> {
        if handle > 2 {
            let known = self.streams.get(&handle).filter(|stream| !stream.destroyed);
            let context = known.ok_or(Code::INVALID_HANDLE)?.context;
            return match self.contexts.get(&context).and_then(|context| context.fault) {
                Some(code) => Err(code),
                None => Ok(handle),
            };
        }
        let number = current(self)?;
        let new = self.handle();
        let Some(context) = self.contexts.get_mut(&number) else { return Err(Code::INVALID_CONTEXT) };
        if handle == 1 || handle == 0 && !crate::entry::per_thread() {
            return Ok(context.legacy);
        }
        let stream = *context.per_thread.entry(thread()).or_insert(new);
        if stream == new {
            self.streams.insert(new, Stream::new(number, 0, 0));
        }
        Ok(stream)
    }
}
