//! The capture of streams into graphs. What a capture does not allow makes it invalid: from then on, it can only be
//! ended, which gives no graph.

use super::State;
use crate::code::{Answer, Code};
use crate::model::{Capture, Graph, Handle, Operation, kind_of, thread};
use std::collections::HashSet;

impl State {
    /// Begins a capture in a stream; `is_relaxed` lets every thread end it.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` for the default stream, `ILLEGAL_STATE` if the stream is captured.
    pub fn begin_capture(&mut self, stream: Handle, is_relaxed: bool) -> Answer {
        if self.is_legacy(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let graph = self.handle();
        let known = self.streams.get_mut(&stream).ok_or(Code::INVALID_HANDLE)?;
        if known.capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let thread = (!is_relaxed).then(thread);
        known.capture = Some(Capture { graph, origin: true, after: Vec::new(), is_invalid: false, thread });
        self.graphs.insert(graph, Graph::default());
        Ok(())
    }

    /// Ends the capture that began in a stream, and returns its graph.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` without a capture, `STREAM_CAPTURE_UNMATCHED` if it began in another stream,
    /// `STREAM_CAPTURE_WRONG_THREAD` if it must end in another thread; these leave it as it is.
    /// `STREAM_CAPTURE_INVALIDATED` if it is invalid, `STREAM_CAPTURE_UNJOINED` if it has a stream that was not joined.
    pub fn end_capture(&mut self, stream: Handle) -> Answer<Handle> {
        let capture = self.streams.get(&stream).and_then(|stream| stream.capture.clone()).ok_or(Code::ILLEGAL_STATE)?;
        if !capture.origin {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.thread.is_some_and(|owner| owner != thread()) {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        // Every stream that was drawn in must have been joined: its last nodes come before one of the origin.
        let captures = self.streams.values().filter_map(|other| other.capture.as_ref());
        let others = captures.filter(|other| other.graph == capture.graph && !other.origin);
        let before = self.before(&capture.after);
        let is_joined = others.flat_map(|other| &other.after).all(|node| before.contains(node));
        if capture.is_invalid || !is_joined {
            self.abandon_capture(capture.graph);
            let code =
                if capture.is_invalid { Code::STREAM_CAPTURE_INVALIDATED } else { Code::STREAM_CAPTURE_UNJOINED };
            return Err(code);
        }
        self.release_captured(capture.graph);
        Ok(capture.graph)
    }

    /// Ends a capture without a graph.
    fn abandon_capture(&mut self, graph: Handle) {
        self.release_captured(graph);
        // The program may have destroyed it.
        let _ = self.remove_graph(graph);
    }

    /// Ends the captures that began in streams of a context, which is destroyed.
    pub(super) fn abandon_captures(&mut self, context: Handle) {
        let streams = self.streams.values().filter(|stream| stream.context == context);
        let began = streams.filter_map(|stream| stream.capture.as_ref()).filter(|capture| capture.origin);
        let graphs: Vec<Handle> = began.map(|capture| capture.graph).collect();
        graphs.into_iter().for_each(|graph| self.abandon_capture(graph));
    }

    fn release_captured(&mut self, graph: Handle) {
        // What an event stands for ends with the capture; it cannot be waited for until it is recorded again.
        for captured in self.events.values_mut().filter_map(|event| event.captured.as_mut()) {
            if captured.0 == graph {
                captured.1.clear();
            }
        }
        for stream in self.streams.values_mut() {
            stream.capture = stream.capture.take().filter(|capture| capture.graph != graph);
        }
    }

    /// Destroys a stream, which ends with its work.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such stream.
    pub fn destroy_stream(&mut self, stream: Handle) -> Answer {
        let known = self.streams.get_mut(&stream).filter(|known| !known.destroyed).ok_or(Code::INVALID_HANDLE)?;
        known.destroyed = true;
        let capture = known.capture.take();
        if known.done == known.issued {
            self.remove_stream(stream);
        }
        if let Some(capture) = capture.filter(|capture| capture.origin) {
            self.abandon_capture(capture.graph);
        }
        Ok(())
    }

    /// Whether a stream is still captured into a graph.
    pub fn is_capturing(&self, graph: Handle) -> bool {
        let mut captures = self.streams.values().filter_map(|stream| stream.capture.as_ref());
        captures.any(|capture| capture.graph == graph)
    }

    /// Makes a capture invalid, and returns the code of the call that did it.
    pub fn invalidate(&mut self, graph: Handle, code: Code) -> Code {
        let captures = self.streams.values_mut().filter_map(|stream| stream.capture.as_mut());
        captures.filter(|capture| capture.graph == graph).for_each(|capture| capture.is_invalid = true);
        code
    }

    /// Refuses what the captures of a stream, or those of others, do not allow: waits and questions.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` in a captured stream, `STREAM_CAPTURE_INVALIDATED` if that capture is invalid, and
    /// as [`State::refuse_implicit`].
    pub fn refuse_in_capture(&mut self, stream: Handle) -> Answer {
        self.refuse_implicit(stream)?;
        match self.streams.get(&stream).and_then(|stream| stream.capture.as_ref()) {
            Some(capture) if capture.is_invalid => Err(Code::STREAM_CAPTURE_INVALIDATED),
            Some(capture) => Err(self.invalidate(capture.graph, Code::STREAM_CAPTURE_UNSUPPORTED)),
            None => Ok(()),
        }
    }

    /// As [`State::refuse_in_capture`], of all streams of a context.
    ///
    /// # Errors
    /// As [`State::refuse_in_capture`].
    pub fn refuse_in_captures(&mut self, context: Handle) -> Answer {
        let of_context = self.streams.iter().filter(|(_, known)| known.context == context && known.capture.is_some());
        let streams: Vec<Handle> = of_context.map(|(stream, _)| *stream).collect();
        streams.into_iter().map(|stream| self.refuse_in_capture(stream)).fold(Ok(()), Answer::and)
    }

    /// Refuses the default stream while a stream that it waits for is captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_IMPLICIT`.
    pub(super) fn refuse_implicit(&mut self, stream: Handle) -> Answer {
        let graphs = self.implicit(stream);
        if graphs.is_empty() {
            return Ok(());
        }
        for graph in graphs {
            self.invalidate(graph, Code::STREAM_CAPTURE_IMPLICIT);
        }
        Err(Code::STREAM_CAPTURE_IMPLICIT)
    }

    /// The captures of streams that the default stream waits for; none for another stream.
    pub fn implicit(&self, stream: Handle) -> Vec<Handle> {
        let context = self.streams.get(&stream).map(|stream| stream.context).filter(|_| self.is_legacy(stream));
        let others = self.streams.values().filter(|other| Some(other.context) == context && other.is_blocking());
        others.filter_map(|other| other.capture.as_ref()).map(|capture| capture.graph).collect()
    }

    /// Adds an operation of a stream that is captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED` if the capture is invalid, and as [`State::add_node`].
    pub fn capture(&mut self, stream: Handle, operation: Operation) -> Answer {
        let capture = self.streams.get(&stream).and_then(|stream| stream.capture.clone());
        let Some(Capture { graph, after, is_invalid, .. }) = capture else { return Err(Code::INVALID_VALUE) };
        if is_invalid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let kind = kind_of(&operation);
        let node = self.add_node(graph, kind, operation, after)?;
        if let Some(capture) = self.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut()) {
            capture.after = vec![node];
        }
        Ok(())
    }

    /// Lets a stream wait for an event that was recorded in a capture, which draws the stream in.
    ///
    /// # Errors
    /// `CAPTURED_EVENT` if that capture has ended, `STREAM_CAPTURE_IMPLICIT` for the default stream,
    /// `STREAM_CAPTURE_MERGE` if the stream has another capture, `STREAM_CAPTURE_INVALIDATED` if one is invalid.
    pub fn wait_for_captured(&mut self, stream: Handle, (graph, nodes): (Handle, Vec<Handle>)) -> Answer {
        if !self.is_capturing(graph) {
            return Err(Code::CAPTURED_EVENT);
        }
        if self.is_legacy(stream) {
            return Err(self.invalidate(graph, Code::STREAM_CAPTURE_IMPLICIT));
        }
        let captures = self.streams.values().filter_map(|stream| stream.capture.as_ref());
        let first = captures.filter(|capture| capture.graph == graph).max_by_key(|capture| capture.origin).cloned();
        let known = self.streams.get_mut(&stream).ok_or(Code::INVALID_HANDLE)?;
        let is_invalid = |capture: &Option<Capture>| capture.as_ref().is_some_and(|capture| capture.is_invalid);
        if is_invalid(&first) || is_invalid(&known.capture) {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        match &mut known.capture {
            Some(capture) if capture.graph == graph => capture.after.extend(nodes),
            Some(capture) => {
                let other = capture.graph;
                self.invalidate(other, Code::STREAM_CAPTURE_MERGE);
                return Err(self.invalidate(graph, Code::STREAM_CAPTURE_MERGE));
            }
            none => *none = first.map(|first| Capture { origin: false, after: nodes, ..first }),
        }
        Ok(())
    }

    /// The error of a captured stream's wait for an event that no capture recorded, which makes its capture invalid.
    pub fn isolated(&mut self, stream: Handle) -> Code {
        match self.streams.get(&stream).and_then(|stream| stream.capture.as_ref()) {
            Some(capture) if capture.is_invalid => Code::STREAM_CAPTURE_INVALIDATED,
            Some(capture) => self.invalidate(capture.graph, Code::STREAM_CAPTURE_ISOLATION),
            None => Code::STREAM_CAPTURE_ISOLATION,
        }
    }

    /// These nodes, and those that come before them.
    fn before(&self, last: &[Handle]) -> HashSet<Handle> {
        let (mut open, mut seen) = (last.to_vec(), HashSet::new());
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(self.nodes.get(&next).map(|node| node.after.as_slice()).unwrap_or_default());
            }
        }
        seen
    }
}
