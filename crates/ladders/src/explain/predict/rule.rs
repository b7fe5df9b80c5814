//! The rule by which small runs give the time at a large size.

use crate::explain::page::Variant;
use rustwarp::backend::Analysis;
use serde::Serialize;

/// How often the smallest size is doubled for a kernel whose grid does not fill the device.
const RAISES: u32 = 2;
/// The rule needs warps of similar work: one has at most this many times the mean's instructions.
const MOST_UNEQUAL: f64 = 8.0;
/// By how much a run of twice the size may be faster, which is within the estimate's error.
const FASTER: f64 = 0.1;
/// The part of a run's time from which a launch's warps matter.
const MATTERS: f64 = 0.1;

/// A small run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Shape of the first operand.
    pub size: Vec<u64>,
    /// Estimated time.
    pub us: f64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// Time of launching the kernels, and of the copies and the host's work between them.
    #[serde(skip)]
    pub between_us: f64,
    /// What limits the longest launch: see [`Variant::limit`].
    #[serde(skip)]
    pub limit: String,
    /// The launches.
    #[serde(skip)]
    pub launches: Vec<Launch>,
}

/// A launch of a small run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: String,
    /// Estimated time of the kernel.
    pub us: f64,
    /// Blocks.
    pub blocks: u64,
    /// Blocks that the device runs at the same time.
    pub places: u64,
    /// Whether each multiprocessor has a block.
    pub is_everywhere: bool,
    /// Time in which each unit works.
    pub busy_us: Vec<f64>,
    /// Instructions of the longest recorded warp relative to the mean.
    pub unequal: f64,
}

impl Run {
    /// The run of a variant at a size, on a device with this many multiprocessors.
    pub fn new(size: &[u64], variant: &Variant, multiprocessors: u32) -> Self {
        let launch = |launch: &Analysis| {
            let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
            Launch {
                kernel: launch.entry.clone(),
                us: launch.time.kernel_us,
                blocks,
                places: u64::from(launch.occupancy.0) * u64::from(multiprocessors),
                is_everywhere: blocks >= u64::from(multiprocessors),
                busy_us: launch.time.busy_us.clone(),
                unequal: launch.time.unequal,
            }
        };
        Self {
            size: size.to_vec(),
            us: variant.time_us,
            blocks: variant.blocks(),
            between_us: variant.launching_us(),
            limit: variant.limit.clone(),
            launches: variant.launches.iter().map(launch).collect(),
        }
    }
}

/// The reason why small runs do not give the time at a large size.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The warps' work differs.
    #[error(
        "not predicted: its longest warp executes {0:.0} times the instructions of the mean, and a small run does \
         not show how long the longest one of a large run is; explain the size itself, or data of equal parts"
    )]
    Unequal(f64),
    /// The run of twice the size is faster.
    #[error(
        "not predicted: twice the size takes less time ({0:.1} us, then {1:.1} us), so the time does not follow the \
         size; explain the size itself, or start from a larger one"
    )]
    Falls(f64, f64),
}

/// The sizes to run for a prediction at `target` from `base`: `base`, and for each axis that differs, `base` with that
/// axis doubled.
pub fn sizes(base: &[u64], target: &[u64]) -> Vec<Vec<u64>> {
    let doubled = differing(base, target).map(|axis| {
        let mut size = base.to_vec();
        size[axis] *= 2;
        size
    });
    std::iter::once(base.to_vec()).chain(doubled).collect()
}

/// Runs the sizes for a prediction from `base`. A vector's smallest size is doubled while the longest launch's grid
/// grows with it and does not fill the device, at most twice.
///
/// # Errors
/// Those of `run`.
pub fn runs<E>(base: &[u64], target: &[u64], mut run: impl FnMut(&[u64]) -> Result<Run, E>) -> Result<Vec<Run>, E> {
    let mut runs: Vec<Run> = sizes(base, target).iter().map(|size| run(size)).collect::<Result<_, E>>()?;
    for _ in 0..RAISES {
        let [first, last] = runs.as_slice() else { break };
        let larger: Vec<u64> = last.size.iter().map(|axis| 2 * axis).collect();
        if base.len() > 1 || !is_unfilled(first, last) || larger.iter().zip(target).any(|(axis, most)| axis > most) {
            break;
        }
        let next = run(&larger)?;
        runs.remove(0);
        runs.push(next);
    }
    Ok(runs)
}

