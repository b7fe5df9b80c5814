//! The frames that wait to be sent on one connection, and the thread that sends them.

use super::frame::{Frame, Kind};
use super::timed::{deadline, wait_until};
use crate::sync::lock;
use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// The frames that wait to be sent on one connection. No call waits for the network but [`Sender::run`].
#[derive(Default)]
pub struct Sender {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Frame>,
    /// No frame is added any more.
    is_closed: bool,
}

impl Sender {
    /// Adds a frame, unless the sender is closed.
    pub fn push(&self, frame: Frame) {
        let mut state = lock(&self.state);
        if !state.is_closed {
            state.frames.push_back(frame);
            self.changed.notify_all();
        }
    }

    /// Closes the sender: it ends behind the frames that wait, and this last one.
    pub fn finish(&self, last: Frame) {
        let mut state = lock(&self.state);
        if !state.is_closed {
            state.frames.push_back(last);
            state.is_closed = true;
            self.changed.notify_all();
        }
    }

    /// Closes the sender: the frames that wait are dropped, and it ends behind this last one.
    pub fn cut(&self, last: Option<Frame>) {
        let mut state = lock(&self.state);
        state.frames.clear();
        state.frames.extend(last);
        state.is_closed = true;
        self.changed.notify_all();
    }

    /// Sends the frames, and a sign of life where there are none for an interval, until the sender is closed or the
    /// connection is. Then this direction of the connection is shut down.
    pub fn run(&self, mut stream: &TcpStream, heartbeat: Duration) {
        while let Some(frame) = self.next(heartbeat) {
            if frame.write(&mut stream).is_err() {
                // The reader of this connection finds the reason.
                self.cut(None);
            }
        }
        // An error means that the connection is closed already.
        let _ = stream.shutdown(Shutdown::Write);
    }

    /// The next frame to send; `None` if the sender is closed.
    fn next(&self, heartbeat: Duration) -> Option<Frame> {
        let next_beat = deadline(heartbeat);
        let mut state = lock(&self.state);
        loop {
            if let Some(frame) = state.frames.pop_front() {
                return Some(frame);
            }
            if state.is_closed {
                return None;
            }
            let in_time;
            (state, in_time) = wait_until(&self.changed, state, next_beat);
            if !in_time {
                return Some(Frame::new(Kind::Beat));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sender: &Sender) -> Vec<Kind> {
        std::iter::from_fn(|| sender.next(Duration::from_secs(60))).map(|frame| frame.kind).collect()
    }

    #[test]
    fn finish_sends_what_waits() {
        let sender = Sender::default();
        sender.push(Frame::new(Kind::Post));
        sender.finish(Frame::new(Kind::Bye));
        sender.push(Frame::new(Kind::Post));
        assert_eq!(kinds(&sender), [Kind::Post, Kind::Bye]);
    }

    #[test]
    fn cut_drops_what_waits() {
        let sender = Sender::default();
        sender.push(Frame::new(Kind::Post));
        sender.cut(Some(Frame::new(Kind::Fail)));
        sender.push(Frame::new(Kind::Post));
        assert_eq!(kinds(&sender), [Kind::Fail]);
        sender.cut(None);
        assert_eq!(kinds(&sender), []);
    }

    #[test]
    fn silence_is_a_beat() {
        let frame = Sender::default().next(Duration::from_millis(1));
        assert_eq!(frame.map(|frame| frame.kind), Some(Kind::Beat));
    }
}
