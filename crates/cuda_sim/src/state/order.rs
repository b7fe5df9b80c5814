//! The order of the work of all streams and the host, as the program asks for it: known when work is enqueued, whatever
//! the order in which it runs.
//!
//! All threads of the host count as one, since nothing here sees how they wait for each other.

use super::State;
use crate::entry::current_call;
use crate::model::{Clock, Handle, Token, Work};
use std::sync::Arc;

impl State {
    /// Gives the item that is enqueued next its place in the order.
    pub(super) fn place(&mut self, stream: Handle) -> Option<Arc<Work>> {
        if !self.settings.streams {
            return None;
        }
        let mut clock = self.streams.get(&stream)?.clock.clone();
        clock.join(&self.races.host);
        self.default_clocks(stream).for_each(|other| clock.join(other));
        let this = self.streams.get_mut(&stream)?;
        let token = Token { stream, number: this.issued + 1 };
        let work = Work { token, clock: clock.clone(), call: current_call() };
        clock.add(token);
        this.clock = clock;
        Some(Arc::new(work))
    }

    /// The clocks of streams that this one follows by the rules of the default stream.
    fn default_clocks(&self, stream: Handle) -> impl Iterator<Item = &Clock> {
        let this = self.streams.get(&stream).filter(|this| this.is_blocking());
        let context = this.map(|this| this.context);
        let legacy = context.and_then(|context| self.contexts.get(&context)).map_or(0, |context| context.legacy);
        let others = self.streams.iter().filter(move |(other, known)| {
            Some(known.context) == context && known.is_blocking() && (stream == legacy || **other == legacy)
        });
        others.map(|(_, known)| &known.clock)
    }

    /// Removes a stream whose work has run. What waits for the context, or for its streams by the rules of the default
    /// stream, still follows that work.
    pub(super) fn remove_stream(&mut self, stream: Handle) {
        let Some(mut removed) = self.streams.remove(&stream) else { return };
        removed.clock.remove(&self.races.host);
        let Some(context) = self.contexts.get_mut(&removed.context) else { return };
        context.gone.join(&removed.clock);
        let legacy = context.legacy;
        if removed.is_blocking() {
            self.stream_follows(legacy, &removed.clock);
        }
    }

    /// The work of a context's streams that are gone, or of all contexts for the handle 0.
    pub fn clocks_of_gone(&self, context: Handle) -> Vec<Clock> {
        let of = self.contexts.iter().filter(|(number, _)| context == 0 || **number == context);
        of.map(|(_, context)| context.gone.clone()).collect()
    }

    /// What a stream has done when its work so far has ended.
    pub fn clock_of(&self, stream: Handle) -> Clock {
        self.streams.get(&stream).map(|stream| stream.clock.clone()).unwrap_or_default()
    }

    /// Lets later work of a stream follow what a clock has.
    pub fn stream_follows(&mut self, stream: Handle, clock: &Clock) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock.join(clock);
        }
    }

    /// Lets later calls of the host follow what a clock has: the host has waited for it.
    pub fn host_follows(&mut self, clock: &Clock) {
        if self.settings.streams {
            self.races.host.join(clock);
            let host = &self.races.host;
            self.contexts.values_mut().for_each(|context| context.gone.remove(host));
            self.unwatch(clock);
            self.races.forget();
            self.forget_streams();
        }
    }
}
