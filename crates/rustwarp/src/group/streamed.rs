//! Functions over inputs that are larger than the memory of all devices: each rank streams a range of the elements.
//!
//! The ranges are those of a [`Sharded`](super::Sharded) vector. Each rank of this process reads its range by threads
//! of its own; [`streamed`] describes the pipeline.

use super::collectives::On;
use super::devices::Group;
use super::sharded::limits;
use crate::backend::View;
use crate::device::Device;
use crate::dot::Real;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use crate::histogram::{Bins, Counted};
use crate::matmul::Real as Factor;
use crate::reduce::{Op, Sum};
use crate::scan::Kind;
use crate::streamed::{self, Progress, Settings, Sink, Source, Total};
use kernels_gpu::operator::Operator;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

impl Group {
    /// Reduces the first `elements` elements of a source by `O`, as [`streamed::reduce`] does; the ranks' values are
    /// combined in their order.
    ///
    /// # Errors
    /// Those of [`streamed::reduce`], and [`Error::Group`] if ranks differ or end.
    pub fn reduce_streamed<O: Op<T>, T: Element>(
        &self,
        source: &dyn Source,
        elements: u64,
        settings: &Settings<'_>,
    ) -> Result<Total<T>> {
        let what = || format!("reduce_streamed of {elements} {} by {}", T::DTYPE, O::NAME);
        self.agreed(what, || {
            let stop = AtomicBool::new(false);
            let source = self.guarded(source, &stop);
            let own = self.each(elements, settings, &stop, |_, device, range, settings| {
                streamed::reduce::<O, T>(device, &source, range, settings)
            })?;
            self.total(own, O::identity(), O::combine)
        })
    }

    /// Dot product of the first `elements` elements of two sources, as [`streamed::dot`] computes it; the ranks'
    /// products are added in their order.
    ///
    /// # Errors
    /// Those of [`streamed::dot`], and [`Error::Group`] if ranks differ or end.
    pub fn dot_streamed<T: Element + Real>(
        &self,
        sources: [&dyn Source; 2],
        elements: u64,
        settings: &Settings<'_>,
    ) -> Result<Total<T>> {
        self.agreed(
            || format!("dot_streamed of {elements} {}", T::DTYPE),
            || {
                let stop = AtomicBool::new(false);
                let [a, b] = sources.map(|source| self.guarded(source, &stop));
                let own = self.each(elements, settings, &stop, |_, device, range, settings| {
                    streamed::dot::<T>(device, [&a, &b], range, settings)
                })?;
                self.total(own, Sum::identity(), Sum::combine)
            },
        )
    }

    /// Counts the first `elements` elements of a source, as [`streamed::histogram`] does. Every rank gets the counts.
    ///
    /// # Errors
    /// Those of [`streamed::histogram`], and [`Error::Group`] if ranks differ or end.
    pub fn histogram_streamed<S: Counted>(
        &self,
        source: &dyn Source,
        elements: u64,
        bins: Bins<S>,
        settings: &Settings<'_>,
    ) -> Result<Vec<u64>>
    where
        Bins<S>: Sync,
    {
        self.agreed(
            || format!("histogram_streamed of {elements} elements in {} bins", bins.count()),
            || {
                let stop = AtomicBool::new(false);
                let source = self.guarded(source, &stop);
                let own = self.each(elements, settings, &stop, |_, device, range, settings| {
                    streamed::histogram(device, &source, range, bins, settings)
                })?;
                let own = self.devices().zip(&own).map(|(device, counts)| device.upload(counts));
                let own = own.collect::<Result<Vec<_>>>()?;
                let ends: Vec<_> = own.iter().map(|counts| (View::from(counts), View::from(counts))).collect();
                self.all_combine::<Sum, u64>(On::Device, &ends)?;
                self.members[0].device.download_async(&own[0])?.wait()
            },
        )
    }

    /// Scans the first `elements` elements of a source by `O` into a sink, as [`streamed::scan`] does. A rank reads its
    /// range twice: the results of the ranks before must be known when it writes. Each rank of a group of many
    /// processes writes its own range.
    ///
    /// # Errors
    /// Those of [`streamed::scan`], and [`Error::Group`] if ranks differ or end.
    pub fn scan_streamed<O: Op<T>, T: Element>(
        &self,
        source: &dyn Source,
        elements: u64,
        kind: Kind,
        sink: &dyn Sink,
        settings: &Settings<'_>,
    ) -> Result<()> {
        let what = || format!("scan_streamed of {elements} {} by {}, {kind:?}", T::DTYPE, O::NAME);
        self.agreed(what, || {
            let silent = Settings { progress: None, ..*settings };
            let stop = AtomicBool::new(false);
            let source = self.guarded(source, &stop);
            let own = self.each(elements, &silent, &stop, |_, device, range, settings| {
                streamed::reduce::<O, T>(device, &source, range, settings)
            })?;
            let values: Vec<T> = own.into_iter().map(|total| total.value).collect();
            let of_ranks = self.one_of_each(&values)?;
            let before = |rank: usize| of_ranks[..rank].iter().fold(O::identity(), |sum, &x| O::combine(sum, x));
            self.each(elements, settings, &stop, |rank, device, range, settings| {
                streamed::scan::<O, T>(device, &source, range, kind, before(rank), sink, settings)
            })?;
            Ok(())
        })
    }

