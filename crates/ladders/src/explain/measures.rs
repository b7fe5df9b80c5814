//! The table of counters: names, meanings, and the format of their values.

use super::page::Variant;

/// A row of the table of counters.
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// The explanation of the value.
    pub meaning: &'static str,
    /// Whether a smaller value is better (`Some(true)`), a larger one is (`Some(false)`), or neither.
    pub fewer: Option<bool>,
    /// Computes the value.
    pub of: fn(&Variant) -> f64,
    /// The format of the value.
    pub unit: Unit,
}

/// The format of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A whole number.
    Count,
    /// Two decimals.
    Ratio,
    /// A share as per cent.
    Percent,
    /// Microseconds.
    Us,
}

impl Unit {
    /// Formats the value.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Count => grouped(value as u64),
            Self::Ratio => format!("{value:.2}"),
            Self::Percent => format!("{:.1} %", value * 100.0),
            Self::Us => format!("{value:.1} us"),
        }
    }
}

/// Formats a number with its digits in groups of three.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The table of counters.
pub const MEASURES: &[Measure] = &[
    Measure {
        name: "estimated time",
        meaning: "all launches, cold cache, by the model below",
        fewer: Some(true),
        of: |v| v.time_us,
        unit: Unit::Us,
    },
    Measure {
        name: "launches",
        meaning: "each starts after the one before",
        fewer: Some(true),
        of: |v| v.launches.len() as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "blocks",
        meaning: "of all launches; a device starts them one after the other",
        fewer: None,
        of: |v| v.blocks() as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "occupancy",
        meaning: "resident warps over those that fit, of the longest launch",
        fewer: None,
        of: |v| v.longest().map_or(0.0, |l| l.occupancy.2),
        unit: Unit::Percent,
    },
    Measure {
        name: "warp instructions",
        meaning: "PTX instructions, executed by whole warps",
        fewer: Some(true),
        of: |v| v.counters.warp_instructions as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "active lanes",
        meaning: "of 32, per instruction; divergence leaves lanes idle",
        fewer: Some(false),
        of: |v| v.ratios.active_threads,
        unit: Unit::Ratio,
    },
    Measure {
        name: "divergent branches",
        meaning: "share of the branches whose lanes went both ways",
        fewer: Some(true),
        of: |v| v.ratios.divergent,
        unit: Unit::Percent,
    },
    Measure {
        name: "barriers",
        meaning: "arrivals of warps at block barriers",
        fewer: Some(true),
        of: |v| v.counters.barriers as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "shared requests",
        meaning: "loads, stores and atomics of warps",
        fewer: Some(true),
        of: |v| v.counters.shared_requests as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "shared wavefronts",
        meaning: "passes over the 32 banks for these requests",
        fewer: Some(true),
        of: |v| v.counters.shared_wavefronts as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "bank conflicts",
        meaning: "wavefronts beyond those of the same accesses without conflicts",
        fewer: Some(true),
        of: |v| v.counters.bank_conflicts as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "global requests",
        meaning: "loads, stores and atomics of warps",
        fewer: Some(true),
        of: |v| v.counters.global_requests as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "sectors per request",
        meaning: "32-byte pieces; 4 for 32 neighbouring 4-byte words, 32 at worst",
        fewer: None,
        of: |v| v.ratios.sectors_per_request,
        unit: Unit::Ratio,
    },
    Measure {
        name: "sector use",
        meaning: "bytes requested, of those that moved; bytes requested by several lanes of a warp count once",
        fewer: Some(false),
        of: |v| v.ratios.sector_use,
        unit: Unit::Percent,
    },
    Measure {
        name: "atomics",
        meaning: "instructions of warps, shared and global",
        fewer: Some(true),
        of: |v| v.counters.atomics as f64,
        unit: Unit::Count,
    },
    Measure {
        name: "flops per byte",
        meaning: "operations per requested byte of global memory (CGMA)",
        fewer: None,
        of: |v| v.ratios.flops_per_byte,
        unit: Unit::Ratio,
    },
    Measure {
        name: "GB/s",
        meaning: "distinct bytes over the estimated time",
        fewer: Some(false),
        of: |v| v.ratios.gbps,
        unit: Unit::Ratio,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(Unit::Percent.write(0.256), "25.6 %");
    }
}
