//! Several devices that work as one: GPUs of one process, of many processes, of many machines, or simulators.
//!
//! ```no_run
//! let group = rustwarp::Group::all()?; // every GPU of this machine
//! let x = group.shard(&vec![1.0_f32; 1 << 20])?; // each has a part
//! assert_eq!(group.sum(&x)?, 1048576.0);
//! # Ok::<(), rustwarp::Error>(())
//! ```
//!
//! - [`Group`]: the devices, each of which is a *rank*. [`Group::of`] takes devices of this process; [`Group::join`]
//!   joins the ranks of other processes, one device each, which a [`Launcher`] has started.
//! - [`Sharded`]: memory of which each rank has a part. [`Replicated`]: memory of which each rank has a copy.
//! - Functions over both, whose results every rank gets: [`Group::sum`], [`Group::max`], [`Group::min`],
//!   [`Group::exact_sum`], [`Group::dot`], [`Group::histogram`], [`Group::inclusive_scan`], [`Group::segmented_sum`],
//!   [`Group::matmul`], [`Group::matmul_blocks`].
//!
//! In a group of many processes every rank makes the same calls in the same order. Ranks that differ, a rank that does
//! not come within the time-out, and one that ends are errors on all other ranks, which name it.
//!
//! GPUs communicate by NCCL, which is opened at run time; simulators through memory, or through the store of rank 0.
//!
//! - *Error bounds*: those of the functions for one device, with as many additions more as there are ranks.
//! - *Determinism*: the results of the ranks are combined in their order. So bits are fixed by length, grid and number
//!   of ranks; [`Group::exact_sum`] has the same bits for any number of ranks.

mod blocks;
mod collectives;
mod dot;
mod exact_sum;
mod gather;
mod histogram;
mod join;
mod launcher;
mod matmul;
mod peers;
mod reduce;
mod replicated;
mod scan;
mod segreduce;
mod sharded;
mod simulated;
mod store;

pub use blocks::{Blocks, Grid};
pub use launcher::Launcher;
pub use replicated::Replicated;
pub use sharded::Sharded;

use crate::backend::{Communicators, gpus, new_id};
use crate::device::Device;
use crate::error::{Error, Result};
use peers::{Agreement, Peers};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// Devices that work as one. Each is a rank, counted from 0; see the [module](self).
pub struct Group {
    /// Tells groups of a process apart.
    id: u64,
    /// The ranks of this process.
    members: Vec<Member>,
    /// Rank of the first of them.
    first: usize,
    /// Number of all ranks.
    size: usize,
    links: Links,
    peers: Arc<Peers>,
    /// The thread that awaits what other processes post, where GPUs do the work meanwhile.
    keeper: Option<Sender<Agreement>>,
}

/// A rank of this process.
struct Member {
    /// The device, whose stream computes.
    device: Device,
    /// A stream that communicates while the other computes.
    link: Device,
}

/// How the ranks' devices communicate.
enum Links {
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
        Ok(Self { id: next_id(), members, first: 0, size, links, peers: Arc::new(Peers::Here), keeper: None })
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
    /// [`Error::Group`] if a rank is missing or has ended; [`Error::Fault`] if a kernel faulted.
    pub fn synchronize(&self) -> Result<()> {
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
    fn together<R>(&self, what: impl FnOnce() -> String, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let agreement = self.peers.agree(what)?;
        let result = self.settled(self.peers.report(work()))?;
        match &self.keeper {
            // The thread is gone only after an error of the group, which is reported below.
            Some(keeper) => drop(keeper.send(agreement)),
            None => self.peers.await_all(agreement)?,
        }
        self.peers.check()?;
        Ok(result)
    }

    /// Does work of all ranks that ends in a result on the host.
    fn agreed<R>(&self, what: impl FnOnce() -> String, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let agreement = self.peers.agree(what)?;
        let result = self.settled(self.peers.report(work()))?;
        self.peers.await_all(agreement)?;
        self.peers.check()?;
        Ok(result)
    }

    /// The result of waiting for a device, or the error of the group if a rank has ended: the device's work has been
    /// aborted then.
    fn settled<R>(&self, result: Result<R>) -> Result<R> {
        self.peers.check()?;
        result
    }

    /// Checks that memory belongs to this group.
    fn require(&self, id: u64, what: &str) -> Result<()> {
        if id == self.id {
            return Ok(());
        }
        Err(Error::Mismatch(format!("{what} belongs to another group of devices: shard it in this one")))
    }
}

/// Streams of the devices.
fn members(devices: Vec<Device>) -> Result<Vec<Member>> {
    devices.into_iter().map(|device| Ok(Member { link: device.stream()?, device })).collect()
}

/// Connects the GPUs of this process with those of all ranks.
fn connect(
    members: &[Member],
    size: usize,
    first: usize,
    id: &[u8],
    interrupt: &dyn Fn() -> Result<()>,
) -> Result<Links> {
    let streams = members.iter().map(|member| collectives::raw(&member.device)).collect::<Result<Vec<_>>>()?;
    let devices: Vec<Device> = members.iter().map(|member| member.device.clone()).collect();
    // SAFETY: the devices keep their contexts.
    let connected = unsafe { Communicators::connect(size, first, (&streams, Box::new(devices)), id, interrupt)? };
    Ok(Links::Gpus(Arc::new(connected)))
}

/// The number of a new group.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices: Vec<_> = self.devices().map(|device| device.info().device.clone()).collect();
        write!(f, "Group(ranks {:?} of {}: {})", self.ranks(), self.size, devices.join(", "))
    }
}
