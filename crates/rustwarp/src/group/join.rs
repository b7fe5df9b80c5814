//! Groups of many processes, one rank each.

use super::devices::{Group, Links, Member, connect, members};
use super::launcher::Launcher;
use super::peers::Peers;
use super::store::{Client, Hello};
use crate::backend::{nccl_version, new_id};
use crate::device::Device;
use crate::error::Result;
use std::sync::Arc;

impl Group {
    /// Joins the ranks of the launcher's other processes with this device, and returns when all have joined. Every
    /// process makes the same calls of the group, in the same order.
    ///
    /// If a rank ends, work on the other GPUs that waits for it is aborted, so that also plain waits for the device
    /// return; the next call of the group reports which rank it was. What the devices have then is no result: call
    /// [`Group::synchronize`] or a function of the group before memory is used otherwise.
    ///
    /// # Errors
    /// [`Error::Group`](crate::Error::Group) that names the ranks that do not join in time, that have another version
    /// of this library or of NCCL, or another kind of device, and for a secret that rank 0 does not accept;
    /// [`Error::Unsupported`](crate::Error::Unsupported) for GPUs without NCCL,
    /// [`Error::Device`](crate::Error::Device) if NCCL fails.
    pub fn join(device: Device, launcher: &Launcher) -> Result<Self> {
        let gpu = device.info().is_gpu();
        let nccl = if gpu && launcher.size > 1 { nccl_version()? } else { String::new() };
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nccl,
            device: if gpu { "gpu" } else { "sim" }.to_owned(),
            host: format!("{} process {}", hostname(), std::process::id()),
        };
        let client = Client::join(launcher, hello)?;
        let (first, size) = (launcher.rank, launcher.size);
        let peers = Arc::new(Peers::Processes(Box::new(client)));
        let members = members(vec![device])?;
        let links = peers.report(match gpu && size > 1 {
            true => link(&members, size, first, &peers),
            false => Ok(Links::Simulated),
        })?;
        Self::with(members, first, size, links, peers)
    }
}

/// Connects the GPUs of all ranks, with an id that rank 0 makes.
fn link(members: &[Member], size: usize, first: usize, peers: &Peers) -> Result<Links> {
    let own = if first == 0 { new_id()? } else { Vec::new() };
    let ids = peers.exchange("connecting the GPUs", vec![own])?;
    connect(members, size, first, &ids[0], &|| peers.check())
}

/// The name of this machine.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a machine without a name".to_owned() } else { name.trim().to_owned() }
}
