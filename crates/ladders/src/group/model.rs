//! A model of the times of a group of GPUs, fitted to measurements of one and two, and what it predicts for more.
//!
//! A [`Subject`] on `p` GPUs, of which each does the work `w` (bytes or operations), takes
//!
//! ```text
//! launch + w / rate + steps(p) * step + exchange(p, bytes)
//! ```
//!
//! - `launch` and `rate` are those of one GPU: a line through the times of several sizes on one GPU.
//! - `steps(p)` is `2 * ceil(log2(p))`: values go up a tree and down again. `step` is what the times on two GPUs leave.
//! - `exchange(p, bytes)` is the time of an all-reduce of `bytes` bytes as a ring,
//!   `2 * (p - 1) / p * bytes / bus bandwidth`, or half of it where each GPU gathers what the others have.
//! - A product overlaps what it gathers with what it computes: the longer of both counts, and one panel of eight, which
//!   nothing overlaps.
//! - Between hosts, a GPU sends and receives by a network adapter of its own: the GPUs of a host first combine over
//!   their links, then each exchanges its share with those of the other hosts. The two do not overlap, although NCCL
//!   may overlap them, and a step between hosts takes the latency of the network beside that of a step.
//!
//! What it leaves out: GPUs of one host whose memories or links disturb each other, networks with fewer links than
//! hosts, noise of the system, and one host thread that launches for many GPUs. In the predictions each GPU has a
//! process of its own.
//!
//! *Source*: R. Hockney's model of a message, latency plus length by bandwidth ("The communication challenge for MPP",
//! 1994); the bus bandwidth is that of nccl-tests (`doc/PERFORMANCE.md`).

use super::sample::{Load, Sample, Subject};
use crate::error::{Error, Result};

/// What is beyond a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// GPUs of a host, which have links with each other.
    pub gpus_per_host: u32,
    /// Bandwidth of each GPU's adapter, in GB/s.
    pub gbps: f64,
    /// Latency of a step between hosts, in microseconds.
    pub latency_us: f64,
}

/// The links between the GPUs of a host, from all-reduces on two GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Latency of a step, in microseconds.
    pub step_us: f64,
    /// Bus bandwidth in GB/s.
    pub bus_gbps: f64,
}

/// A subject on one GPU, and what more GPUs add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The subject.
    pub subject: Subject,
    /// Time without any work, in microseconds.
    pub launch_us: f64,
    /// Work per second of one GPU, in 10^9.
    pub rate: f64,
    /// What each step between GPUs adds, in microseconds.
    pub step_us: f64,
}

/// The fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The costs of each measured subject.
    pub costs: Vec<Costs>,
    /// The links, if all-reduces on two GPUs were measured.
    pub links: Option<Links>,
}

impl Model {
    /// Fits the constants to the samples of one and two GPUs.
    ///
    /// # Errors
    /// [`Error::Usage`] if a subject has too few samples.
    pub fn fit(samples: &[Sample]) -> Result<Self> {
        let of = |subject: Subject, gpus: u32| {
            samples.iter().filter(move |one| one.subject == subject && one.gpus == gpus && one.time_ms > 0.0)
        };
        let on_two: Vec<_> = of(Subject::AllReduce, 2).map(|one| (one.n as f64, one.time_ms)).collect();
        let links = match on_two.as_slice() {
            [] => None,
            points => {
                let (start, slope) = line(points).ok_or_else(|| too_few("all-reduce", 2))?;
                // Two GPUs have two steps, and send as many bytes as there are.
                Some(Links { step_us: start * 1e3 / steps(2), bus_gbps: 1e-6 / slope })
            }
        };
        let mut costs = Vec::new();
        let computes = |subject: &Subject| subject.carried(2).is_none() && !subject.is_copy();
        for subject in Subject::ALL.into_iter().filter(computes) {
            let points: Vec<_> = of(subject, 1).map(|one| (subject.work(one.n, one.side), one.time_ms)).collect();
            if points.is_empty() {
                continue;
            }
            let (start, slope) = line(&points).ok_or_else(|| too_few(subject.name(), 1))?;
            let mut one = Costs { subject, launch_us: start * 1e3, rate: 1e-6 / slope, step_us: 0.0 };
            let model = Self { costs: vec![one], links };
            let left = of(subject, 2).filter_map(|sample| Some(sample.time_ms - model.time(&sample.load(), None)?));
            let left: Vec<f64> = left.collect();
            if !left.is_empty() {
                one.step_us = (left.iter().sum::<f64>() / left.len() as f64 * 1e3 / steps(2)).max(0.0);
            }
            costs.push(one);
        }
        Ok(Self { costs, links })
    }

