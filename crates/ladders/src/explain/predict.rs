//! The time at a size that is too large to simulate, from small runs.
//!
//! The rule: a launch has blocks, which the device runs in waves, and a block has work. Along an axis of the problem
//! that lengthens the grid, the time is a straight line in the number of blocks; along one that does not (the depth of
//! a product, or any axis of a kernel whose blocks loop), a straight line in the work of a block. So the time is
//!
//! ```text
//! once + blocks * (start of a block + work of a block)
//! ```
//!
//! and a run of twice the size along each axis gives its terms. The small runs are estimated at the large run's rates
//! of memory ([`explaining_larger`](rustwarp::backend::explaining_larger)), because a small one finds a cache full of
//! others' data and a large one does not.
//!
//! The smallest run has to fill the device, because blocks on idle multiprocessors cost nothing.

use crate::table::{Cell, Column, Grid, Look, Tone};
use serde::Serialize;

/// A prediction for several variants.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// Description of the runs: `reduce sum of f32`.
    pub title: String,
    /// The device that times are estimated for.
    pub device: String,
    /// The size of the prediction.
    pub size: Vec<u64>,
    /// The sizes that were simulated, in the order of each variant's times.
    pub simulated: Vec<Vec<u64>>,
    /// The variants, in the requested order.
    pub variants: Vec<Predicted>,
}

/// A variant's time at a size that was not simulated.
#[derive(Clone, Debug, Serialize)]
pub struct Predicted {
    /// The variant's name, as on the command line.
    pub name: String,
    /// The simulated runs, estimated at the large size's rates of memory.
    pub runs: Vec<Run>,
    /// The predicted time of all launches, in microseconds.
    pub time_us: f64,
    /// What limits the longest launch of the largest simulated size.
    pub limit: String,
}

impl Prediction {
    /// The prediction as text for a terminal.
    pub fn render(&self, look: Look) -> String {
        let simulated: Vec<String> = self.simulated.iter().map(|size| written(size)).collect();
        let mut table = Grid::new(
            [
                Column::text("variant"),
                Column::number("time"),
                Column::number("against the fastest"),
                Column::sentences("limited by", 20).rank(1),
            ],
            "a wider terminal shows it",
        );
        let fastest = self.variants.iter().map(|variant| variant.time_us).fold(f64::MAX, f64::min);
        for variant in &self.variants {
            let tone = if variant.time_us == fastest { Tone::Good } else { Tone::Plain };
            let time = Cell::new(format!("{:.1} us", variant.time_us), tone);
            let slower = format!("{:.2}x", variant.time_us / fastest);
            let limit = super::page::limit_in_words(&variant.limit);
            table.row([Cell::from(variant.name.as_str()), time, Cell::from(slower), Cell::new(limit, Tone::Quiet)]);
        }
        format!(
            "{}: {}\npredicted for {} from {}\n\n{}",
            self.title,
            written(&self.size),
            self.device,
            simulated.join(", "),
            table.render(look)
        )
    }
}

/// A size as on the command line.
fn written(size: &[u64]) -> String {
    size.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
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

/// A small run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// Estimated time.
    pub us: f64,
    /// Blocks of all launches.
    pub blocks: u64,
}

/// The time at `target` in microseconds, from runs of [`sizes`] in their order.
///
/// # Panics
/// If there are not as many runs as sizes.
pub fn time(base: &[u64], target: &[u64], runs: &[Run]) -> f64 {
    let axes: Vec<usize> = differing(base, target).collect();
    assert_eq!(runs.len(), axes.len() + 1, "a run for each size");
    let first = runs[0];
    // For the axes that lengthen the grid, and those that do not: by how much the target is larger, and the gains of
    // the runs that are twice as large along one of them.
    let (mut grown, mut gains) = ([1.0, 1.0], [Vec::new(), Vec::new()]);
    for (axis, run) in axes.into_iter().zip(&runs[1..]) {
        let kind = usize::from(2 * run.blocks < 3 * first.blocks);
        grown[kind] *= target[axis] as f64 / base[axis] as f64;
        gains[kind].push(run.us - first.us);
    }
    let mean = |gains: &[f64]| gains.iter().sum::<f64>() / gains.len().max(1) as f64;
    let of_blocks = if gains[0].is_empty() { first.us } else { mean(&gains[0]) };
    first.us - of_blocks + grown[0] * (of_blocks + mean(&gains[1]) * (grown[1] - 1.0))
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

    #[test]
    fn a_line_in_the_number_of_blocks_or_in_their_work() {
        let (base, target) = ([100, 50], [1000, 50]);
        assert_eq!(sizes(&base, &target), [[100, 50], [200, 50]]);
        // 5 us once, and 0.1 us for a unit of the first axis.
        for blocks in [20, 10] {
            let runs = [Run { us: 15.0, blocks: 10 }, Run { us: 25.0, blocks }];
            assert!((time(&base, &target, &runs) - 105.0).abs() < 1e-9, "{blocks}");
        }
    }

    #[test]
    fn a_product_is_longer_along_its_depth_and_has_more_blocks_along_the_others() {
        let (base, target) = ([64, 64, 32], [256, 128, 320]);
        let run = |size: &[u64]| {
            let blocks = size[0] * size[1] / 64;
            Run { us: 6.0 + blocks as f64 * (0.7 + 0.1 * size[2] as f64), blocks }
        };
        let runs: Vec<Run> = sizes(&base, &target).iter().map(|size| run(size)).collect();
        assert!((time(&base, &target, &runs) / run(&target).us - 1.0).abs() < 1e-9);
        assert_eq!(times(&base, &target), 80.0);
    }

    #[test]
    fn the_size_itself_needs_one_run() {
        assert_eq!(sizes(&[7], &[7]), [[7]]);
        assert_eq!(time(&[7], &[7], &[Run { us: 3.0, blocks: 1 }]), 3.0);
    }
}
