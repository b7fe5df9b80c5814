//! What the ranks' devices do together, between memory of devices.

use super::devices::{Group, Links, raw};
use crate::backend::{Collective, Handle, Message, Part, Reduction, Use, View};
use crate::device::Device;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use crate::reduce::{Max, Min, Op, Sum};

/// The stream of each device in which work is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// The stream that computes.
    Device,
    /// The stream that communicates meanwhile.
    Link,
}

/// An operation by which the elements of the ranks are combined.
pub(super) trait Combine<T>: Op<T> {
    /// The same operation.
    const REDUCTION: Reduction;
}
impl<T: Element> Combine<T> for Sum {
    const REDUCTION: Reduction = Reduction::Sum;
}
impl<T: Element> Combine<T> for Max {
    const REDUCTION: Reduction = Reduction::Max;
}
impl<T: Element> Combine<T> for Min {
    const REDUCTION: Reduction = Reduction::Min;
}

/// What a rank of this process gives, and where it gets the result. Both may be the same memory where there are as many
/// elements.
pub(super) type Ends<'a, T> = (View<'a, T>, View<'a, T>);

/// Computes what a rank gets, from what all ranks give.
pub(super) type Simulate<'s, T> = &'s mut dyn FnMut(&[Vec<T>], usize) -> Vec<T>;

/// Elements that one rank gives another.
pub(super) struct Transfer<'a, T> {
    /// The rank that gives them.
    pub from: usize,
    /// The rank that gets them.
    pub to: usize,
    /// Number of elements.
    pub len: usize,
    /// Where they are, if `from` is a rank of this process.
    pub source: Option<View<'a, T>>,
    /// Where they go, if `to` is one.
    pub target: Option<View<'a, T>>,
}

