//! The most expensive source lines, with a reason for each.

use super::costs::Costs;
use super::time::Time;
use crate::count::InstructionCounters;
use crate::files::{Files, Recorded};
use crate::program::{Inst, Op, Program};
use crate::stop::Place;
use serde::Serialize;

/// A line of the source language, or of PTX without line tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Path of the source file for display; empty for PTX.
    pub file: String,
    /// The line's text, trimmed; empty if the text that was compiled is not available.
    #[serde(skip)]
    pub text: String,
    /// Line, from 1.
    pub line: u32,
    /// The function that the line is in.
    pub function: String,
    /// PTX of its most expensive instruction.
    pub ptx: String,
    /// Fraction of the launch's cost, 0 to 1.
    pub share: f64,
    /// Reason for its cost, as a sentence.
    pub reason: String,
    /// Warp instructions executed.
    pub executed: u64,
    /// Active lanes per instruction.
    pub active: f64,
    /// Wavefronts of shared memory, and the minimum.
    pub wavefronts: (u64, u64),
    /// Sectors of global memory, and the number that its bytes fill.
    pub sectors: (u64, u64),
    /// Branches whose lanes diverged.
    pub divergent: u64,
    #[serde(skip)]
    cost: f64,
    #[serde(skip)]
    top: f64,
}

/// Returns the lines, the most expensive first. The cost is busy time: issue slots, wavefronts, barriers, and the
/// global accesses if the launch is limited by memory or its latency.
pub fn lines(program: &Program, counted: &[InstructionCounters], time: &Time, costs: &Costs) -> Vec<Line> {
    let slowest = time.limits.first().map_or("", |limit| limit.name);
    let memory = matches!(slowest, "memory" | "latency" | "cache");
    let mut lines: Vec<Line> = Vec::new();
    // As the compiler wrote them, in the order of `lines`.
    let mut names: Vec<(String, Recorded, u32)> = Vec::new();
    let files = Files::default();
    for own in counted {
        let place = own.place(program);
        let source = place.user_source();
        let ptx = Recorded::default();
        let named = source.map_or(("", &ptx, place.ptx_line), |it| (it.file.as_str(), &it.recorded, it.line));
        let cost = cost(program, own, memory, costs);
        let same = |(file, recorded, line): &(String, Recorded, u32)| (file.as_str(), recorded, *line) == named;
        let at = names.iter().position(same).unwrap_or_else(|| {
            names.push((named.0.to_owned(), named.1.clone(), named.2));
            lines.push(Line::new(&place, &files));
            lines.len() - 1
        });
        let sum = &mut lines[at];
        sum.cost += cost;
        sum.active += own.lanes as f64;
        sum.executed += own.executed;
        sum.wavefronts = (sum.wavefronts.0 + own.wavefronts, sum.wavefronts.1 + own.ideal_wavefronts);
        sum.sectors = (sum.sectors.0 + own.sectors, sum.sectors.1 + own.ideal_sectors);
        sum.divergent += own.divergent;
        if cost > sum.top {
            (sum.top, sum.ptx) = (cost, place.ptx.clone());
            sum.reason = reason(program, own);
        }
    }
    let total: f64 = lines.iter().map(|line| line.cost).sum();
    for line in &mut lines {
        line.share = if total > 0.0 { line.cost / total } else { 0.0 };
        line.active /= line.executed.max(1) as f64;
    }
    lines.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.line.cmp(&b.line)).then(a.file.cmp(&b.file)));
    lines
}

impl Line {
    /// Creates a line without counts.
    fn new(place: &Place, files: &Files) -> Self {
        let Some(source) = place.user_source() else {
            return Self { line: place.ptx_line, function: place.function.clone(), ..Self::default() };
        };
        let file = files.open(&source.file, &source.recorded);
        let row = file.text().and_then(|text| text.lines().nth((source.line as usize).checked_sub(1)?));
        Self {
            file: file.shown.clone(),
            text: row.unwrap_or_default().trim().to_owned(),
            line: source.line,
            function: source.function.clone().unwrap_or(place.function.clone()),
            ..Self::default()
        }
    }
}

fn cost(program: &Program, own: &InstructionCounters, memory: bool, costs: &Costs) -> f64 {
    let barrier = matches!(op(program, own), Some(Op::Barrier { .. }));
    let sectors = own.sectors as f64 * if memory { 2.0 } else { 0.25 };
    own.executed as f64 / 4.0
        + own.wavefronts as f64 * costs.wavefront_cycles
        + sectors
        + if barrier { own.executed as f64 * costs.barrier_warp_cycles } else { 0.0 }
}

fn inst<'p>(program: &'p Program, own: &InstructionCounters) -> Option<&'p Inst> {
    program.functions.get(own.function as usize)?.code.get(own.pc as usize)
}

fn op<'p>(program: &'p Program, own: &InstructionCounters) -> Option<&'p Op> {
    inst(program, own).map(|inst| &inst.op)
}