/// Whether the longest launch has fewer blocks than the device has places, and has more of them at twice the size.
fn is_unfilled(first: &Run, last: &Run) -> bool {
    let longest = first.launches.iter().enumerate().max_by(|a, b| a.1.us.total_cmp(&b.1.us));
    longest.is_some_and(|(i, launch)| {
        let other = same(&first.launches, &last.launches)[i];
        let grows = other.is_some_and(|other| last.launches[other].blocks > launch.blocks);
        grows && launch.blocks < launch.places
    })
}

/// The time at `target` in microseconds, from [`runs`] of [`sizes`] in their order.
///
/// # Errors
/// [`Refusal`] if the runs show that they do not give it.
///
/// # Panics
/// If there are not as many runs as sizes.
pub fn time(target: &[u64], runs: &[Run]) -> Result<f64, Refusal> {
    let first = &runs[0];
    let axes: Vec<usize> = differing(&first.size, target).collect();
    assert_eq!(runs.len(), axes.len() + 1, "a run for each size");
    if let Some(falls) = runs.iter().find(|run| run.us < (1.0 - FASTER) * first.us) {
        return Err(Refusal::Falls(first.us, falls.us));
    }
    let all = runs.iter().flat_map(|run| &run.launches);
    let unequal = all.filter(|launch| launch.us > MATTERS * first.us).map(|launch| launch.unequal).fold(0.0, f64::max);
    if unequal > MOST_UNEQUAL && !axes.is_empty() {
        return Err(Refusal::Unequal(unequal));
    }
    let larger: Vec<Larger<'_>> =
        axes.iter().zip(&runs[1..]).map(|(&axis, run)| Larger::new(axis, first, run, target)).collect();
    let kernels: f64 = (0..first.launches.len()).map(|i| launch(first, &larger, i)).sum();
    let added: f64 = larger.iter().map(|axis| axis.added(first, times(&first.size, target) / 2.0)).sum();
    Ok(first.between_us + kernels + added)
}

/// For each launch, the same one of a larger run: the kernel's with the largest grid is the one with the largest grid
/// there, and so on, because a level more of a scan is launched in the middle of the others. Launches of other kernels,
/// which a rung may choose by the size, follow each other in both runs.
fn same(launches: &[Launch], larger: &[Launch]) -> Vec<Option<usize>> {
    let by_grid = |of: &[Launch], kernel: &str| {
        let mut found: Vec<usize> = (0..of.len()).filter(|&i| of[i].kernel == kernel).collect();
        found.sort_by_key(|&i| std::cmp::Reverse(of[i].blocks));
        found
    };
    let of = |i: usize| {
        let kernel = &launches[i].kernel;
        let rank = by_grid(launches, kernel).iter().position(|&own| own == i)?;
        by_grid(larger, kernel).get(rank).copied()
    };
    let named: Vec<Option<usize>> = (0..launches.len()).map(of).collect();
    let mut others = (0..larger.len()).filter(|i| !named.contains(&Some(*i)));
    named.iter().map(|found| found.or_else(|| others.next())).collect()
}

/// A run that is twice as long along one axis.
struct Larger<'a> {
    run: &'a Run,
    /// How many times as long the target is along the axis.
    times: f64,
    /// For each launch of the first run, the same one of this run.
    same: Vec<Option<usize>>,
}

impl<'a> Larger<'a> {
    fn new(axis: usize, first: &Run, run: &'a Run, target: &[u64]) -> Self {
        let times = target[axis] as f64 / first.size[axis] as f64;
        Self { run, times, same: same(&first.launches, &run.launches) }
    }

    /// The launch that is the first run's launch `i`.
    fn launch(&self, i: usize) -> Option<&'a Launch> {
        self.run.launches.get(self.same[i]?)
    }

    /// What the doublings up to the target add besides longer kernels: the launches that one doubling adds, and the
    /// steps between launches. A launch of half the largest grid or more goes over all data, any other is as short at
    /// the target as it is here.
    fn added(&self, first: &Run, growth: f64) -> f64 {
        let own = &self.run.launches;
        let most = own.iter().map(|launch| launch.blocks).max().unwrap_or(0);
        let is_new = |(i, _): &(usize, &Launch)| !self.same.contains(&Some(*i));
        let new = own.iter().enumerate().filter(is_new).map(|(_, launch)| launch);
        let kernels: f64 = new.map(|new| if 2 * new.blocks >= most { growth * new.us } else { new.us }).sum();
        let between = (self.run.between_us - first.between_us).max(0.0);
        if own.len() > first.launches.len() {
            (kernels + between) * self.times.log2()
        } else {
            between * (self.times - 1.0)
        }
    }
}

