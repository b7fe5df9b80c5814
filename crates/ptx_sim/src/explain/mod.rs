//! Explanation of a launch's time: its cost by source line, what its warps wait for on a device, and an estimate of the
//! time.
//!
//! Run with [`Config::trace`](crate::Config), then call [`analyse`]. The estimate replays what the trace recorded on a
//! model of one multiprocessor: see [`Time`], and `costs` for the constants. Tests compare it with an H200's times of
//! this project's ladders.

mod busiest;
mod changes;
mod costs;
mod lines;
mod replay;
mod subject;
mod time;
mod without;

pub use changes::Change;
pub use costs::Costs;
pub use lines::Line;
pub use time::{Limit, Time};

use crate::count::Counters;
use crate::machine::Launch;
use crate::occupancy::{Demand, occupancy};
use crate::profile::Profile;
use crate::program::{Program, Space};
use crate::session::Report;
use crate::stop::Stop;
use serde::Serialize;

/// Explanation of a launch.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// Name of the `.entry`.
    pub entry: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u64,
    /// Counters of the whole launch.
    #[serde(skip)]
    pub counters: Counters,
    /// Distinct bytes of global memory read, in whole sectors.
    pub read_bytes: u64,
    /// Distinct bytes of global memory written, in whole sectors.
    pub written_bytes: u64,
    /// Resident blocks and warps of a multiprocessor, and the warps as a fraction of the multiprocessor's maximum.
    pub occupancy: (u32, u32, f64),
    /// What limits the occupancy.
    pub occupancy_limits: Vec<String>,
    /// Estimated time.
    pub time: Time,
    /// Source lines, the most expensive first.
    pub lines: Vec<Line>,
    /// For each warp of the traced block, runs of instructions with the same number of active lanes, as (instructions,
    /// lanes).
    pub activity: Vec<Vec<(u32, u32)>>,
    /// Bank usage of the shared-memory instruction with the most wavefronts.
    pub banks: Option<Banks>,
    /// Number of global loads and stores by their sectors, 0 to 64.
    pub sectors: Vec<u64>,
}

/// Which banks of shared memory the lanes of one instruction access.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Banks {
    /// The instruction's line of PTX.
    pub ptx: String,
    /// Source line; 0 when unknown.
    pub line: u32,
    /// Source file.
    pub file: String,
    /// Number of words by lane and bank.
    pub words: Vec<Vec<u32>>,
    /// Number of requests by wavefronts, 0 to 32.
    pub wavefronts: Vec<u64>,
}

/// Explains a launch that ran with a trace.
///
/// `stands_for` is the number of times as much data that another launch moves, for which this one stands: the estimate
/// is that of this launch's work at the other one's rates of memory. 1 for the launch itself.
///
/// # Errors
/// `no-trace` if the launch was not traced.
pub fn analyse(
    program: &Program,
    launch: &Launch<'_>,
    report: &Report,
    profile: &Profile,
    costs: &Costs,
    stands_for: f64,
) -> Result<Analysis, Stop> {
    let Some(traced) = &report.traced else {
        return Err(Stop::usage("no-trace", "the launch was not traced").with_help(
            "set `Config::trace` before the \
            launch",
        ));
    };
    let shared_bytes = launch.dynamic_shared + static_shared(program, report);
    let registers = launch.registers.unwrap_or_else(|| registers(program, launch.entry, costs));
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    let demand = Demand { threads: threads as u32, registers, shared_bytes };
    let fits = occupancy(profile, &demand);
    let subject = subject::Subject {
        program,
        profile,
        blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
        occupancy: &fits,
        shared_bytes,
        counters: &report.counters,
        traced,
        stands_for,
    };
    let time = time::estimate(&subject, costs);
    let lines = lines::lines(program, &report.instructions, &time, costs);
    let mut sectors = vec![0_u64; 65];
    for own in &traced.sectors {
        sectors.iter_mut().zip(&own.requests).for_each(|(sum, more)| *sum += more);
    }
    Ok(Analysis {
        entry: launch.entry.to_owned(),
        grid: launch.grid,
        block: launch.block,
        shared_bytes,
        counters: report.counters,
        read_bytes: traced.read_bytes,
        written_bytes: traced.written_bytes,
        occupancy: (fits.blocks, fits.warps, fits.fraction),
        occupancy_limits: fits.limits.iter().map(ToString::to_string).collect(),
        time,
        lines,
        activity: traced
            .blocks
            .first()
            .map_or_else(Vec::new, |block| block.warps.iter().map(|warp| activity(&warp.steps)).collect()),
        banks: traced.banks.iter().max_by_key(|banks| weight(banks)).map(|banks| heat(program, banks)),
        sectors,
    })
}