/// Describes the cost of an instruction in one sentence.
fn reason(program: &Program, own: &InstructionCounters) -> String {
    let per = |count: u64| count as f64 / own.requests.max(1) as f64;
    let active = own.lanes as f64 / own.executed.max(1) as f64;
    let scattered = own.sectors > own.ideal_sectors + own.ideal_sectors / 4;
    match op(program, own) {
        Some(Op::Atomic(_) | Op::AtomicVector(_) | Op::AtomicWide(_)) => format!(
            "{:.0} lanes of a warp update {:.1} addresses: lanes at the same address are serialised, up to {} of them",
            own.atomic_lanes as f64 / own.requests.max(1) as f64,
            per(own.atomic_addresses),
            own.most_lanes_per_address
        ),
        Some(Op::Barrier { .. }) => {
            format!("{} times a warp waits here for the slowest warp of its block", own.executed)
        }
        Some(Op::Branch { .. } | Op::BranchIndexed { .. }) if own.divergent > 0 => {
            format!("{} of {} warps diverge here: the two sides run one after the other", own.divergent, own.executed)
        }
        Some(Op::Load(_) | Op::Store(_)) if own.wavefronts > own.ideal_wavefronts => format!(
            "the {active:.0} active lanes access the same banks: {:.1} wavefronts instead of {:.1}",
            per(own.wavefronts),
            per(own.ideal_wavefronts)
        ),
        Some(Op::Load(_) | Op::Store(_)) if own.wavefronts > 0 && active < 24.0 => format!(
            "{} wavefronts of shared memory for {active:.1} of 32 lanes each: no bank conflicts, but most lanes are \
            idle",
            own.wavefronts
        ),
        Some(Op::Load(_) | Op::Store(_)) if own.wavefronts > 0 => {
            format!("{} wavefronts of shared memory, without bank conflicts", own.wavefronts)
        }
        // Lanes that share few sectors are served efficiently, even if they use few bytes of these sectors.
        Some(Op::Load(_) | Op::Store(_)) if scattered && own.sectors * 32 > own.bytes => format!(
            "the {active:.0} active lanes touch {:.1} sectors where {:.1} would hold their bytes: {:.0} % of the \
            transferred bytes are used",
            per(own.sectors),
            per(own.ideal_sectors),
            100.0 * own.used_bytes as f64 / (32 * own.sectors).max(1) as f64
        ),
        Some(Op::Load(_) | Op::Store(_)) if scattered => format!(
            "{} of global memory, shared by lanes with equal addresses: {:.1} sectors per request",
            bytes(own.sectors * 32),
            per(own.sectors)
        ),
        Some(Op::Load(_) | Op::Store(_)) if own.sectors > 0 => format!(
            "{} of global memory, coalesced: {:.1} sectors per request",
            bytes(own.sectors * 32),
            per(own.sectors)
        ),
        Some(Op::Collective { .. }) => format!("{} exchanges inside a warp, without memory", own.executed),
        _ if active < 24.0 => format!("{} instructions with {active:.1} of 32 lanes active", own.executed),
        _ => format!(
            "{} warp instructions of `{}`",
            own.executed,
            inst(program, own).map_or("PTX", |inst| program.opcode(inst))
        ),
    }
}

/// Formats a count of bytes in the unit that leaves one to four digits before the point.
fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..1_000_000 => format!("{:.1} KB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the reason for a load by all lanes, given sectors, bytes of all lanes, and distinct bytes.
    fn of_load(sectors: u64, asked: u64, used: u64) -> String {
        let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<2>;\n.reg \
            .b64 %rd<2>;\nld.global.b32 %r1, [%rd1];\nret;\n}\n";
        let program = Program::parse(text).expect("PTX");
        let pc =
            program.functions[0].code.iter().position(|inst| matches!(inst.op, Op::Load(_))).expect("a load") as u32;
        let own = InstructionCounters {
            pc,
            executed: 1,
            lanes: 32,
            requests: 1,
            sectors,
            ideal_sectors: used.div_ceil(32),
            bytes: asked,
            used_bytes: used,
            ..InstructionCounters::default()
        };
        reason(&program, &own)
    }

    #[test]
    fn reasons_name_the_used_part_of_transfers() {
        assert!(of_load(32, 128, 128).ends_with("12 % of the transferred bytes are used"), "{}", of_load(32, 128, 128));
        // Pairs of lanes load the same word, and no two words share a sector.
        assert!(of_load(16, 128, 64).ends_with("12 % of the transferred bytes are used"), "{}", of_load(16, 128, 64));
        assert_eq!(of_load(4, 128, 128), "128 bytes of global memory, coalesced: 4.0 sectors per request");
        // Half of the lanes load one word, half another.
        let shared = "64 bytes of global memory, shared by lanes with equal addresses: 2.0 sectors per request";
        assert_eq!(of_load(2, 128, 8), shared);
    }
}
