//! The order of work: an operation runs in the call that enqueues it, unless it has to wait for a function of the host.

use super::{State, changed, state};
use crate::code::{Answer, Code};
use crate::model::{Clock, Handle, Item, Operation, Stream, Token};
use std::collections::VecDeque;

impl State {
    /// Whether an item has ended. A stream that no longer exists has no work left.
    pub fn has_ended(&self, token: Token) -> bool {
        self.streams.get(&token.stream).is_none_or(|stream| stream.done >= token.number)
    }

    /// The last item of a stream.
    pub fn last(&self, stream: Handle) -> Token {
        Token { stream, number: self.streams.get(&stream).map_or(0, |stream| stream.issued) }
    }

    /// The last items of all streams of a context.
    pub fn last_of(&self, context: Handle) -> Vec<Token> {
        let of = self.streams.iter().filter(|(_, stream)| stream.context == context);
        of.map(|(stream, _)| self.last(*stream)).collect()
    }

    /// Items that work of this stream waits for by the rules of the default stream.
    fn default_order(&self, stream: Handle) -> Vec<Token> {
        let Some(this) = self.streams.get(&stream).filter(|this| this.is_blocking()) else { return Vec::new() };
        let legacy = self.contexts.get(&this.context).map_or(0, |context| context.legacy);
        let others = self.streams.iter().filter(|(other, _)| **other != stream);
        others
            .filter(|(_, other)| other.context == this.context && other.is_blocking() && other.done < other.issued)
            .filter(|(other, _)| stream == legacy || **other == legacy)
            .map(|(other, _)| self.last(*other))
            .collect()
    }

    /// Enqueues work in the stream's own order.
    ///
    /// # Errors
    /// What the work returns if it runs at once; what a capture does not allow.
    pub fn enqueue(&mut self, stream: Handle, operation: Operation) -> Answer {
        self.enqueue_after(stream, operation, Vec::new())
    }

    /// As [`State::enqueue`], also after items of other streams.
    ///
    /// # Errors
    /// As [`State::enqueue`].
    pub fn enqueue_after(&mut self, stream: Handle, operation: Operation, mut after: Vec<Token>) -> Answer {
        let Some(this) = self.streams.get(&stream) else { return Err(Code::INVALID_HANDLE) };
        if this.capture.is_some() {
            return self.capture(stream, operation);
        }
        self.check_stream(stream)?;
        after.extend(self.default_order(stream));
        after.retain(|token| !self.has_ended(*token));
        let waits = !after.is_empty() || this.busy || !this.queue.is_empty();
        let operation = if waits { self.detach(operation)? } else { operation };
        let work = self.place(stream);
        let Some(this) = self.streams.get_mut(&stream) else { return Err(Code::INVALID_HANDLE) };
        this.issued += 1;
        if waits {
            this.queue.push_back(Item { operation, after, work });
            return Ok(());
        }
        this.work = work;
        self.run(stream, VecDeque::from([operation]))
    }

    /// Runs the steps of an item whose turn it is: up to the first function of the host at once, and the others when
    /// that has returned.
    fn run(&mut self, stream: Handle, mut steps: VecDeque<Operation>) -> Answer {
        while let Some(step) = steps.pop_front() {
            // Nothing runs after a kernel's fault.
            if self.check_stream(stream).is_err() {
                break;
            }
            let call: Box<dyn FnOnce() + Send> = match step {
                Operation::Steps(inner) => {
                    inner.into_iter().rev().for_each(|step| steps.push_front(step));
                    continue;
                }
                Operation::Host { function, data } => {
                    // SAFETY: the program gave a function of this type.
                    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(function) };
                    Box::new(move || function(data))
                }
                Operation::Callback { function, stream, data } => {
                    // SAFETY: the program gave a function of this type.
                    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, u32, usize)>(function) };
                    Box::new(move || function(stream, 0, data))
                }
                step => {
                    if let Err(code) = self.execute(stream, step) {
                        self.end(stream);
                        return Err(code);
                    }
                    continue;
                }
            };
            let mut before = Clock::default();
            if let Some(this) = self.streams.get_mut(&stream) {
                this.busy = true;
                before = this.work.as_ref().map(|work| work.clock.clone()).unwrap_or_default();
            }
            // The function can tell the program that what comes before it has ended.
            self.host_follows(&before);
            // A thread of its own, without the lock: the function may wait for what the caller does next.
            let thread = std::thread::Builder::new().name("cuda_sim host function".to_owned()).spawn(move || {
                call();
                resume(stream, steps);
            });
            return thread.map(|_| ()).map_err(|_| Code::OUT_OF_MEMORY);
        }
        self.end(stream);
        Ok(())
    }

    /// Checks that no kernel has faulted in the stream's context.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn check_stream(&self, stream: Handle) -> Answer {
        self.streams.get(&stream).map_or(Ok(()), |stream| self.check(stream.context))
    }

    fn end(&mut self, stream: Handle) {
        if let Some(this) = self.streams.get_mut(&stream) {
            this.done += 1;
            if this.destroyed && this.done == this.issued {
                self.streams.remove(&stream);
            }
        }
    }

    /// Runs the items whose turn has come.
    fn pump(&mut self) {
        loop {
            let is_ready = |this: &Stream| {
                !this.busy
                    && this.queue.front().is_some_and(|item| item.after.iter().all(|token| self.has_ended(*token)))
            };
            // The oldest stream first: the same order in every run.
            let ready = self.streams.iter().filter(|(_, this)| is_ready(this)).map(|(stream, _)| *stream).min();
            let Some(stream) = ready else { return };
            let Some(this) = self.streams.get_mut(&stream) else { return };
            let Some(item) = this.queue.pop_front() else { return };
            this.work = item.work;
            let result = self.run(stream, VecDeque::from([item.operation]));
            self.keep_error(stream, result);
        }
    }

    /// Records an error of deferred work as the context's.
    fn keep_error(&mut self, stream: Handle, result: Answer) {
        let context = self.streams.get(&stream).map(|stream| stream.context);
        if let Err(code) = result
            && let Some(context) = context.and_then(|context| self.contexts.get_mut(&context))
        {
            context.fault.get_or_insert(code);
        }
    }
}

/// Goes on with a stream after a function of the host.
fn resume(stream: Handle, steps: VecDeque<Operation>) {
    let Ok(mut state) = state() else { return };
    if let Some(this) = state.streams.get_mut(&stream) {
        this.busy = false;
    }
    let result = state.run(stream, steps);
    state.keep_error(stream, result);
    state.pump();
    drop(state);
    changed();
}
