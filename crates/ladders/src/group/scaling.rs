//! Times of the same work on 1, 2, … GPUs of one process.
//!
//! The operands are made on the devices before anything is timed, from a generated tile that is repeated. Before the
//! timing one result is verified: of sums and histograms the whole, of scans the last element, of products the first
//! and the last element, of collectives all elements up to 4 MiB for each GPU, and the first and the last one above.
//! Copies are compared whole, after the timing. A time is the median between two barriers; that of a collective is of
//! many calls that start without waiting, divided by their number.

use super::sample::{Sample, Scaling, Subject};
use super::{collectives, described, transfers, wall};
use crate::error::Result;
use crate::input::generate::{generate, generate_with};
use rustwarp::element::Scalar;
use rustwarp::{Group, Sharded};

/// Most elements of a generated tile, which is repeated.
const TILE: usize = 1 << 24;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// The subjects.
    pub subjects: Vec<Subject>,
    /// Elements: of each GPU in weak scaling, of all GPUs in strong scaling. Bytes that each GPU copies in a direction.
    pub n: u64,
    /// Side of the matrices: in strong scaling of all three, in weak scaling on the largest number of GPUs.
    pub side: u64,
    /// The largest number of GPUs.
    pub gpus: u32,
    /// Number of samples of each time.
    pub repeat: u32,
}

/// Measures each subject on 1, 2, … GPUs, and passes each time to `emit` when it is there.
///
/// # Errors
/// [`rustwarp::Error::OutOfMemory`] for operands that a GPU does not hold, and the errors of the devices.
pub fn measure(request: &Request, emit: &mut dyn FnMut(Sample)) -> Result<()> {
    for gpus in 1..=request.gpus {
        let group = Group::gpus(gpus)?;
        for &subject in &request.subjects {
            on_group(&group, subject, request, emit)?;
        }
    }
    Ok(())
}

fn on_group(group: &Group, subject: Subject, request: &Request, emit: &mut dyn FnMut(Sample)) -> Result<()> {
    let gpus = group.size() as u32;
    if subject.carried(gpus).is_some() {
        return if gpus == 1 { Ok(()) } else { collectives::measure(group, subject, request.repeat, emit) };
    }
    if subject.is_copy() {
        for part in [64, 8, 1] {
            let bytes = (request.n / part).max(1) as usize;
            let copied = transfers::time(group, subject, bytes, request.repeat)?;
            let (n, time_ms, verified) = (copied.bytes, copied.time_ms, copied.verified);
            let (scaling, side, device) = (Scaling::Size, 0, described(group));
            emit(Sample { subject, scaling, gpus, n, side, time_ms, verified, device });
        }
        return Ok(());
    }
    let side = if subject == Subject::Matmul { request.side } else { 0 };
    let mut one = |n: u64, scalings: &[Scaling]| {
        let (time_ms, verified) = time(group, subject, [n as usize, side as usize], request.repeat)?;
        for &scaling in scalings {
            emit(Sample { subject, scaling, gpus, n, side, time_ms, verified, device: described(group) });
        }
        Ok::<(), crate::Error>(())
    };
    let (strong, weak) = match subject {
        Subject::Matmul => (request.side, (request.side / u64::from(request.gpus)).max(1) * u64::from(gpus)),
        _ => (request.n, request.n * u64::from(gpus)),
    };
    if gpus == 1 {
        // The model needs several sizes on one GPU.
        for part in [64, 8] {
            one((strong / part).max(1), &[Scaling::Size])?;
        }
    }
    if strong == weak {
        return one(strong, &[Scaling::Weak, Scaling::Strong]);
    }
    one(weak, &[Scaling::Weak])?;
    one(strong, &[Scaling::Strong])
}

/// Milliseconds of a subject, and whether its result is right.
fn time(group: &Group, subject: Subject, [n, side]: [usize; 2], repeat: u32) -> Result<(f64, bool)> {
    let measure = |run: &mut dyn FnMut() -> rustwarp::Result<()>| -> Result<f64> {
        Ok(wall::time(group, repeat, run)?.median_ms)
    };
    match subject {
        Subject::Reduce => {
            let x = Tiled::new(group, n, 1, generate::<f32>(TILE.min(n), 1))?;
            let [sum, total] = [|x: f32| f64::from(x), |x: f32| f64::from(x.abs())].map(|f| x.sum(f));
            let found = f64::from(group.sum(&x.values)?);
            let verified = (found - sum).abs() <= 1e-5 * total;
            Ok((measure(&mut || group.sum(&x.values).map(drop))?, verified))
        }
        Subject::Histogram => {
            let x = Tiled::new(group, n, 1, generate_with(TILE.min(n), 1, |random| random as u8))?;
            let found = group.histogram(&x.values, 256)?;
            let verified = (0..=255).zip(found).all(|(key, count)| x.sum(|x| u64::from(x == key)) == count);
            Ok((measure(&mut || group.histogram(&x.values, 256).map(drop))?, verified))
        }
        Subject::Scan => {
            let x = Tiled::new(group, n, 1, generate::<i32>(TILE.min(n), 1))?;
            let sums = group.inclusive_scan(&x.values)?;
            let last = group.size() - 1;
            let end = sums.range(last).len();
            let found = sums.part(last)?.view(end.saturating_sub(1)..)?.download()?;
            let verified = found == [x.sum(i64::from) as i32];
            drop(sums);
            Ok((measure(&mut || group.inclusive_scan(&x.values).map(drop))?, verified))
        }
        Subject::Matmul => {
            let a = Tiled::new(group, n * side, side, generate::<f32>(TILE.min(n * side), 1))?;
            let b = Tiled::new(group, side * side, side, generate::<f32>(TILE.min(side * side), 2))?;
            let product = group.matmul(&a.values, &b.values, [n, side, side])?;
            let verified = is_product(group, &a, &b, &product, side)?;
            drop(product);
            let mut run = || group.matmul(&a.values, &b.values, [n, side, side]).map(drop);
            Ok((measure(&mut run)?, verified))
        }
        // They are measured elsewhere.
        Subject::AllReduce
        | Subject::ReduceScatter
        | Subject::AllGather
        | Subject::Broadcast
        | Subject::ToDevice
        | Subject::ToHost
        | Subject::BothWays => Ok((0.0, true)),
    }
}