/// The time of a launch that all runs have: a line, or waves of blocks that have places of their own; and no less than
/// the busiest unit works, where all multiprocessors have one: fewer blocks would get more of them at the target.
fn launch(first: &Run, larger: &[Larger<'_>], i: usize) -> f64 {
    let own = &first.launches[i];
    let line = |of: &dyn Fn(&Launch) -> f64| {
        // For the axes that lengthen the grid, and those that do not: by how much the target is larger, and the gains
        // of the runs that are twice as large along one of them.
        let (mut grown, mut gains) = ([1.0, 1.0], [Vec::new(), Vec::new()]);
        for axis in larger {
            let other = axis.launch(i).unwrap_or(own);
            let kind = usize::from(2 * other.blocks < 3 * own.blocks);
            grown[kind] *= axis.times;
            gains[kind].push((of(other) - of(own)).max(0.0));
        }
        let mean = |gains: &[f64]| gains.iter().sum::<f64>() / gains.len().max(1) as f64;
        let work = mean(&gains[1]) * (grown[1] - 1.0);
        let of_blocks = if gains[0].is_empty() { of(own) } else { mean(&gains[0]) };
        let line = of(own) - of_blocks + grown[0] * (of_blocks + work);
        if gains[1].is_empty() || own.blocks >= own.places {
            return line;
        }
        // Where twice the blocks take as long, each has a place of its own, up to the device's. Half as long again may
        // be the line, with a start.
        let waves = (own.blocks as f64 * grown[0] / own.places.max(1) as f64).max(1.0);
        let one_by_one = (2.0 * of_blocks / of(own).max(f64::MIN_POSITIVE)).min(1.0);
        one_by_one * line + (1.0 - one_by_one) * waves * (of(own) + work)
    };
    let units = if own.is_everywhere { own.busy_us.len() } else { 0 };
    let works = |unit: usize| line(&|launch| launch.busy_us.get(unit).copied().unwrap_or(0.0));
    (0..units).map(works).fold(line(&|launch| launch.us), f64::max)
}

/// How many times as many elements `target` has as `size`.
pub fn times(size: &[u64], target: &[u64]) -> f64 {
    target.iter().zip(size).map(|(&large, &small)| large as f64 / small as f64).product()
}

/// The axes along which the sizes differ.
fn differing<'a>(base: &'a [u64], target: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
    (0..base.len()).filter(|&axis| base[axis] != target[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of launches that take these times and have these blocks.
    fn run(size: &[u64], launches: &[(f64, u64)]) -> Run {
        let launch = |&(us, blocks): &(f64, u64)| Launch {
            kernel: "kernel".to_owned(),
            us,
            blocks,
            places: 100,
            is_everywhere: true,
            busy_us: Vec::new(),
            unequal: 1.0,
        };
        let us = launches.iter().map(|launch| launch.0).sum();
        let blocks = launches.iter().map(|launch| launch.1).sum();
        let launches = launches.iter().map(launch).collect();
        Run { size: size.to_vec(), us, blocks, between_us: 0.0, limit: String::new(), launches }
    }

    fn is_near(time: Result<f64, Refusal>, expected: f64) -> bool {
        time.is_ok_and(|time| (time - expected).abs() <= 1e-9 * expected)
    }

    #[test]
    fn a_line_in_the_number_of_blocks_or_in_their_work() {
        let (base, target) = ([100, 50], [1000, 50]);
        assert_eq!(sizes(&base, &target), [[100, 50], [200, 50]]);
        // 5 us once, and 0.1 us for a unit of the first axis.
        for blocks in [20, 10] {
            let runs = [run(&[100, 50], &[(15.0, 10)]), run(&[200, 50], &[(25.0, blocks)])];
            assert!(is_near(time(&target, &runs), 105.0), "{blocks}");
        }
    }

    #[test]
    fn a_product_is_longer_along_its_depth_and_has_more_blocks_along_the_others() {
        let (base, target) = ([64, 64, 32], [256, 128, 320]);
        let of = |size: &[u64]| {
            let blocks = size[0] * size[1] / 64;
            run(size, &[(6.0 + blocks as f64 * (0.7 + 0.1 * size[2] as f64), blocks)])
        };
        let runs: Vec<Run> = sizes(&base, &target).iter().map(|size| of(size)).collect();
        assert!(is_near(time(&target, &runs), of(&target).us));
        assert_eq!(times(&base, &target), 80.0);
    }

    #[test]
    fn blocks_that_have_places_of_their_own_take_no_longer() {
        // 10 and 20 blocks for 100 places, then 40, and 400 in four waves; 1 us for a unit of the second axis.
        let of = |size: &[u64]| run(size, &[(size[1] as f64, size[0])]);
        let runs: Vec<Run> = sizes(&[10, 8], &[40, 64]).iter().map(|size| of(size)).collect();
        assert!(is_near(time(&[40, 64], &runs), 64.0) && is_near(time(&[400, 64], &runs), 256.0));
    }

    #[test]
    fn the_size_itself_needs_one_run() {
        assert_eq!(sizes(&[7], &[7]), [[7]]);
        assert!(is_near(time(&[7], &[run(&[7], &[(3.0, 1)])]), 3.0));
    }

    #[test]
    fn no_kernel_is_shorter_than_its_busiest_unit_works() {
        // Half of the first run is a start, so that the line is flatter than the unit's.
        let with = |size: u64, us: f64, busy: f64| {
            let mut run = run(&[size], &[(us, 4)]);
            run.launches[0].busy_us = vec![0.1, busy];
            run
        };
        assert!(is_near(time(&[64], &[with(1, 10.0, 6.0), with(2, 14.0, 12.0)]), 384.0));
        assert!(is_near(time(&[64], &[with(1, 10.0, 2.0), with(2, 14.0, 4.0)]), 262.0));
    }

    #[test]
    fn launches_that_a_doubling_adds_are_added_for_each() {
        // A launch for each power of two over all data, as 10 blocks for an element.
        let passes = |log: u32| {
            let n = 1_u64 << log;
            run(&[n], &vec![(n as f64, 10 * n); log as usize])
        };
        assert!(is_near(time(&[1 << 8], &[passes(4), passes(5)]), passes(8).us));
        // One that adds up the results of the others is no longer at the target.
        let sums = [run(&[16], &[(16.0, 160)]), run(&[32], &[(32.0, 320), (1.0, 1)])];
        assert!(is_near(time(&[64], &sums), 64.0 + 2.0));
    }

    #[test]
    fn a_level_more_is_launched_between_the_others() {
        // A launch of each level up, then of each level down but the last, which a tenth of the blocks have.
        let levels = |n: u64, levels: u32| {
            let level = |l: u32| (n as f64 / 10_f64.powi(l as i32), (n / 10_u64.pow(l)).max(1));
            let mut all =
                run(&[n], &(0..levels).map(level).chain((0..levels - 1).rev().map(level)).collect::<Vec<_>>());
            all.launches.iter_mut().skip(levels as usize).for_each(|launch| "add".clone_into(&mut launch.kernel));
            all
        };
        let runs = [levels(80, 2), levels(160, 3)];
        // Both launches over all data, the smaller ones, and a new level up for each of three doublings.
        let expected = 2.0 * 640.0 + 64.0 + 3.0 * (1.6 + 16.0);
        assert!(is_near(time(&[640], &runs), expected), "{:?}", time(&[640], &runs));
    }

    #[test]
    fn another_kernel_for_a_larger_size_is_the_same_launch() {
        let mut runs = [run(&[16], &[(16.0, 160)]), run(&[32], &[(32.0, 320)])];
        runs[1].launches[0].kernel = "wider".to_owned();
        assert!(is_near(time(&[64], &runs), 64.0), "{:?}", time(&[64], &runs));
    }

    #[test]
    fn what_small_runs_do_not_show_is_refused() {
        let mut runs = [run(&[16], &[(50.0, 8)]), run(&[32], &[(20.0, 16)])];
        assert_eq!(time(&[64], &runs), Err(Refusal::Falls(50.0, 20.0)));
        runs[1].us = 51.0;
        runs[0].launches[0].unequal = 30.0;
        assert_eq!(time(&[64], &runs), Err(Refusal::Unequal(30.0)));
    }

    #[test]
    fn the_smallest_size_fills_the_device() {
        let mut asked = Vec::new();
        let mut at = |blocks: fn(u64) -> u64| {
            asked.clear();
            let found = runs::<()>(&[16], &[4096], |size| {
                asked.push(size[0]);
                Ok(run(size, &[(size[0] as f64, blocks(size[0]))]))
            });
            found.map(|runs| runs.iter().map(|run| run.size[0]).collect::<Vec<_>>())
        };
        // 100 places.
        assert_eq!(at(|n| 2 * n), Ok(vec![64, 128]));
        assert_eq!(at(|n| 10 * n), Ok(vec![16, 32]));
        assert_eq!(at(|_| 50), Ok(vec![16, 32]));
        assert_eq!(asked, [16, 32]);
    }
}
