//! The order of work: an operation runs in the call that enqueues it, unless it has to wait for a function of the host.

use super::{State, changed, state};
use crate::code::{Answer, Code};
use crate::model::{Clock, Handle, Item, Operation, Stream, Token};
use crate::report;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl State {
    /// Whether an item has ended. A stream that no longer exists has no work left.
    pub fn has_ended(&self, token: Token) -> bool {
        self.streams.get(&token.stream).is_none_or(|stream| stream.done >= token.number)
    }

    /// The last item of a stream.
    pub fn last(&self, stream: Handle) -> Token {
        Token { stream, number: self.streams.get(&stream).map_or(0, |stream| stream.issued) }
    }

    /// Notes that the last item of a stream records an event.
    pub fn recorded(&mut self, event: Handle, stream: Handle) {
        let (token, clock) = (self.last(stream), self.clock_of(stream));
        if let Some(event) = self.events.get_mut(&event) {
            event.captured = None;
            event.token = Some(token);
            event.clock = clock;
        }
    }

    /// The last items of all streams of a context, or of all contexts for the handle 0.
    pub fn last_of(&self, context: Handle) -> Vec<Token> {
        let of = self.streams.iter().filter(|(_, stream)| context == 0 || stream.context == context);
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
    pub fn enqueue_after(&mut self, stream: Handle, operation: Operation, after: Vec<Token>) -> Answer {
        self.enqueue_item(stream, operation, after, false)
    }

    /// As [`State::enqueue`], for a call that waits for the work, so that memory of the program stays as it is.
    ///
    /// # Errors
    /// As [`State::enqueue`].
    pub fn enqueue_awaited(&mut self, stream: Handle, operation: Operation) -> Answer {
        self.enqueue_item(stream, operation, Vec::new(), true)
    }

    fn enqueue_item(
        &mut self,
        stream: Handle,
        operation: Operation,
        mut after: Vec<Token>,
        is_awaited: bool,
    ) -> Answer {
        let this = self.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
        if this.capture.is_some() {
            return self.capture(stream, operation);
        }
        self.refuse_implicit(stream)?;
        self.check_stream(stream)?;
        if matches!(operation, Operation::Launch(_) | Operation::Steps(_)) {
            // As documented, a launch shows what earlier ones have printed.
            self.report.show_printed();
        }
        after.extend(self.default_order(stream));
        after.retain(|token| !self.has_ended(*token));
        let this = self.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
        let waits = !after.is_empty() || this.busy || !this.queue.is_empty();
        let operation = if waits && !is_awaited { self.detach(operation)? } else { operation };
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
            let fault = self.check_stream(stream).err();
            let call: Box<dyn FnOnce() + Send> = match step {
                Operation::Steps(inner) | Operation::Child(inner, _) => {
                    inner.into_iter().rev().for_each(|step| steps.push_front(step));
                    continue;
                }
                Operation::Callback { function, stream, data } => {
                    let status = fault.map_or(0, |code| code.0);
                    // SAFETY: the program gave a function of this type.
                    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, u32, usize)>(function) };
                    Box::new(move || function(stream, status, data))
                }
                // After a kernel's fault nothing runs but callbacks, which are given the error.
                _ if fault.is_some() => continue,
                Operation::Host { function, data } => {
                    // SAFETY: the program gave a function of this type.
                    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(function) };
                    Box::new(move || function(data))
                }
                step => {
                    if let Err(code) = self.attempt(stream, step) {
                        self.end(stream);
                        return Err(code);
                    }
                    continue;
                }
            };
            let (mut before, mut number) = (Clock::default(), 0);
            if let Some(this) = self.streams.get_mut(&stream) {
                this.busy = true;
                number = this.done + 1;
                before = this.work.as_ref().map(|work| work.clock.clone()).unwrap_or_default();
            }
            // The function can tell the program that what comes before it has ended.
            self.host_follows(&before);
            // Nodes of the same graph that have run are the function's to see; those that follow it are not waited for.
            before.add(Token { stream, number });
            self.unwatch(&before);
            self.report.show_printed();
            // A thread of its own, without the lock: the function may wait for what the caller does next.
            let thread = std::thread::Builder::new().name("cuda_sim host function".to_owned()).spawn(move || {
                report::show_due();
                call();
                resume(stream, steps);
            });
            if thread.is_ok() {
                return Ok(());
            }
            if let Some(this) = self.streams.get_mut(&stream) {
                this.busy = false;
            }
            self.end(stream);
            self.report.note("a function of the host cannot run: the system has no thread for it");
            return Err(Code::OUT_OF_MEMORY);
        }
        self.end(stream);
        Ok(())
    }

    /// Runs a step. A panic of the simulator becomes the error of the stream's context, so that nothing waits for ever.
    fn attempt(&mut self, stream: Handle, step: Operation) -> Answer {
        self.open_watched();
        let result = catch_unwind(AssertUnwindSafe(|| self.execute(stream, step)));
        self.close_watched();
        if let Some(this) = self.streams.get_mut(&stream) {
            this.node = None;
        }
        result.unwrap_or_else(|_| {
            self.report.defect();
            let context = self.streams.get(&stream).map(|stream| stream.context);
            if let Some(context) = context.and_then(|context| self.contexts.get_mut(&context)) {
                context.fault.get_or_insert(Code::UNKNOWN);
            }
            Err(Code::UNKNOWN)
        })
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
                self.remove_stream(stream);
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

    /// Keeps why deferred work was refused for the next call that waits for the stream.
    fn keep_error(&mut self, stream: Handle, result: Answer) {
        if let Err(code) = result
            && let Some(stream) = self.streams.get_mut(&stream)
        {
            stream.refused.get_or_insert(code);
        }
    }

    /// What a call returns that has waited for a stream: the fault of the stream's context, or once why deferred work
    /// was refused.
    ///
    /// # Errors
    /// As described.
    pub fn outcome(&mut self, stream: Handle) -> Answer {
        self.check_stream(stream)?;
        let refused = self.streams.get_mut(&stream).and_then(|stream| stream.refused.take());
        refused.map_or(Ok(()), Err)
    }
}

/// Goes on with a stream after a function of the host.
fn resume(stream: Handle, steps: VecDeque<Operation>) {
    let Ok(mut state) = state() else { return };
    // A stream that is gone has no work left.
    let Some(this) = state.streams.get_mut(&stream) else { return };
    this.busy = false;
    let result = state.run(stream, steps);
    state.keep_error(stream, result);
    state.pump();
    drop(state);
    changed();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Launch;
    use crate::settings::Settings;
    use std::collections::BTreeMap;

    /// Work that panics, here for want of a device, ends its item and becomes the error of the context.
    #[test]
    fn a_panic_is_the_error_of_the_context() {
        let mut state = State::new(Settings::read());
        let context = state.create_context(99, 0);
        let stream = state.contexts[&context].legacy;
        let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry f() { ret; }";
        let program = std::sync::Arc::new(ptx_sim::Program::parse(text).expect("valid"));
        let functions = BTreeMap::new();
        state
            .modules
            .insert(1, crate::model::Module { program, instance: 1, context: 0, managed: BTreeMap::new(), functions });
        let function = state.function_named(1, "f").expect("it has the function");
        let (grid, block, params) = ([1; 3], [1; 3], Vec::new());
        let launch = Launch { function, grid, block, shared: 0, params, cluster: None, cooperative: false };
        assert_eq!(state.enqueue(stream, Operation::Launch(launch)), Err(Code::UNKNOWN));
        assert!(state.has_ended(state.last(stream)));
        assert_eq!(state.check(context), Err(Code::UNKNOWN));
    }
}
