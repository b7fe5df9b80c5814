//! The time at a size that is too large to simulate, from small runs.
//!
//! The rule: a launch has blocks, which the device runs in waves, and a block has work. Along an axis of the problem
//! that lengthens the grid, the time is a straight line in the number of blocks; along one that does not (the depth of
//! a product, or any axis of a kernel whose blocks loop), a straight line in the work of a block. So the time of each
//! launch is
//!
//! ```text
//! once + blocks * (start of a block + work of a block)
//! ```
//!
//! and a run of twice the size along each axis gives its terms. It is no less than the time in which the busiest unit
//! works, which has such a line too. Launches that a doubling adds are added for each doubling up to the size. The
//! small runs are estimated at the large run's rates of memory
//! ([`explaining_larger`](rustwarp::backend::explaining_larger)), because a small one finds a cache full of others'
//! data and a large one does not.
//!
//! The smallest run has to fill the device, because blocks on idle multiprocessors cost nothing: a vector is made twice
//! or four times as long if it does not. Along the rows of a matrix, blocks take no longer than one block while there
//! are places for them, if twice as many take no longer in the runs. Where blocks have very unequal work, or twice the
//! size takes less time, two sizes do not describe a third one, and there is no prediction but the reason.

mod rule;

pub use rule::{Launch, Refusal, Run, runs, sizes, time, times};

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
    /// The sizes that were simulated for all variants.
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
    /// The predicted time of all launches, in microseconds; null if the small runs do not give it.
    pub time_us: Option<f64>,
    /// The reason why there is no prediction.
    pub refused: Option<String>,
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
        let fastest = self.variants.iter().filter_map(|variant| variant.time_us).fold(f64::MAX, f64::min);
        for variant in &self.variants {
            let (time, slower) = match variant.time_us {
                Some(us) => (format!("{us:.1} us"), format!("{:.2}x", us / fastest)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            let tone = if variant.time_us == Some(fastest) { Tone::Good } else { Tone::Plain };
            let why = variant.refused.as_deref().unwrap_or_else(|| super::page::limit_in_words(&variant.limit));
            let name = Cell::from(variant.name.as_str());
            table.row([name, Cell::new(time, tone), Cell::from(slower), Cell::new(why, Tone::Quiet)]);
        }
        let raised = |variant: &&Predicted| variant.runs.first().map(|run| &run.size) != self.simulated.first();
        let note = |variant: &Predicted| {
            let sizes: Vec<String> = variant.runs.iter().map(|run| written(&run.size)).collect();
            format!("{}: from {}, since fewer blocks do not fill the device\n", variant.name, sizes.join(", "))
        };
        let notes: String = self.variants.iter().filter(raised).map(note).collect();
        format!(
            "{}: {}\npredicted for {} from {}\n\n{}{notes}",
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
