//! The page's contents: numbers and sentences, the same in every output format.

use crate::kernels::{Family, Row};
use rustwarp::backend::{Analysis, Between, Counters, Device};
use serde::Serialize;

/// Number of source lines that are shown for a variant.
const LINES: usize = 3;

/// One or more variants of the same problem, explained.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Description of the run: `reduce, sum of 4194304 f32`.
    pub title: String,
    /// Number of elements of the first operand; 0 for any PTX.
    pub n: u64,
    /// Shape of the first operand, `1024x1024`; empty for a vector.
    pub shape: String,
    /// The device that times are estimated for.
    pub device: Device,
    /// How far the estimates of this family were from measured times, as a sentence; null if none were compared.
    pub accuracy: Option<String>,
    /// The variants in the requested order.
    pub variants: Vec<Variant>,
    /// The idea of the variant after the last one shown.
    pub next: Option<String>,
}

/// A variant's run.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// The variant's name, as on the command line.
    pub name: String,
    /// The variant's idea; empty for any PTX.
    pub idea: String,
    /// Whether the result is right; null if nothing was compared, as for any PTX.
    pub verified: Option<bool>,
    /// Sums over the launches.
    pub counters: Counters,
    /// Ratios of the counters.
    pub ratios: Ratios,
    /// Estimated time of all launches, from a cold cache, in microseconds.
    pub time_us: f64,
    /// Name of the resource that limits the longest launch.
    pub limit: String,
    /// Bytes of the distinct sectors of global memory that were read and written.
    pub bytes: u64,
    /// The launches.
    pub launches: Vec<Analysis>,
    /// Steps between the launches.
    #[serde(skip)]
    pub between: Between,
    /// The most expensive lines of the longest launch.
    pub lines: Vec<Line>,
}

/// Ratios for comparing variants.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratios {
    /// Active lanes per instruction, at most 32.
    pub active_threads: f64,
    /// Share of the branches whose lanes go both ways.
    pub divergent: f64,
    /// Wavefronts of shared memory relative to those that the same accesses need without conflicts.
    pub wavefronts_over_ideal: f64,
    /// Sectors per load or store of global memory.
    pub sectors_per_request: f64,
    /// Bytes used divided by bytes moved, 0 to 1.
    pub sector_use: f64,
    /// Floating-point operations per byte that threads access in global memory.
    pub flops_per_byte: f64,
    /// Floating-point operations per byte that has to come from memory at least once.
    pub flops_per_dram_byte: f64,
    /// Floating-point operations per second by the estimate, in 10^9.
    pub gflops: f64,
    /// Bytes per second by the estimate, in 10^9.
    pub gbps: f64,
}

/// A source line with its cost.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Source file; empty if unknown.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// The line's text, if the file can be read; else PTX.
    pub text: String,
    /// Share of the launch's cost, 0 to 1.
    pub share: f64,
    /// The cause of the cost.
    pub reason: String,
}

impl Page {
    /// Makes the page of rows from a device that [`rustwarp::backend::explaining`] opened.
    pub fn of_rows(family: &Family, device: Device, rows: Vec<Row>) -> Self {
        let infos = (family.variants)();
        let idea = |name: &str| infos.iter().find(|info| info.name == name).map_or("", |info| info.idea);
        let (n, shape) = rows.first().map_or((0, &None), |row| (row.n, &row.shape));
        let shape = shape.as_ref().map(|shape| rustwarp::tensor::text(shape)).unwrap_or_default();
        let title = rows.first().map_or_else(String::new, |row| {
            let words = [row.op.as_ref().map(ToString::to_string), row.settings.clone()];
            let words: String = words.into_iter().flatten().map(|word| format!(" {word}")).collect();
            let size = if shape.is_empty() { format!("{n} elements") } else { shape.clone() };
            format!("{}{words}: {size} of {}", row.family, row.dtype)
        });
        // The rung after the last of those shown.
        let last = infos.iter().rposition(|info| rows.iter().any(|row| row.variant == info.name));
        let next = last.and_then(|at| infos.get(at + 1)).map(|info| format!("{}: {}", info.name, info.idea));
        let explain = |row: Row| {
            let counters = row.counters.unwrap_or_default();
            Variant::new(&row.variant, idea(&row.variant), row.verified, counters, row.launches, row.between)
        };
        let accuracy = super::accuracy::sentence(family.name).filter(|_| device.name == super::accuracy::DEVICE);
        let variants = rows.into_iter().map(explain).collect();
        Self { title, n, shape, device, accuracy, variants, next }
    }
}

