//! A thread that watches the communication of GPUs, and awaits what the ranks post about work that they do meanwhile.

use super::peers::{Agreement, Peers};
use crate::backend::Communicators;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread looks whether a rank has ended.
const WATCH: Duration = Duration::from_millis(20);

/// A thread that aborts communication when the ranks differ, one does not come in time, one has ended, or NCCL reports
/// an error of a link: the devices would wait for ever. A call of NCCL that blocks in the host is not ended. The thread
/// ends with this value, which waits for it: NCCL must not be in a call when a process exits.
pub(super) struct Keeper {
    /// `None` while this value is dropped.
    sender: Option<Sender<Task>>,
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

    /// Leaves the wait for an agreement to the thread, which sends the outcome. Nothing is sent if the thread has
    /// ended, which it does only when the group has failed.
    pub fn keep(&self, agreement: Agreement) -> Receiver<Result<()>> {
        let (outcome, receiver) = channel();
        if let Some(sender) = &self.sender {
            let _ = sender.send(Task { agreement, outcome });
        }
        receiver
    }
}

/// An agreement to wait for.
struct Task {
    agreement: Agreement,
    outcome: Sender<Result<()>>,
}

fn watch(receiver: &Receiver<Task>, communicators: &Communicators, peers: &Peers) {
    loop {
        let (fine, outcome) = match receiver.recv_timeout(WATCH) {
            Ok(Task { agreement, outcome }) => (peers.await_all(agreement), Some(outcome)),
            // An error of the links between GPUs is known to NCCL alone.
            Err(RecvTimeoutError::Timeout) => {
                let linked = communicators.check().inspect_err(|error| peers.fail(error));
                (peers.check().and(linked), None)
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let failed = fine.is_err();
        if let Err(error) = &fine {
            communicators.abort(error);
        }
        if let Some(outcome) = outcome {
            // Calls whose results stay on the devices do not wait for it.
            let _ = outcome.send(fine);
        }
        if failed {
            return;
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
