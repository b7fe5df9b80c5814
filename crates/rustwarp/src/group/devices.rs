//! The devices of a group.

use super::keeper::Keeper;
use super::kept::Kept;
use super::peers::Peers;
use crate::backend::{Communicators, RawStream, gpus, new_id};
use crate::device::Device;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

/// Devices that work as one. Each is a rank, counted from 0; see the [module](super).
pub struct Group {
    /// Tells groups of a process apart.
    pub(super) id: u64,
    /// The ranks of this process.
    pub(super) members: Vec<Member>,
    /// Rank of the first of them.
    pub(super) first: usize,
    /// Number of all ranks.
    pub(super) size: usize,
    /// The thread that watches NCCL, and awaits what other processes post, where GPUs communicate.
    pub(super) keeper: Option<Keeper>,
    pub(super) links: Links,
    pub(super) peers: Arc<Peers>,
    /// What calls have allocated, for later ones.
    pub(super) kept: Kept,
    /// Held while the places in front of the elements of an operand are in use.
    pub(super) heads: Mutex<()>,
}

/// A rank of this process.
pub(super) struct Member {
    /// The device, whose stream computes.
    pub device: Device,
    /// A stream that communicates while the other computes.
    pub link: Device,
}

/// How the ranks' devices communicate.
pub(super) enum Links {
    /// There is one rank, or all are simulators.
    Simulated,
    /// By NCCL.
    Gpus(Arc<Communicators>),
}

impl Group {
    /// The devices of this process as a group: all GPUs, or all simulators. A device's rank is its place.
    ///
    /// # Errors
    /// [`Error::Argument`] for no devices, for GPUs beside simulators, and for a GPU that is there twice;
    /// [`Error::Unsupported`] for several GPUs without NCCL; [`Error::Device`] if NCCL fails.
    pub fn of(devices: Vec<Device>) -> Result<Self> {
        let size = devices.len();
        if size == 0 {
            return Err(Error::Argument("a group has at least one device".to_owned()));
        }
        let of_gpus = devices.iter().filter(|device| device.info().is_gpu()).count();
        if of_gpus != 0 && of_gpus != size {
            let text = format!("a group has GPUs or simulators, not {of_gpus} GPUs and {} simulators", size - of_gpus);
            return Err(Error::Argument(text));
        }
        for (index, device) in devices.iter().enumerate() {
            let name = &device.info().device;
            if of_gpus != 0 && devices[..index].iter().any(|other| other.info().device == *name) {
                return Err(Error::Argument(format!("{name} is there twice: each GPU is one rank of a group")));
            }
        }
        let members = members(devices)?;
        let links = match of_gpus {
            0 | 1 => Links::Simulated,
            _ => connect(&members, size, 0, &new_id()?, &|| Ok(()))?,
        };
        Self::with(members, 0, size, links, Arc::new(Peers::here()))
    }

    /// The group of these ranks of this process.
    pub(super) fn with(
        members: Vec<Member>,
        first: usize,
        size: usize,
        links: Links,
        peers: Arc<Peers>,
    ) -> Result<Self> {
        let keeper = match &links {
            Links::Gpus(communicators) => Some(Keeper::start(communicators, &peers)?),
            Links::Simulated => None,
        };
        let id = next_id();
        Ok(Self { id, members, first, size, links, peers, keeper, kept: Kept::default(), heads: Mutex::default() })
    }

    /// Every GPU of this machine that the driver lists.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is none, and those of [`Group::of`].
    pub fn all() -> Result<Self> {
        let count = gpus()?.len() as u32;
        if count == 0 {
            return Err(Error::NoDevice("the driver finds no GPU: check CUDA_VISIBLE_DEVICES".to_owned()));
        }
        Self::gpus(count)
    }

    /// The first `count` GPUs of this machine.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there are fewer, and those of [`Group::of`].
    pub fn gpus(count: u32) -> Result<Self> {
        Self::of((0..count).map(Device::gpu).collect::<Result<_>>()?)
    }

    /// As many simulated devices, which run one after the other.
    ///
    /// # Errors
    /// Those of [`Group::of`].
    pub fn simulated(count: usize) -> Result<Self> {
        Self::of((0..count).map(|_| Device::sim()).collect::<Result<_>>()?)
    }

    /// Number of ranks of all processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The ranks of this process.
    pub fn ranks(&self) -> Range<usize> {
        self.first..self.first + self.members.len()
    }

