//! A thread that awaits what the ranks post about work that GPUs do meanwhile.

use super::peers::{Agreement, Peers};
use crate::backend::Communicators;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread looks whether a rank has ended.
const WATCH: Duration = Duration::from_millis(20);

/// A thread that aborts communication when the ranks differ, one does not come in time, or one has ended: the devices
/// would wait for it for ever. It ends with this value, which waits for it: NCCL must not be in a call when a process
/// exits.
pub(super) struct Keeper {
    /// `None` while this value is dropped.
    sender: Option<Sender<Agreement>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Device`] if this machine starts no thread.
    pub fn start(communicators: &Arc<Communicators>, peers: &Arc<Peers>) -> Result<Self> {
        let (sender, receiver) = channel();
        let (communicators, peers) = (Arc::clone(communicators), Arc::clone(peers));
        let thread = std::thread::Builder::new().name("group".to_owned());
        let thread = thread.spawn(move || watch(&receiver, &communicators, &peers));
        let thread = thread.map_err(|error| Error::Device(format!("watching the ranks of a group: {error}")))?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Leaves the wait for an agreement to the thread.
    pub fn keep(&self, agreement: Agreement) {
        if let Some(sender) = &self.sender {
            // The thread has ended only if the group has failed, which the caller checks.
            let _ = sender.send(agreement);
        }
    }
}

fn watch(receiver: &Receiver<Agreement>, communicators: &Communicators, peers: &Peers) {
    loop {
        let fine = match receiver.recv_timeout(WATCH) {
            Ok(agreement) => peers.await_all(agreement),
            Err(RecvTimeoutError::Timeout) => peers.check(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if fine.is_err() {
            return communicators.abort();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed.
            let _ = thread.join();
        }
    }
}
