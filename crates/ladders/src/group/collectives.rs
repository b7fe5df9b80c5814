//! Times of what the GPUs of a group exchange, as calls of the library: where that returns memory, with its allocation.

use super::sample::{Sample, Scaling, Subject};
use super::{described, wall};
use crate::bench::{Cache, Timing};
use crate::error::Result;
use rustwarp::Group;
use rustwarp::backend::View;

/// Bytes of the longer one of what a GPU gives and what it gets: from two f32 on.
const MESSAGES: std::ops::RangeInclusive<u32> = 3..=32;

/// Milliseconds that the calls of one sample take together, at least, unless there are too many.
const SAMPLE_MS: f64 = 20.0;

/// Bytes of a rank's result up to which all elements are verified; of longer results the first and the last one are.
const VERIFIED_WHOLE: usize = 4 << 20;

/// Most calls of one sample: the host may be this far ahead of the devices.
const MOST_CALLS: f64 = 500.0;

/// Times a collective with messages of every size that fits.
///
/// # Errors
/// Those of the devices.
pub(super) fn measure(group: &Group, subject: Subject, repeat: u32, emit: &mut dyn FnMut(Sample)) -> Result<()> {
    let free = group.devices().map(|device| device.free_memory()).collect::<rustwarp::Result<Vec<_>>>()?;
    let most = free.into_iter().min().unwrap_or(0) / 2;
    // Parts of all ranks have the same length.
    let unit = if matches!(subject, Subject::ReduceScatter | Subject::AllGather) { group.size() } else { 1 };
    for bytes in MESSAGES.map(|power| 1_u64 << power).take_while(|&bytes| bytes <= most) {
        let len = bytes as usize / size_of::<f32>() / unit * unit;
        if len == 0 {
            continue;
        }
        let (mut run, verified) = prepare(group, subject, len)?;
        let one = wall::time(group, 3, &mut run)?.median_ms;
        let calls = (SAMPLE_MS / one).clamp(1.0, MOST_CALLS) as u32;
        let times = (0..repeat.max(1)).map(|_| wall::sample(group, calls, &mut run)).collect::<Result<Vec<_>>>()?;
        emit(Sample {
            subject,
            scaling: Scaling::Size,
            gpus: group.size() as u32,
            n: (len * size_of::<f32>()) as u64,
            side: 0,
            time_ms: Timing::of(times, Cache::Warm).median_ms,
            verified,
            device: described(group),
        });
    }
    Ok(())
}

/// A call that can be repeated.
type Call<'g> = Box<dyn FnMut() -> rustwarp::Result<()> + 'g>;

/// A collective of `len` elements, and whether its result is right on all ranks, as far as [`is_right`] compares it.
fn prepare(group: &Group, subject: Subject, len: usize) -> rustwarp::Result<(Call<'_>, bool)> {
    let size = group.size();
    let all = |right: &dyn Fn(usize) -> rustwarp::Result<bool>| -> rustwarp::Result<bool> {
        group.ranks().try_fold(true, |fine, rank| Ok(fine && right(rank)?))
    };
    let mut ones = group.replicate(&vec![1.0_f32; if subject == Subject::AllGather { 0 } else { len }])?;
    Ok(match subject {
        Subject::ReduceScatter => {
            let parts = group.reduce_scatter_sum(&ones)?;
            let right = all(&|rank| is_right(parts.part(rank)?, |_| size as f32))?;
            (Box::new(move || group.reduce_scatter_sum(&ones).map(drop)), right)
        }
        Subject::AllGather => {
            let each = len / size;
            let parts = group.shard_with(len, |part| Ok(part.map(|i| (i / each) as f32).collect()))?;
            let whole = group.all_gathered(&parts)?;
            let right = all(&|rank| is_right(whole.of(rank)?, |i| (i / each) as f32))?;
            (Box::new(move || group.all_gathered(&parts).map(drop)), right)
        }
        Subject::Broadcast => {
            for rank in group.ranks().filter(|rank| *rank != 0) {
                ones.of_mut(rank)?.fill(0)?;
            }
            group.broadcast(&mut ones, 0)?;
            let right = all(&|rank| is_right(ones.of(rank)?, |_| 1.0))?;
            (Box::new(move || group.broadcast(&mut ones, 0)), right)
        }
        _ => {
            group.all_reduce_sum(&mut ones)?;
            let right = all(&|rank| is_right(ones.of(rank)?, |_| size as f32))?;
            (Box::new(move || group.all_reduce_sum(&mut ones)), right)
        }
    })
}

/// Whether the elements of a rank are the expected ones: all of them, or the first and the last one of a result that is
/// longer than [`VERIFIED_WHOLE`].
fn is_right(view: View<'_, f32>, expected: impl Fn(usize) -> f32) -> rustwarp::Result<bool> {
    let len = view.len();
    if size_of::<f32>() * len <= VERIFIED_WHOLE {
        return Ok(view.download()?.into_iter().enumerate().all(|(i, x)| x == expected(i)));
    }
    let one = |place: usize| Ok(view.view(place..place + 1)?.download()? == [expected(place)]);
    Ok(one(0)? && one(len - 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_is_verified_and_can_be_repeated() {
        let group = Group::simulated(3).expect("simulators");
        for subject in Subject::ALL.into_iter().filter(|subject| subject.carried(3).is_some()) {
            let (mut run, verified) = prepare(&group, subject, 12).expect("a collective");
            assert!(verified && run().and_then(|()| run()).is_ok(), "{subject:?}");
        }
    }

    #[test]
    fn an_error_in_the_middle_is_found_up_to_the_limit() {
        let device = rustwarp::Device::sim().expect("a simulator");
        let right = |len: usize, wrong: usize| {
            let values: Vec<f32> = (0..len).map(|i| if i == wrong { 0.0 } else { 1.0 }).collect();
            let memory = device.upload(&values).expect("memory");
            is_right(memory.view(..).expect("a view"), |_| 1.0).expect("elements")
        };
        let most = VERIFIED_WHOLE / size_of::<f32>();
        assert!(right(most, most) && !right(most, most / 2));
        assert!(!right(most + 1, most) && !right(most + 1, 0) && right(most + 1, most / 2));
    }
}