    /// The predicted time in milliseconds; `None` for a subject that was not measured, and for an exchange without
    /// measured links. Without a network all GPUs are of one host.
    pub fn time(&self, load: &Load, network: Option<&Network>) -> Option<f64> {
        let Load { subject, n, side, gpus } = *load;
        let exchanged = match gpus {
            0 | 1 => 0.0,
            _ => self.exchange(subject.exchanged(n, side), gpus, network)?,
        };
        if subject == Subject::AllReduce {
            return Some(self.latency(self.links?.step_us, gpus, network) + exchanged);
        }
        let costs = self.costs.iter().find(|costs| costs.subject == subject)?;
        let own = subject.work(n, side) / f64::from(gpus.max(1)) / costs.rate / 1e6;
        let both = match subject {
            Subject::Matmul => own.max(exchanged) + exchanged / 8.0,
            _ => own + exchanged,
        };
        Some(costs.launch_us / 1e3 + both + self.latency(costs.step_us, gpus, network))
    }

    /// Milliseconds of the steps of this number of GPUs.
    fn latency(&self, step_us: f64, gpus: u32, network: Option<&Network>) -> f64 {
        let (within, hosts) = hosts(gpus, network);
        let beyond = network.map_or(0.0, |network| network.latency_us);
        (steps(within) * step_us + steps(hosts) * (step_us + beyond)) / 1e3
    }

    /// Milliseconds of an all-reduce of this number of bytes, beside its steps.
    fn exchange(&self, bytes: f64, gpus: u32, network: Option<&Network>) -> Option<f64> {
        let (within, hosts) = hosts(gpus, network);
        let of = |count: u32, bytes: f64, gbps: f64| {
            let count = f64::from(count);
            2.0 * (count - 1.0) / count * bytes / gbps / 1e6
        };
        let inside = if within > 1 { of(within, bytes, self.links?.bus_gbps) } else { 0.0 };
        let outside =
            network.filter(|_| hosts > 1).map_or(0.0, |network| of(hosts, bytes / f64::from(within), network.gbps));
        Some(inside + outside)
    }

    /// The relative difference of the prediction from a sample.
    pub fn residual(&self, sample: &Sample) -> Option<f64> {
        Some(self.time(&sample.load(), None)? / sample.time_ms - 1.0)
    }
}

/// GPUs of each host, and hosts.
fn hosts(gpus: u32, network: Option<&Network>) -> (u32, u32) {
    match network {
        Some(network) if gpus > network.gpus_per_host => (network.gpus_per_host, gpus.div_ceil(network.gpus_per_host)),
        _ => (gpus.max(1), 1),
    }
}

/// Number of steps up and down a tree of this number of GPUs.
fn steps(count: u32) -> f64 {
    2.0 * f64::from(count.max(1).next_power_of_two().ilog2())
}

/// Start and slope of the line with the least squares of relative differences from these points; neither is below 0.
/// `None` without two different places.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    // Divided by the time, a point of the line is `start / time + slope * x / time = 1`.
    let [mut aa, mut ab, mut bb, mut a, mut b] = [0.0; 5];
    let scale = points.iter().map(|point| point.0).fold(0.0, f64::max);
    for &(x, time) in points {
        let (one, x) = (1.0 / time, x / scale / time);
        aa += one * one;
        ab += one * x;
        bb += x * x;
        a += one;
        b += x;
    }
    let determinant = aa * bb - ab * ab;
    // Also a NaN is no line.
    let is_line = determinant > 1e-12 * aa * bb;
    if !is_line {
        return None;
    }
    let (start, slope) = ((a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant);
    match start < 0.0 {
        // The best line through 0.
        true => Some((0.0, b / bb / scale)),
        false if slope > 0.0 => Some((start, slope / scale)),
        false => None,
    }
}

