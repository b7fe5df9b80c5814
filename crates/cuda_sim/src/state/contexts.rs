//! The current context, its device and its streams.

use super::{State, changed};
use crate::code::{Answer, Code};
use crate::model::{Block, Clock, Context, Device, Handle, Held, OfThread, Stream, thread, top};
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl State {
    /// Returns the current context's handle.
    ///
    /// # Errors
    /// Those of [`State::bound`], and the error of a kernel that faulted in it.
    pub fn current(&self) -> Answer<Handle> {
        let context = self.bound()?;
        self.check(context).map(|()| context)
    }

    /// As [`State::current`], also after a fault.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` if there is none, `CONTEXT_IS_DESTROYED` if it was destroyed or is a primary context that
    /// is not retained.
    pub fn bound(&self) -> Answer<Handle> {
        match top() {
            0 => Err(Code::INVALID_CONTEXT),
            context if self.contexts.contains_key(&context) => Ok(context),
            _ => Err(Code::CONTEXT_IS_DESTROYED),
        }
    }

    /// Checks that no kernel has faulted in a context.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn check(&self, context: Handle) -> Answer {
        self.contexts.get(&context).and_then(|context| context.fault).map_or(Ok(()), Err)
    }

    /// Creates a context with its default stream.
    pub fn create_context(&mut self, device: usize, flags: u32) -> Handle {
        let context = self.handle();
        self.open_context(context, device, flags);
        context
    }

    /// Creates a context whose handle is given: a primary context keeps its handle when it is reset.
    pub fn open_context(&mut self, context: Handle, device: usize, flags: u32) {
        let legacy = self.handle();
        self.streams.insert(legacy, Stream::new(context, 0, 0));
        let new = Context {
            device,
            flags,
            fault: None,
            limits: BTreeMap::new(),
            legacy,
            per_thread: HashMap::new(),
            peers: BTreeSet::new(),
            gone: Clock::default(),
        };
        self.contexts.insert(context, new);
    }

    /// Destroys a context with everything in it, but for memory of pools, which belongs to none.
    pub fn destroy_context(&mut self, context: Handle) {
        let is_here = |block: &Block| block.context == context && !matches!(block.held, Held::Pool(_));
        let of = |(at, block): (&u64, &Block)| is_here(block).then_some(*at);
        let blocks: Vec<u64> = self.blocks.iter().filter_map(of).collect();
        for address in blocks {
            // It exists, so that it can be freed.
            let _ = self.free_block(address);
        }
        self.arrays.retain(|_, array| self.blocks.contains_key(&array.address));
        self.textures.retain(|_, texture| texture.context != context);
        self.linkers.retain(|_, linker| linker.context != context);
        let modules: Vec<Handle> =
            self.modules.iter().filter(|(_, module)| module.context == context).map(|(at, _)| *at).collect();
        modules.into_iter().for_each(|module| self.unload(module));
        self.abandon_captures(context);
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        if let Some(Context { device, peers, .. }) = self.contexts.remove(&context) {
            peers.into_iter().for_each(|peer| self.unshare_all(peer, device));
        }
        self.report.show_printed();
        changed();
    }

    /// Whether a stream is its context's default stream.
    pub fn is_legacy(&self, stream: Handle) -> bool {
        let context = self.streams.get(&stream).and_then(|stream| self.contexts.get(&stream.context));
        context.is_some_and(|context| context.legacy == stream)
    }

    /// Returns the device of the current context.
    ///
    /// # Errors
    /// As [`State::current`].
    pub fn current_device(&mut self) -> Answer<&mut Device> {
        let context = self.current()?;
        let device = self.contexts.get(&context).map_or(0, |context| context.device);
        self.devices.get_mut(device).ok_or(Code::INVALID_DEVICE)
    }

    /// Resolves a stream's handle: 0 and 1 are the context's default stream, 2 (and 0 in functions with a default
    /// stream per thread) the thread's.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such stream, and as [`State::current`].
    pub fn stream(&mut self, handle: Handle) -> Answer<Handle> {
        if handle > 2 {
            let known = self.streams.get(&handle).filter(|stream| !stream.destroyed);
            let context = known.ok_or(Code::INVALID_HANDLE)?.context;
            return self.check(context).map(|()| handle);
        }
        let number = self.current()?;
        let context = self.contexts.get(&number).ok_or(Code::INVALID_CONTEXT)?;
        if handle == 1 || handle == 0 && !crate::entry::per_thread() {
            return Ok(context.legacy);
        }
        if let Some(known) = context.per_thread.get(&thread()) {
            return Ok(known.stream);
        }
        self.forget_threads(number);
        let stream = self.handle();
        self.streams.insert(stream, Stream::new(number, 0, 0));
        // SAFETY: the function has no preconditions.
        let new = OfThread { stream, system: unsafe { libc::gettid() } };
        self.contexts.get_mut(&number).ok_or(Code::INVALID_CONTEXT)?.per_thread.insert(thread(), new);
        Ok(stream)
    }

    /// Destroys the default streams of threads that have ended, once that may be worth the search.
    fn forget_threads(&mut self, context: Handle) {
        const FEW: usize = 64;
        let Some(known) = self.contexts.get_mut(&context) else { return };
        if known.per_thread.len() < FEW || !known.per_thread.len().is_power_of_two() {
            return;
        }
        let is_alive = |system: i32| std::path::Path::new(&format!("/proc/self/task/{system}")).exists();
        let is_idle = |stream: Handle| {
            let known = self.streams.get(&stream);
            known.is_none_or(|known| known.done == known.issued && known.capture.is_none())
        };
        let ended = known.per_thread.iter().filter(|(_, of)| !is_alive(of.system) && is_idle(of.stream));
        let ended: Vec<(usize, Handle)> = ended.map(|(thread, of)| (*thread, of.stream)).collect();
        for (thread, stream) in ended {
            if let Some(known) = self.contexts.get_mut(&context) {
                known.per_thread.remove(&thread);
            }
            self.remove_stream(stream);
        }
    }
}