    /// The product of A, `m` x `k`, and B, `k` x `n`, both row-major, as [`streamed::matmul`] computes it. Each rank
    /// multiplies its range of the rows of A, and reads all of B. Each rank of a group of many processes writes its own
    /// rows.
    ///
    /// # Errors
    /// Those of [`streamed::matmul`], and [`Error::Group`] if ranks differ or end.
    pub fn matmul_streamed<T: Factor>(
        &self,
        factors: [&dyn Source; 2],
        [m, n, k]: [usize; 3],
        sink: &dyn Sink,
        settings: &Settings<'_>,
    ) -> Result<()> {
        self.agreed(
            || format!("matmul_streamed of {m}x{n}x{k} {}", T::DTYPE),
            || {
                let stop = AtomicBool::new(false);
                let [a, b] = factors.map(|source| self.guarded(source, &stop));
                self.each(m as u64, settings, &stop, |_, device, rows, settings| {
                    streamed::matmul::<T>(device, [&a, &b], rows, [n, k], sink, settings)
                })?;
                Ok(())
            },
        )
    }

    /// Does work for each rank of this process, with its number, its device and its range, at the same time.
    fn each<R: Send>(
        &self,
        elements: u64,
        settings: &Settings<'_>,
        stop: &AtomicBool,
        work: impl Fn(usize, &Device, Range<u64>, &Settings<'_>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let limits = self.starts(elements)?;
        let Settings { chunk, slots, readers, writers, progress } = *settings;
        let done: Vec<AtomicU64> = self.members.iter().map(|_| AtomicU64::new(0)).collect();
        let totals: Vec<AtomicU64> = self.members.iter().map(|_| AtomicU64::new(0)).collect();
        let note = |member: usize, progress: Progress| {
            done[member].store(progress.done, Ordering::Relaxed);
            totals[member].store(progress.total, Ordering::Relaxed);
        };
        let sum = |of: &[AtomicU64]| of.iter().map(|x| x.load(Ordering::Relaxed)).sum();
        let run = |member: usize, noted: &dyn Fn(Progress)| {
            let rank = self.first + member;
            let settings = Settings { chunk, slots, readers, writers, progress: Some(noted) };
            let result = work(rank, &self.members[member].device, limits[rank]..limits[rank + 1], &settings);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            result
        };
        let results: Vec<Result<R>> = std::thread::scope(|scope| {
            let run = &run;
            let others = (1..self.members.len()).map(|member| {
                let note = &note;
                scope.spawn(move || run(member, &|progress| note(member, progress)))
            });
            let others: Vec<_> = others.collect();
            // The caller's function is called in the caller's thread.
            let first = run(0, &|now| {
                note(0, now);
                if let Some(progress) = progress {
                    progress(Progress { done: sum(&done), total: sum(&totals) });
                }
            });
            let ended = |other: std::thread::ScopedJoinHandle<'_, Result<R>>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            [first].into_iter().chain(others.into_iter().map(ended)).collect()
        });
        // The first error caused the others, if they are those of guarded sources.
        let (stopped, mut own): (Vec<_>, Vec<_>) = results.into_iter().partition(|result| is_stop(result));
        own.extend(stopped);
        own.into_iter().collect()
    }

    /// A source that ends when a rank has failed: the others would read the rest of their ranges for nothing.
    fn guarded<'a>(&'a self, source: &'a dyn Source, stop: &'a AtomicBool) -> Guarded<'a> {
        Guarded { group: self, source, stop }
    }

    /// The first element of each rank, and the number of all.
    fn starts(&self, elements: u64) -> Result<Vec<u64>> {
        let elements = usize::try_from(elements)
            .map_err(|_| Error::Argument(format!("{elements} elements are more than this machine can address")))?;
        Ok(limits(elements, self.size).into_iter().map(|limit| limit as u64).collect())
    }

    /// The value of all ranks, combined in their order.
    fn total<T: Element>(&self, own: Vec<Total<T>>, identity: T, combine: fn(T, T) -> T) -> Result<Total<T>> {
        let (values, depths): (Vec<T>, Vec<u64>) = own.iter().map(|total| (total.value, total.depth)).unzip();
        let (values, depths) = (self.one_of_each(&values)?, self.one_of_each(&depths)?);
        let depth = depths.into_iter().max().unwrap_or(0) + self.size as u64 - 1;
        Ok(Total { value: values.into_iter().fold(identity, combine), depth })
    }

    /// The values of all ranks, of which this process has its own.
    fn one_of_each<T: Scalar>(&self, own: &[T]) -> Result<Vec<T>> {
        let own = self.devices().zip(own).map(|(device, value)| device.upload(&[*value]));
        self.values_of_ranks(&own.collect::<Result<Vec<_>>>()?)
    }
}

/// See [`Group::guarded`].
struct Guarded<'a> {
    group: &'a Group,
    source: &'a dyn Source,
    /// Whether a rank of this process has failed.
    stop: &'a AtomicBool,
}

/// The text of the error with which a guarded source ends.
const STOPPED: &str = "another rank of the group has failed";

impl Source for Guarded<'_> {
    fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) || self.group.peers.check().is_err() {
            return Err(io::Error::other(STOPPED));
        }
        self.source.read_at(offset, into)
    }
}

/// Whether a result is the error of a guarded source.
fn is_stop<R>(result: &Result<R>) -> bool {
    matches!(result, Err(Error::Stream { source, .. }) if source.to_string() == STOPPED)
}