fn too_few(subject: &str, gpus: u32) -> Error {
    Error::Usage(format!(
        "the model needs times of {subject} of several sizes on {gpus} GPU{}, which grow with the size: measure again",
        if gpus == 1 { "" } else { "s" }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::sample::{Scaling, efficiency};

    const NETWORK: Network = Network { gpus_per_host: 8, gbps: 50.0, latency_us: 5.0 };

    fn known() -> Model {
        let costs = |subject, launch_us, rate, step_us| Costs { subject, launch_us, rate, step_us };
        Model {
            costs: vec![
                costs(Subject::Reduce, 20.0, 4000.0, 7.0),
                costs(Subject::Histogram, 30.0, 3000.0, 9.0),
                costs(Subject::Matmul, 15.0, 50_000.0, 0.0),
            ],
            links: Some(Links { step_us: 6.0, bus_gbps: 360.0 }),
        }
    }

    fn sample(model: &Model, subject: Subject, scaling: Scaling, gpus: u32, n: u64) -> Sample {
        let side = if subject == Subject::Matmul { 16384 } else { 0 };
        let time_ms = model.time(&Load { subject, n, side, gpus }, None).expect("a time");
        Sample { subject, scaling, gpus, n, side, time_ms, verified: true, device: "gpu".to_owned() }
    }

    fn samples(model: &Model) -> Vec<Sample> {
        let mut all: Vec<_> =
            (3..=32).map(|power| sample(model, Subject::AllReduce, Scaling::Size, 2, 1 << power)).collect();
        for subject in [Subject::Reduce, Subject::Histogram, Subject::Matmul] {
            let n = if subject == Subject::Matmul { 16384 } else { 1 << 30 };
            all.extend([1, 8, 64].map(|part| sample(model, subject, Scaling::Size, 1, n / part)));
            all.extend([1, 2].map(|gpus| sample(model, subject, Scaling::Strong, gpus, n)));
            all.push(sample(model, subject, Scaling::Weak, 2, 2 * n));
        }
        all
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-6 * expected.abs() + 1e-6
    }

    #[test]
    fn known_constants_are_recovered() {
        let fitted = Model::fit(&samples(&known())).expect("a model");
        let (found, expected) = (fitted.links.expect("links"), known().links.expect("links"));
        assert!(near(found.step_us, expected.step_us) && near(found.bus_gbps, expected.bus_gbps), "{found:?}");
        assert_eq!(fitted.costs.len(), known().costs.len());
        for (found, expected) in fitted.costs.iter().zip(&known().costs) {
            assert_eq!(found.subject, expected.subject);
            let same = [(found.launch_us, expected.launch_us), (found.rate, expected.rate)];
            assert!(same.iter().all(|(found, expected)| near(*found, *expected)), "{found:?}");
            assert!((found.step_us - expected.step_us).abs() < 1e-3, "{found:?}");
        }
        for sample in samples(&known()) {
            assert!(fitted.residual(&sample).expect("a prediction").abs() < 1e-5, "{sample:?}");
        }
    }

    #[test]
    fn noise_is_spread() {
        let mut noisy = samples(&known());
        for (i, sample) in noisy.iter_mut().enumerate() {
            sample.time_ms *= if i % 2 == 0 { 1.02 } else { 0.98 };
        }
        let fitted = Model::fit(&noisy).expect("a model");
        let links = fitted.links.expect("links");
        assert!((links.bus_gbps / 360.0 - 1.0).abs() < 0.03 && (links.step_us / 6.0 - 1.0).abs() < 0.03, "{links:?}");
    }

    #[test]
    fn hosts_exchange_over_the_network() {
        let model = known();
        let time = |gpus| {
            let load = Load { subject: Subject::AllReduce, n: 1 << 30, side: 0, gpus };
            model.time(&load, Some(&NETWORK)).expect("a time")
        };
        let bytes = f64::powi(2.0, 30);
        let inside = 2.0 * 7.0 / 8.0 * bytes / 360e6;
        assert!(near(time(8), inside + 6.0 * 6e-3));
        // Two hosts: each GPU exchanges an eighth.
        assert!(near(time(16), inside + bytes / 8.0 / 50e6 + 6.0 * 6e-3 + 2.0 * 11e-3));
        assert!(time(1024) > time(16) && time(1024) < 2.5 * time(16));
    }

    #[test]
    fn a_product_hides_what_it_gathers() {
        let model = known();
        let load = |gpus| Load { subject: Subject::Matmul, n: 16384, side: 16384, gpus };
        let time = |gpus| model.time(&load(gpus), Some(&NETWORK)).expect("a time");
        let efficiency = efficiency(Scaling::Strong, time(1), time(2), 2).expect("strong");
        assert!((0.95..1.0).contains(&efficiency), "{efficiency}");
    }

    #[test]
    fn too_few_samples_are_said() {
        let one = vec![sample(&known(), Subject::Reduce, Scaling::Weak, 1, 1 << 30)];
        let error = Model::fit(&one).expect_err("one size").to_string();
        assert!(error.contains("times of reduce of several sizes on 1 GPU,"), "{error}");
        assert!(Model::fit(&[]).expect("nothing measured").costs.is_empty());
        // Two GPUs need no links for subjects that exchange next to nothing, but the model has no guess.
        assert!(line(&[(1.0, 2.0), (2.0, 1.0)]).is_none());
        assert_eq!(line(&[(1.0, 0.5), (2.0, 2.0)]).expect("through 0").0, 0.0);
    }
}