impl Variant {
    /// Makes a variant's entry from the observations of a run.
    pub fn new(
        name: &str,
        idea: &str,
        verified: Option<bool>,
        counters: Counters,
        launches: Vec<Analysis>,
        between: Between,
    ) -> Self {
        let longest = launches.iter().max_by(|a, b| a.time.kernel_us.total_cmp(&b.time.kernel_us));
        let kernels: f64 = launches.iter().map(|launch| launch.time.kernel_us).sum();
        let (next, first) = launches.first().map_or((0.0, 0.0), |launch| launch.time.launch_us);
        let behind = launches.len().saturating_sub(1) as f64 + f64::from(between.copies);
        let (copy, kib) = launches.first().map_or((0.0, 0.0), |launch| launch.time.host_us);
        let host: f64 = between.host.iter().map(|&bytes| copy + kib * bytes as f64 / 1024.0).sum();
        let time_us = kernels + first + next * behind + host;
        let bytes = launches.iter().map(|launch| launch.read_bytes + launch.written_bytes).sum();
        let lines = longest.map_or(Vec::new(), |launch| launch.lines.iter().take(LINES).map(Line::new).collect());
        Self {
            name: name.to_owned(),
            idea: idea.to_owned(),
            verified,
            counters,
            ratios: Ratios::new(&counters, bytes, time_us),
            time_us,
            limit: longest.and_then(|launch| launch.time.limits.first()).map_or("", |limit| limit.name).to_owned(),
            bytes,
            lines,
            launches,
            between,
        }
    }

    /// Time of all kernels without their launches, in microseconds.
    pub fn kernels_us(&self) -> f64 {
        self.launches.iter().map(|launch| launch.time.kernel_us).sum()
    }

    /// Time of launching the kernels, and of the copies and the host's work between them, in microseconds.
    pub fn launching_us(&self) -> f64 {
        self.time_us - self.kernels_us()
    }

    /// Blocks of all launches.
    pub fn blocks(&self) -> u64 {
        self.launches.iter().map(|launch| launch.grid.iter().map(|&n| u64::from(n)).product::<u64>()).sum()
    }

    /// Describes what the time goes to: launching, if that takes most of it; else the limit of the longest launch.
    pub fn limited_by(&self) -> String {
        if self.launching_us() > self.kernels_us() {
            return format!("launching ({:.1} of {:.1} us)", self.launching_us(), self.time_us);
        }
        limit_in_words(&self.limit).to_owned()
    }

    /// The parts of the estimate in one line, which add up to it.
    pub fn parts(&self) -> String {
        let count = |n: usize, one: &str, several: &str| format!("{n} {}", if n == 1 { one } else { several });
        let copies = match self.between.copies {
            0 => String::new(),
            n => format!(" and {}", count(n as usize, "copy", "copies")),
        };
        let host = match self.between.host.len() {
            0 => String::new(),
            n => format!(", and {} on the host", count(n, "step", "steps")),
        };
        format!(
            "{:.1} us in kernels, and {:.1} us for {}{copies}{host}",
            self.kernels_us(),
            self.launching_us(),
            count(self.launches.len(), "launch", "launches")
        )
    }

