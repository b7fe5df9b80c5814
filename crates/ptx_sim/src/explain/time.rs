//! Time of a launch: that of the busiest multiprocessor, which `busiest` determines, and its parts by
//! what warps wait for.

use super::busiest::Multiprocessor;
use super::changes::{Change, changes};
use super::costs::Costs;
use super::replay::{CAUSES, Cause};
use super::subject::Subject;
use serde::Serialize;

/// An estimate of the time of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Time {
    /// Time of the kernel without the launch itself, in microseconds.
    pub kernel_us: f64,
    /// Cost of a launch that follows another one, and of a first launch, in microseconds.
    pub launch_us: (f64, f64),
    /// Cost of a copy of results to the host that the host waits for, and per KiB, in microseconds.
    pub host_us: (f64, f64),
    /// Time in which each unit works, in microseconds, in a fixed order: the kernel takes no less.
    #[serde(skip)]
    pub busy_us: Vec<f64>,
    /// Instructions of the longest warp of the recorded blocks relative to their mean.
    #[serde(skip)]
    pub unequal: f64,
    /// Parts of the kernel's time, which add up to it, the largest first.
    pub limits: Vec<Limit>,
    /// What would make the kernel faster, and its time then at best; the largest gain first.
    pub changes: Vec<Change>,
}

/// A part of a kernel's time: that in which warps wait for one resource, averaged over the warps, and for the unit that
/// is busy the longest at least the time in which it works.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// Stable name for scripts: `memory`, `latency`, `issue`, `shared`, `cache`, `barriers`, `arithmetic`, `blocks`,
    /// `atomics`.
    pub name: &'static str,
    /// Time in microseconds.
    pub us: f64,
    /// Description of the work that takes this time.
    pub why: String,
}

/// How many times the bytes of its sectors memory has to move before the estimate says so.
const PAIRS: f64 = 1.05;

/// The parts of the time.
const PARTS: [(Cause, &str); CAUSES] = [
    (Cause::Memory, "memory"),
    (Cause::Latency, "latency"),
    (Cause::Cache, "cache"),
    (Cause::Issue, "issue"),
    (Cause::Shared, "shared"),
    (Cause::Barriers, "barriers"),
    (Cause::Arithmetic, "arithmetic"),
    (Cause::Blocks, "blocks"),
    (Cause::Atomics, "atomics"),
];

/// Estimates the time of the launch, and its parts.
pub fn estimate(subject: &Subject<'_>, costs: &Costs) -> Time {
    let multiprocessor = Multiprocessor::new(subject, costs);
    let busiest = multiprocessor.time();
    let kernel_us = busiest.cycles / subject.clock() / 1e3;
    let part = |(cause, name): (Cause, &'static str)| {
        let us = busiest.parts[cause as usize] / subject.clock() / 1e3;
        Limit { name, us, why: why(cause, subject, costs) }
    };
    let mut limits: Vec<Limit> = PARTS.into_iter().map(part).collect();
    limits.sort_by(|a, b| b.us.total_cmp(&a.us));
    Time {
        kernel_us,
        launch_us: (costs.next_launch_ns / 1e3, costs.first_launch_ns / 1e3),
        host_us: (costs.host_copy_ns / 1e3, costs.host_kib_ns / 1e3),
        unequal: multiprocessor.unequal(),
        busy_us: busiest.busy.iter().map(|cycles| cycles / subject.clock() / 1e3).collect(),
        limits,
        changes: changes(busiest.cycles, &busiest.parts, subject.clock(), |work| multiprocessor.without(work)),
    }
}

/// Describes the work that takes the time.
fn why(cause: Cause, subject: &Subject<'_>, costs: &Costs) -> String {
    let Subject { counters, traced, occupancy, blocks, .. } = *subject;
    match cause {
        Cause::Memory => {
            let (bytes, rate) = (traced.read_bytes + traced.written_bytes, subject.bandwidth(costs));
            let moved = [traced.read, traced.written, traced.filled].map(|pairs| 64 * (pairs.beside + pairs.lone));
            let all = moved.iter().sum::<u64>() as f64;
            let before = if moved[2] > 0 { ", some of which it reads before they are written in part" } else { "" };
            let pairs = if all > PAIRS * bytes as f64 {
                format!(" ({:.1} MB as memory moves them, in pairs{before})", all / 1e6)
            } else {
                String::new()
            };
            format!("{:.1} MB of different sectors{pairs} at {rate:.0} GB/s", bytes as f64 / 1e6)
        }
        Cause::Latency => format!(
            "results of earlier instructions and loads; a multiprocessor has {} warps to fill the time{}",
            occupancy.warps,
            if traced.relayed > 0 {
                format!("; {} words that blocks pass to each other", traced.relayed)
            } else {
                String::new()
            }
        ),
        Cause::Cache => format!(
            "{} sectors in {} requests{}",
            counters.global_sectors + counters.global_atomic_sectors,
            counters.global_requests,
            if traced.copies > 0 { format!(", and {} bulk copies", traced.copies) } else { String::new() }
        ),
        Cause::Issue => {
            format!("{} warp instructions, 4 a cycle on each multiprocessor", counters.warp_instructions)
        }
        Cause::Shared => format!(
            "{} wavefronts of {} cycles",
            counters.shared_wavefronts + counters.shared_copy_wavefronts + counters.shared_atomic_wavefronts,
            costs.wavefront_cycles
        ),
        Cause::Barriers => {
            format!("{} arrivals at barriers, where warps wait for others of their block", counters.barriers)
        }
        Cause::Arithmetic => format!(
            "{} operations on f32, {} on f64, {} on integers",
            counters.f32_flops, counters.f64_flops, counters.integer_operations
        ),
        Cause::Blocks => {
            format!("starts of {blocks} blocks, at most {} on a multiprocessor", occupancy.blocks)
        }
        Cause::Atomics => format!(
            "{} requests to {} different lines, one after the other on each",
            counters.global_atomics, traced.atomics.lines
        ),
    }
}
