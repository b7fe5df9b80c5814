//! Measured times of a subject on a number of GPUs, and the rates and efficiencies that follow.

use serde::{Deserialize, Serialize};

/// What is measured and predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Sum of f32.
    Reduce,
    /// Histogram of u8 in 256 bins.
    Histogram,
    /// Running sums of i32.
    Scan,
    /// Product of f32 matrices, divided by rows.
    Matmul,
    /// Sum of f32 of all ranks, on all ranks.
    AllReduce,
    /// Sum of f32 of all ranks, of which each gets a part.
    ReduceScatter,
    /// The f32 of all ranks, on all ranks.
    AllGather,
    /// The f32 of one rank, on all ranks.
    Broadcast,
    /// Copies of pinned memory to the devices.
    ToDevice,
    /// Copies to pinned memory of the host.
    ToHost,
    /// Copies in both directions at the same time.
    BothWays,
}

/// What stays the same when the number of GPUs grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The work of each GPU.
    Weak,
    /// The work of all GPUs.
    Strong,
    /// Several sizes on one number of GPUs.
    Size,
}

/// A measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured.
    pub subject: Subject,
    /// The series to which it belongs.
    pub scaling: Scaling,
    /// Number of GPUs.
    pub gpus: u32,
    /// Elements of all GPUs; for a product the rows of A; for a collective the bytes of the longer one of what a GPU
    /// gives and what it gets; for copies the bytes of all GPUs and directions.
    pub n: u64,
    /// Rows and columns of B, for a product; else 0.
    #[serde(default)]
    pub side: u64,
    /// Median time in milliseconds.
    pub time_ms: f64,
    /// Whether the result was right.
    pub verified: bool,
    /// The devices, as in the rows of a family.
    pub device: String,
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Reduce,
        Self::Histogram,
        Self::Scan,
        Self::Matmul,
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::Broadcast,
        Self::ToDevice,
        Self::ToHost,
        Self::BothWays,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reduce => "reduce",
            Self::Histogram => "histogram",
            Self::Scan => "scan",
            Self::Matmul => "matmul",
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::Broadcast => "broadcast",
            Self::ToDevice => "to-device",
            Self::ToHost => "to-host",
            Self::BothWays => "both-ways",
        }
    }

    /// The subject with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }

    /// Work of all GPUs: bytes that are moved, of a product the operations.
    pub fn work(self, n: u64, side: u64) -> f64 {
        let (n, side) = (n as f64, side as f64);
        match self {
            Self::Reduce => 4.0 * n,
            Self::Histogram | Self::ToDevice | Self::ToHost | Self::BothWays => n,
            Self::Scan => 8.0 * n,
            Self::Matmul => 2.0 * n * side * side,
            Self::AllReduce | Self::ReduceScatter | Self::AllGather | Self::Broadcast => 0.0,
        }
    }

    /// Bytes that a link carries in each direction for each byte of a collective between this number of GPUs, at least;
    /// `None` for what computes.
    ///
    /// *Source*: nccl-tests (`doc/PERFORMANCE.md`).
    pub fn carried(self, gpus: u32) -> Option<f64> {
        let gpus = f64::from(gpus);
        match self {
            Self::AllReduce => Some(2.0 * (gpus - 1.0) / gpus),
            Self::ReduceScatter | Self::AllGather => Some((gpus - 1.0) / gpus),
            Self::Broadcast => Some(1.0),
            Self::Reduce | Self::Histogram | Self::Scan | Self::Matmul => None,
            Self::ToDevice | Self::ToHost | Self::BothWays => None,
        }
    }

    /// Whether it copies between host and devices, and no GPU computes or exchanges anything.
    pub fn is_copy(self) -> bool {
        matches!(self, Self::ToDevice | Self::ToHost | Self::BothWays)
    }

    /// Bytes of the all-reduce that takes as long as what the GPUs exchange.
    pub(super) fn exchanged(self, n: u64, side: u64) -> f64 {
        match self {
            Self::Reduce | Self::Scan => 8.0,
            Self::Histogram => 256.0 * 8.0,
            // All gather B, which is half of an all-reduce.
            Self::Matmul => 4.0 * side as f64 * side as f64 / 2.0,
            Self::AllReduce => n as f64,
            // The model predicts none of these.
            Self::ReduceScatter
            | Self::AllGather
            | Self::Broadcast
            | Self::ToDevice
            | Self::ToHost
            | Self::BothWays => 0.0,
        }
    }
}