/// Whether the first and the last element of a product are right.
fn is_product(
    group: &Group,
    a: &Tiled<f32>,
    b: &Tiled<f32>,
    product: &Sharded<f32>,
    side: usize,
) -> rustwarp::Result<bool> {
    let (len, last) = (product.len(), group.size() - 1);
    let ends = [(0, 0), (last, product.range(last).len().saturating_sub(1))];
    let mut verified = true;
    for (index, (rank, place)) in [0, len.saturating_sub(1)].into_iter().zip(ends) {
        let found = product.part(rank)?.view(place..)?.view(..1)?.download()?;
        let terms =
            (0..side).map(|t| f64::from(a.at(index / side * side + t)) * f64::from(b.at(t * side + index % side)));
        let (sum, total) = terms.fold((0.0, 0.0), |(sum, total), x| (sum + x, total + x.abs()));
        verified &= found.iter().all(|&x| (f64::from(x) - sum).abs() <= side as f64 * f64::from(f32::EPSILON) * total);
    }
    Ok(verified)
}

/// Elements of all ranks: in each part a tile, again and again.
struct Tiled<T> {
    values: Sharded<T>,
    tile: Vec<T>,
}

impl<T: Scalar> Tiled<T> {
    fn new(group: &Group, len: usize, columns: usize, tile: Vec<T>) -> rustwarp::Result<Self> {
        let mut values = group.sharded::<T>(len, columns)?;
        for (rank, device) in group.ranks().zip(group.devices()) {
            let len = values.range(rank).len();
            let source = device.upload(&tile)?;
            let mut part = values.part_mut(rank)?;
            for start in (0..len).step_by(tile.len().max(1)) {
                let end = len.min(start + tile.len());
                part.view_mut(start..end)?.copy_from(source.view(..end - start)?)?;
            }
        }
        Ok(Self { values, tile })
    }

    /// The element with this index.
    fn at(&self, index: usize) -> T {
        let rank = (0..).find(|&rank| self.values.range(rank).end > index).unwrap_or(0);
        self.tile[(index - self.values.range(rank).start) % self.tile.len()]
    }

    /// The sum of a number of each element.
    fn sum<S: Copy + std::iter::Sum + std::ops::Add<Output = S> + Repeat>(&self, of: impl Fn(T) -> S) -> S {
        let of_first = |len: usize| self.tile[..len].iter().map(|&x| of(x)).sum::<S>();
        let whole = of_first(self.tile.len());
        let mut sum = of_first(0);
        let mut start = 0;
        for rank in 0.. {
            if start == self.values.len() {
                break;
            }
            let len = self.values.range(rank).len();
            start += len;
            let size = self.tile.len().max(1);
            sum = sum + whole.repeated(len / size) + of_first(len % size);
        }
        sum
    }
}

/// A number that can be added to itself any number of times.
trait Repeat {
    fn repeated(self, times: usize) -> Self;
}
impl Repeat for f64 {
    fn repeated(self, times: usize) -> Self {
        self * times as f64
    }
}
impl Repeat for u64 {
    fn repeated(self, times: usize) -> Self {
        self * times as Self
    }
}
impl Repeat for i64 {
    fn repeated(self, times: usize) -> Self {
        self * times as Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_repeated_in_each_part() {
        let group = Group::simulated(3).expect("simulators");
        let tiled = Tiled::new(&group, 20, 1, vec![1_i32, 2, 3, 4]).expect("memory");
        let all = group.gather(&tiled.values).expect("elements");
        assert_eq!(all[..7], [1, 2, 3, 4, 1, 2, 1]);
        assert_eq!(tiled.sum(i64::from), all.iter().map(|&x| i64::from(x)).sum::<i64>());
        assert!((0..20).all(|i| tiled.at(i) == all[i]));
        let bytes = Tiled::new(&group, 2, 1, vec![7_u8, 9]).expect("memory");
        assert_eq!((bytes.sum(u64::from), bytes.at(1)), (14, 7));
    }
}