    /// The heading of the limits of the longest launch.
    pub fn heading_of_limits(&self) -> String {
        let kernel = self.longest().map_or(0.0, |launch| launch.time.kernel_us);
        let which = match self.launches.len() {
            0 | 1 => "the kernel".to_owned(),
            n => format!("the longest of {n} kernels"),
        };
        format!("{which} takes {kernel:.1} us, which goes to")
    }

    /// The longest launch.
    pub fn longest(&self) -> Option<&Analysis> {
        self.launches.iter().max_by(|a, b| a.time.kernel_us.total_cmp(&b.time.kernel_us))
    }
}

impl Ratios {
    fn new(counters: &Counters, bytes: u64, time_us: f64) -> Self {
        let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        let flops = counters.f16_flops + counters.f32_flops + counters.f64_flops + counters.tensor_flops;
        let per_us = |amount: u64| if time_us > 0.0 { amount as f64 / time_us / 1e3 } else { 0.0 };
        Self {
            active_threads: ratio(counters.thread_instructions, counters.warp_instructions),
            divergent: ratio(counters.divergent_branches, counters.branches),
            wavefronts_over_ideal: ratio(counters.shared_wavefronts, counters.shared_ideal_wavefronts),
            sectors_per_request: counters.sectors_per_request(),
            sector_use: ratio(counters.global_used_bytes, 32 * counters.global_sectors),
            flops_per_byte: ratio(flops, counters.global_bytes),
            flops_per_dram_byte: ratio(flops, bytes),
            gflops: per_us(flops),
            gbps: per_us(bytes),
        }
    }
}

impl Line {
    fn new(line: &rustwarp::backend::SourceLine) -> Self {
        let text = Some(line.text.as_str()).filter(|text| !text.is_empty());
        Self {
            file: line.file.clone(),
            line: line.line,
            text: text.unwrap_or(&line.ptx).to_owned(),
            share: line.share,
            reason: line.reason.clone(),
        }
    }
}

/// Describes the resource behind a limit's name.
pub fn limit_in_words(name: &str) -> &'static str {
    match name {
        "memory" => "the bandwidth of the device's memory",
        "latency" => "waiting: too few loads in flight, too many steps that depend on each other",
        "issue" => "issuing instructions",
        "shared" => "wavefronts of shared memory",
        "cache" => "requests to the caches",
        "barriers" => "block barriers",
        "blocks" => "starting blocks, one after the other",
        "atomics" => "atomics on the same lines",
        "arithmetic" => "arithmetic units",
        _ => "nothing in particular",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A variant of launches that take these times.
    pub fn variant(name: &str, kernels: &[f64], copies: u32, host: &[u64]) -> Variant {
        let launch = |us: &f64| {
            let mut analysis = Analysis::default();
            analysis.time.kernel_us = *us;
            analysis.time.launch_us = (1.0, 3.0);
            analysis.time.host_us = (20.0, 1.0);
            analysis
        };
        let launches = kernels.iter().map(launch).collect();
        Variant::new(name, "", Some(true), Counters::default(), launches, Between { copies, host: host.to_vec() })
    }

    #[test]
    fn the_parts_add_up() {
        let slow = variant("slow", &[10.0, 2.0], 1, &[]);
        assert_eq!(slow.time_us, 12.0 + 3.0 + 2.0);
        assert_eq!(slow.parts(), "12.0 us in kernels, and 5.0 us for 2 launches and 1 copy");
        assert_eq!(slow.limited_by(), limit_in_words(""));
        assert!(slow.heading_of_limits().starts_with("the longest of 2 kernels takes 10.0 us"));
        let waits = variant("waits", &[1.0], 0, &[2048]);
        assert_eq!(waits.parts(), "1.0 us in kernels, and 25.0 us for 1 launch, and 1 step on the host");
        let short = variant("short", &[1.0], 0, &[]);
        assert_eq!(short.parts(), "1.0 us in kernels, and 3.0 us for 1 launch");
        assert_eq!(short.limited_by(), "launching (3.0 of 4.0 us)");
        assert!(short.heading_of_limits().starts_with("the kernel takes 1.0 us"));
    }
}