/// Estimates the registers that ptxas gives a thread.
fn registers(program: &Program, entry: &str, costs: &Costs) -> u32 {
    registers_for(crate::occupancy::estimate_registers(program, entry).unwrap_or(0), costs)
}

/// The same for a number of values that live at the same time. With 32 registers a multiprocessor is full of warps:
/// ptxas recomputes values rather than take a few more.
fn registers_for(live: u32, costs: &Costs) -> u32 {
    if live <= 32 { live } else { ((f64::from(live) * costs.register_ratio) as u32).max(32) }
}

/// Sort key: conflicts before traffic, because an instruction with conflicts delays itself.
fn weight(banks: &crate::trace::Banks) -> (u64, u64) {
    let all = banks.wavefronts.iter().enumerate();
    let conflicts = all.map(|(passes, requests)| passes.saturating_sub(1) as u64 * requests).sum();
    (conflicts, banks.words.iter().flatten().map(|words| u64::from(*words)).sum())
}

fn heat(program: &Program, banks: &crate::trace::Banks) -> Banks {
    let place = crate::stop::Place::of(program, banks.function, banks.pc);
    let source = place.user_source();
    Banks {
        line: source.map_or(0, |source| source.line),
        file: source.map(|source| source.shown()).unwrap_or_default(),
        words: banks.words.iter().map(|row| row.to_vec()).collect(),
        wavefronts: banks.wavefronts.to_vec(),
        ptx: place.ptx,
    }
}

/// Joins consecutive steps with equally many active lanes.
fn activity(steps: &[crate::trace::Step]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for step in steps {
        let lanes = step.lanes.count_ones();
        match runs.last_mut() {
            Some((length, active)) if *active == lanes => *length += 1,
            _ => runs.push((1, lanes)),
        }
    }
    runs
}

/// Size of the shared variables that the executed functions may use: all of the module, which suits one kernel per
/// file.
fn static_shared(program: &Program, report: &Report) -> u64 {
    if report.counters.shared_requests == 0 {
        return 0;
    }
    let mut names: Vec<&str> = Vec::new();
    for counted in &report.instructions {
        if let Some(function) = program.functions.get(counted.function as usize) {
            names.push(&function.name);
        }
    }
    names.sort_unstable();
    names.dedup();
    let shared = program.variables.iter().filter(|variable| variable.space == Space::Shared);
    let used = |name: &str| {
        program.functions.iter().filter(|function| names.contains(&function.name.as_str())).any(|function| {
            let lines = function.code.iter().map(|inst| inst.line);
            let (first, last) = (function.line, lines.max().unwrap_or(function.line));
            let mut text = (first.saturating_sub(1)..last).map_while(|line| program.source.line(line as usize));
            text.any(|line| line.contains(name))
        })
    };
    shared.filter(|variable| used(&variable.name)).map(|variable| variable.size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_more_than_32_values_get_32_registers() {
        let registers = |live| registers_for(live, &Costs::default());
        assert_eq!([20, 32, 33, 49, 60, 100].map(registers), [20, 32, 32, 32, 39, 65]);
    }
}
