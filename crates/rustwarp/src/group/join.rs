//! Groups of many processes, one rank each.

use super::peers::{Agreement, Peers};
use super::store::{Client, Hello};
use super::{Group, Launcher, Links, connect, members, next_id};
use crate::backend::{Communicators, nccl_version, new_id};
use crate::device::Device;
use crate::error::Result;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often a thread looks whether a rank has ended.
const WATCH: Duration = Duration::from_millis(20);

impl Group {
    /// Joins the ranks of the launcher's other processes with this device, and returns when all have joined. Every
    /// process makes the same calls of the group, in the same order.
    ///
    /// If a rank ends, work on the other GPUs that waits for it is aborted, so that also plain waits for the device
    /// return; the next call of the group reports which rank it was.
    ///
    /// # Errors
    /// [`Error::Group`](crate::Error::Group) that names the ranks that do not join in time, that have another version
    /// of this library or of NCCL, or another kind of device, and for a secret that rank 0 does not accept;
    /// [`Error::Unsupported`](crate::Error::Unsupported) for GPUs without NCCL,
    /// [`Error::Device`](crate::Error::Device) if NCCL fails.
    pub fn join(device: Device, launcher: &Launcher) -> Result<Self> {
        let gpu = device.info().is_gpu();
        let nccl = if gpu { nccl_version()? } else { String::new() };
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nccl,
            device: if gpu { "gpu" } else { "sim" }.to_owned(),
            host: format!("{} process {}", hostname(), std::process::id()),
        };
        let client = Client::join(launcher, hello)?;
        let (first, size) = (launcher.rank, launcher.size);
        let peers = Arc::new(Peers::Processes(client));
        let members = members(vec![device])?;
        let links = peers.report(match gpu && size > 1 {
            true => link(&members, size, first, &peers),
            false => Ok(Links::Simulated),
        })?;
        let keeper = match &links {
            Links::Gpus(communicators) => Some(keep(Arc::downgrade(communicators), Arc::downgrade(&peers))),
            Links::Simulated => None,
        };
        Ok(Self { id: next_id(), members, first, size, links, peers, keeper })
    }
}

/// Connects the GPUs of all ranks, with an id that rank 0 makes.
fn link(members: &[super::Member], size: usize, first: usize, peers: &Peers) -> Result<Links> {
    let own = if first == 0 { new_id()? } else { Vec::new() };
    let ids = peers.exchange("connecting the GPUs", vec![own])?;
    connect(members, size, first, &ids[0], &|| peers.check())
}

/// Starts a thread that awaits what the ranks post about work that GPUs do meanwhile. It aborts communication when the
/// ranks differ, one does not come, or one has ended: the devices would wait for it for ever.
fn keep(communicators: Weak<Communicators>, peers: Weak<Peers>) -> Sender<Agreement> {
    let (sender, receiver) = channel::<Agreement>();
    std::thread::spawn(move || {
        loop {
            let next = receiver.recv_timeout(WATCH);
            let (Some(communicators), Some(peers)) = (communicators.upgrade(), peers.upgrade()) else { return };
            let fine = match next {
                Ok(agreement) => peers.await_all(agreement),
                Err(RecvTimeoutError::Timeout) => peers.check(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if fine.is_err() {
                return communicators.abort();
            }
        }
    });
    sender
}

/// The name of this machine.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a machine without a name".to_owned() } else { name.trim().to_owned() }
}