impl Sample {
    /// Bytes or operations of all GPUs per second, in 10^9 or 10^12; for a collective the bus bandwidth.
    pub fn rate(&self) -> f64 {
        if let Some(carried) = self.subject.carried(self.gpus) {
            return carried * self.n as f64 / self.time_ms / 1e6;
        }
        let unit = if self.subject == Subject::Matmul { 1e9 } else { 1e6 };
        self.subject.work(self.n, self.side) / self.time_ms / unit
    }

    /// What was measured, without its time.
    pub fn load(&self) -> Load {
        Load { subject: self.subject, n: self.n, side: self.side, gpus: self.gpus }
    }

    /// The unit of [`Sample::rate`].
    pub fn unit(&self) -> &'static str {
        if self.subject == Subject::Matmul { "TFLOP/s" } else { "GB/s" }
    }

    /// The time on one GPU, as a fraction of what this time is in proportion: 1 is perfect.
    pub fn efficiency(&self, samples: &[Self]) -> Option<f64> {
        let one = samples.iter().find(|one| {
            (one.subject, one.scaling, one.gpus) == (self.subject, self.scaling, 1) && one.side == self.side
        })?;
        efficiency(self.scaling, one.time_ms, self.time_ms, self.gpus)
    }
}

/// Efficiency of a time on many GPUs, from that on one; none for sizes.
pub fn efficiency(scaling: Scaling, one_ms: f64, time_ms: f64, gpus: u32) -> Option<f64> {
    match scaling {
        Scaling::Weak => Some(one_ms / time_ms),
        Scaling::Strong => Some(one_ms / time_ms / f64::from(gpus)),
        Scaling::Size => None,
    }
}

/// Work to predict a time for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The subject.
    pub subject: Subject,
    /// As in [`Sample::n`].
    pub n: u64,
    /// As in [`Sample::side`].
    pub side: u64,
    /// Number of GPUs.
    pub gpus: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 * expected.abs()
    }

    #[test]
    fn rates_and_efficiencies_are_those_of_all_gpus() {
        let sample = |subject, scaling, gpus: u32, time_ms| {
            let n = u64::from(gpus) << 30;
            Sample { subject, scaling, gpus, n, side: 0, time_ms, verified: true, device: String::new() }
        };
        let all = [1, 2].map(|gpus| sample(Subject::Reduce, Scaling::Weak, gpus, f64::from(gpus + 3)));
        let weak = all[1].efficiency(&all).expect("both were measured");
        assert!(near(weak, 0.8) && near(all[1].rate() / all[0].rate(), 1.6), "{weak}");
        assert_eq!(sample(Subject::Reduce, Scaling::Strong, 2, 1.0).efficiency(&all), None);
        assert!(near(efficiency(Scaling::Strong, 4.0, 2.5, 2).expect("strong"), 0.8));
        // Two GPUs send all bytes once.
        let bus = Sample { n: 1 << 30, ..sample(Subject::AllReduce, Scaling::Size, 2, 1.0) };
        assert!(near(bus.rate(), f64::powi(2.0, 30) / 1e6));
        let of = |subject, gpus| Sample { subject, gpus, ..bus.clone() }.rate() / bus.rate();
        assert!(near(of(Subject::AllGather, 4), 0.75) && near(of(Subject::ReduceScatter, 2), 0.5));
        assert!(near(of(Subject::Broadcast, 4), 1.0) && near(of(Subject::AllReduce, 4), 1.5));
    }

    #[test]
    fn names_are_those_of_json() {
        for subject in Subject::ALL {
            assert_eq!(Subject::named(subject.name()), Some(subject));
            assert_eq!(serde_json::to_value(subject).expect("JSON"), subject.name());
        }
    }
}