impl Group {
    /// Writes the elements of all ranks, in their order, to every rank. All have as many.
    pub(super) fn all_gather<T: Scalar>(&self, on: On, ends: &[Ends<'_, T>]) -> Result<()> {
        self.run(Collective::AllGather, on, ends, &mut |all, _| all.concat())
    }

    /// Writes the elements of one rank to every rank. The others give as many elements, which do not matter.
    pub(super) fn broadcast_from<T: Scalar>(&self, root: usize, on: On, ends: &[Ends<'_, T>]) -> Result<()> {
        self.run(Collective::Broadcast(root), on, ends, &mut |all, _| all[root].clone())
    }

    /// Writes the combination of the ranks' elements to every rank.
    pub(super) fn all_combine<O: Combine<T>, T: Element>(&self, on: On, ends: &[Ends<'_, T>]) -> Result<()> {
        self.run(Collective::AllReduce(O::REDUCTION), on, ends, &mut |all, _| combined::<O, T>(all))
    }

    /// Writes to each rank its part of the combination of the ranks' elements: a rank gives as many elements as all
    /// ranks get.
    pub(super) fn scatter_combined<O: Combine<T>, T: Element>(&self, on: On, ends: &[Ends<'_, T>]) -> Result<()> {
        self.run(Collective::ReduceScatter(O::REDUCTION), on, ends, &mut |all, rank| {
            let all = combined::<O, T>(all);
            let each = all.len() / self.size;
            all[rank * each..(rank + 1) * each].to_vec()
        })
    }

    /// Moves elements between pairs of ranks, all at once. Every rank passes the same list.
    pub(super) fn transfer<T: Scalar>(&self, on: On, transfers: &[Transfer<'_, T>]) -> Result<()> {
        let Links::Gpus(communicators) = &self.links else { return self.transfer_simulated(transfers) };
        let (mut messages, mut uses) = (Vec::new(), vec![Vec::new(); self.members.len()]);
        for transfer in transfers.iter().filter(|transfer| transfer.len > 0) {
            let ends = [(transfer.from, transfer.to, transfer.source), (transfer.to, transfer.from, transfer.target)];
            for (sends, (own, peer, view)) in [true, false].into_iter().zip(ends) {
                let Some(view) = view else { continue };
                let member = own - self.first;
                uses[member].push(if sends { view.reads() } else { view.writes() });
                let stream = raw(self.stream_of(member, on))?;
                messages.push(Message { member, stream, peer, sends, address: view.address(), bytes: view.bytes() });
            }
        }
        let streams: Vec<_> = (0..uses.len()).map(|member| (self.stream_of(member, on), &uses[member][..])).collect();
        let interrupt = || self.peers.check();
        // SAFETY: both ends have as many elements, and the streams' orders keep the memory until the work is done.
        in_order(streams, &mut || unsafe { communicators.transfer(&messages, &interrupt) })
    }

    /// Writes the elements of all ranks, in their order, to every rank; rank `r` gives those from `limits[r]` on.
    pub(super) fn gather_at<T: Scalar>(
        &self,
        limits: &[usize],
        on: On,
        own: &[View<'_, T>],
        to: &[View<'_, T>],
    ) -> Result<()> {
        let each = limits[1] - limits[0];
        if limits.windows(2).all(|pair| pair[1] - pair[0] == each) {
            let ends: Vec<_> = own.iter().copied().zip(to.iter().copied()).collect();
            return self.all_gather(on, &ends);
        }
        for root in 0..self.size {
            let ends = self.ranks().zip(own).zip(to).map(|((rank, own), to)| {
                let to = to.view(limits[root]..limits[root + 1])?;
                Ok((if rank == root { *own } else { to }, to))
            });
            self.broadcast_from(root, on, &ends.collect::<Result<Vec<_>>>()?)?;
        }
        Ok(())
    }

    /// Starts a collective; `simulate` computes what this rank gets from what all ranks give.
    fn run<T: Scalar>(&self, what: Collective, on: On, ends: &[Ends<'_, T>], simulate: Simulate<'_, T>) -> Result<()> {
        let gets = |count: usize| match what {
            Collective::AllGather => count * self.size,
            Collective::ReduceScatter(_) => count / self.size,
            Collective::AllReduce(_) | Collective::Broadcast(_) => count,
        };
        let given = ends[0].0.len();
        if ends.iter().any(|(from, to)| from.len() != given || to.len() != gets(given)) {
            return Err(Error::Mismatch("the ranks of a group give different numbers of elements".to_owned()));
        }
        if given == 0 {
            return Ok(());
        }
        if self.size == 1 {
            let (from, to) = ends[0];
            let device = self.stream_of(0, on);
            if from.address() == to.address() {
                return Ok(());
            }
            // SAFETY: both are memory of this device, of the same length; what a rank gives and gets is the same memory
            // or separate memory.
            let copy = || unsafe { device.backend().copy(to.address(), from.address(), from.bytes()) };
            return device.queue().work(&[from.reads(), to.writes()], copy);
        }
        let Links::Gpus(communicators) = &self.links else { return self.collective_simulated(what, ends, simulate) };
        let mut parts = Vec::new();
        let uses: Vec<[Use<'_>; 2]> = ends.iter().map(|(from, to)| [from.reads(), to.writes()]).collect();
        let mut streams = Vec::new();
        for (member, ((from, to), uses)) in ends.iter().zip(&uses).enumerate() {
            let stream = self.stream_of(member, on);
            parts.push(Part { stream: raw(stream)?, from: from.address(), to: to.address() });
            streams.push((stream, &uses[..]));
        }
        let count = if matches!(what, Collective::ReduceScatter(_)) { gets(given) } else { given };
        let interrupt = || self.peers.check();
        // SAFETY: the lengths were compared above, and the streams' orders keep the memory until the work is done.
        in_order(streams, &mut || unsafe { communicators.collective(what, T::DTYPE, count, &parts, &interrupt) })
    }

    /// A stream of a rank of this process.
    fn stream_of(&self, member: usize, on: On) -> &Device {
        match on {
            On::Device => &self.members[member].device,
            On::Link => &self.members[member].link,
        }
    }
}

/// The combination of as many elements of all ranks, in the order of the ranks.
fn combined<O: Op<T>, T: Element>(all: &[Vec<T>]) -> Vec<T> {
    let mut result = all[0].clone();
    for values in &all[1..] {
        result.iter_mut().zip(values).for_each(|(sum, &x)| *sum = O::combine(*sum, x));
    }
    result
}

/// Starts work that is in the order of several streams. Threads that use the same streams in other groups lock them in
/// the same order.
fn in_order(mut streams: Vec<(&Device, &[Use<'_>])>, start: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    streams.sort_by_key(|(stream, _)| stream.queue().stream().number());
    nested(&streams, start)
}

fn nested(streams: &[(&Device, &[Use<'_>])], start: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    match streams {
        [] => start(),
        [(stream, uses), rest @ ..] => stream.queue().work(uses, || nested(rest, start)),
    }
}