    /// The devices of this process, in the order of their ranks.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.members.iter().map(|member| &member.device)
    }

    /// Waits until all ranks have come here, and the devices of this process have done all work.
    ///
    /// # Errors
    /// [`Error::Group`] if a rank is missing or has ended, or an error has ended communication: results of earlier
    /// calls may be undefined then. [`Error::Fault`] if a kernel faulted.
    pub fn synchronize(&self) -> Result<()> {
        self.linked()?;
        let agreement = self.peers.agree(|| "a barrier".to_owned())?;
        self.peers.await_all(agreement)?;
        for member in &self.members {
            self.settled(member.device.synchronize())?;
            self.settled(member.link.synchronize())?;
        }
        Ok(())
    }

    /// Starts work that all ranks start together; `what` describes it, and is the same on all of them. Errors of this
    /// rank end the work of the others.
    pub(super) fn together<R>(&self, what: impl FnOnce() -> String, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.begin(what)?;
        self.settled(self.peers.report(work()))
    }

    /// Does work of all ranks that ends in a result on the host.
    pub(super) fn agreed<R>(&self, what: impl FnOnce() -> String, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let verdict = self.begin(what)?;
        let result = self.settled(self.peers.report(work()))?;
        if let Some(verdict) = verdict {
            // The thread ends without an answer only after an error of the group.
            verdict.recv().unwrap_or_else(|_| self.peers.check())?;
        }
        self.peers.check()?;
        Ok(result)
    }

    /// Posts what all ranks start together. Where GPUs do the work, a thread awaits the other ranks meanwhile, from now
    /// on: a rank that does not come would block the devices, and so any wait for them. Elsewhere the host waits here.
    fn begin(&self, what: impl FnOnce() -> String) -> Result<Option<Receiver<Result<()>>>> {
        for member in &self.members {
            member.device.refuse_in_capture("communicating between devices")?;
        }
        self.linked()?;
        let agreement = self.peers.agree(what)?;
        match &self.keeper {
            Some(keeper) if agreement.is_open() => Ok(Some(keeper.keep(agreement))),
            _ => self.peers.await_all(agreement).map(|()| None),
        }
    }

    /// The result of waiting for a device, or the error of the group if a rank has ended, or that has ended
    /// communication: the device's work has been aborted then.
    pub(super) fn settled<R>(&self, result: Result<R>) -> Result<R> {
        self.peers.check()?;
        let value = result?;
        self.linked()?;
        Ok(value)
    }

    /// Checks that no error has ended the communication of GPUs.
    fn linked(&self) -> Result<()> {
        match &self.links {
            Links::Gpus(communicators) => communicators.ended(),
            Links::Simulated => Ok(()),
        }
    }

    /// Checks that memory belongs to this group.
    pub(super) fn require(&self, id: u64, what: &str) -> Result<()> {
        if id == self.id {
            return Ok(());
        }
        Err(Error::Mismatch(format!("{what} belongs to another group of devices: shard it in this one")))
    }
}

/// Streams of the devices.
pub(super) fn members(devices: Vec<Device>) -> Result<Vec<Member>> {
    devices.into_iter().map(|device| Ok(Member { link: device.stream()?, device })).collect()
}

/// Connects the GPUs of this process with those of all ranks.
pub(super) fn connect(
    members: &[Member],
    size: usize,
    first: usize,
    id: &[u8],
    interrupt: &dyn Fn() -> Result<()>,
) -> Result<Links> {
    let streams = members.iter().map(|member| raw(&member.device)).collect::<Result<Vec<_>>>()?;
    let devices: Vec<Device> = members.iter().map(|member| member.device.clone()).collect();
    // SAFETY: the devices keep their contexts.
    let connected = unsafe { Communicators::connect(size, first, (&streams, Box::new(devices)), id, interrupt)? };
    Ok(Links::Gpus(Arc::new(connected)))
}

/// The driver's handles of a stream.
///
/// # Errors
/// [`Error::Unsupported`] for a simulator.
pub(super) fn raw(stream: &Device) -> Result<RawStream> {
    stream.streams()?.raw().ok_or_else(|| Error::Unsupported("NCCL connects GPUs alone".to_owned()))
}

/// The number of a new group.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Group {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others would wait for what this rank does not do any more.
            let _ = self.peers.report::<()>(Err(Error::Device("it panicked".to_owned())));
        }
        // Communication under way would be aborted with the communicators. If a rank has ended, or does not come, the
        // thread of the group aborts it, which ends these waits; errors were reported to earlier calls or are theirs.
        if matches!(self.links, Links::Gpus(_)) && self.peers.check().is_ok() {
            for member in &self.members {
                let _ = member.link.synchronize();
                let _ = member.device.synchronize();
            }
        }
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices: Vec<_> = self.devices().map(|device| device.info().device.clone()).collect();
        write!(f, "Group(ranks {:?} of {}: {})", self.ranks(), self.size, devices.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_abort_of_communication_no_wait_succeeds() {
        let simulators = (0..2).map(|_| Device::sim()).collect::<Result<Vec<_>>>().expect("simulators");
        let communicators = Arc::new(Communicators::of_none());
        let links = Links::Gpus(Arc::clone(&communicators));
        let members = members(simulators).expect("streams");
        let group = Group::with(members, 0, 2, links, Arc::new(Peers::here())).expect("a group");
        group.synchronize().expect("no error yet");
        communicators.abort(&Error::Device("a link".to_owned()));
        let calls = [group.synchronize(), group.settled(Ok(())), group.together(|| "a call".to_owned(), || Ok(()))];
        for found in calls {
            assert!(matches!(&found, Err(Error::Group(reason)) if reason.contains("a link")), "{found:?}");
        }
    }
}
