//! Time of a launch by a simple model: for each resource of the device, the time that it would be busy if it were the
//! only limit; the slowest resource determines the result. The bandwidth and the latency of memory are not independent,
//! because the loads that wait are those that use the bandwidth; these two are combined by the cube root of the sum of
//! their cubes.
//!
//! Where PTX differs from SASS, ptxas's behaviour is assumed: a short forward branch around code without a loop, a
//! barrier or a call becomes predicates, so warps that skip the code still issue its instructions, and those on shared
//! memory still take a wavefront.

use super::costs::Costs;
use super::timeline::block_cycles;
use crate::count::{Counters, InstructionCounters};
use crate::occupancy::Occupancy;
use crate::profile::Profile;
use crate::program::{Function, Inst, Op, Program, Space};
use crate::trace::Traced;
use serde::Serialize;
use std::ops::Range;

/// An estimate of the time of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Time {
    /// Time of the kernel without the launch itself, in microseconds.
    pub kernel_us: f64,
    /// Cost of a launch that follows another one, and of a first launch, in microseconds.
    pub launch_us: (f64, f64),
    /// Time of each resource alone, the slowest first.
    pub limits: Vec<Limit>,
}

/// One resource of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// Stable name for scripts: `memory`, `latency`, `issue`, `shared`, `cache`, `barriers`, `arithmetic`, `blocks`,
    /// `atomics`.
    pub name: &'static str,
    /// Time that it would be busy, in microseconds.
    pub us: f64,
    /// Description of the work that takes this time.
    pub why: String,
}

/// The inputs of the model.
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Program,
    /// The device.
    pub profile: &'a Profile,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Occupancy of a multiprocessor.
    pub occupancy: &'a Occupancy,
    /// Counters of the whole launch.
    pub counters: &'a Counters,
    /// Counters of each instruction.
    pub instructions: &'a [InstructionCounters],
    /// What the trace recorded.
    pub traced: &'a Traced,
}

/// Estimates the time of each resource, and of the launch.
pub fn estimate(subject: &Subject<'_>, costs: &Costs) -> Time {
    let Subject { profile, counters, traced, .. } = *subject;
    let clock = f64::from(profile.clock_mhz.max(1)) / 1e3; // cycles per nanosecond
    let multiprocessors = f64::from(profile.multiprocessors);
    let blocks = subject.blocks.max(1) as f64;
    // Fraction of the work on the busiest multiprocessor.
    let share = (blocks / multiprocessors).ceil() / blocks;
    let cycles = |total: f64| total * share / clock / 1e3;

    let skipped = skipped(subject.program, subject.instructions);
    let instructions = counters.warp_instructions + skipped.instructions;
    let passes = counters.shared_wavefronts
        + counters.shared_copy_wavefronts
        + counters.shared_atomic_wavefronts
        + skipped.shared;
    let sectors = counters.global_sectors + counters.global_atomic_sectors;
    let bytes = (traced.read_bytes + traced.written_bytes) as f64;
    let bandwidth = profile.memory_gbps * costs.stream;
    let block = block_cycles(subject.program, &traced.warps, costs) + costs.block_cycles;
    let resident = f64::from(subject.occupancy.blocks.max(1)) * multiprocessors;
    let waves = if blocks <= resident { 1.0 } else { blocks / resident };

    let mut limits = vec![
        Limit {
            name: "memory",
            us: if bandwidth > 0.0 { bytes / bandwidth / 1e3 } else { 0.0 },
            why: format!("{:.1} MB of different sectors at {bandwidth:.0} GB/s", bytes / 1e6),
        },
        Limit {
            name: "latency",
            us: waves * block / clock / 1e3,
            why: match waves > 1.0 {
                true => format!("a block takes {block:.0} cycles, and each slot for a block runs {waves:.1} in turn"),
                false => format!("a block takes {block:.0} cycles, and all blocks run at the same time"),
            },
        },
        Limit {
            name: "issue",
            us: cycles(instructions as f64 / 4.0),
            why: format!(
                "{instructions} warp instructions{}, 4 a cycle on each multiprocessor",
                predicated_off(skipped.instructions)
            ),
        },
        Limit {
            name: "shared",
            us: cycles(passes as f64 * costs.wavefront_cycles),
            why: format!("{passes} wavefronts{} of {} cycles", predicated_off(skipped.shared), costs.wavefront_cycles),
        },
        Limit { name: "cache", us: cycles(sectors as f64 / 4.0), why: format!("{sectors} sectors, 4 a cycle") },
        Limit {
            name: "barriers",
            us: cycles(counters.barriers as f64 * costs.barrier_warp_cycles),
            why: format!(
                "{} arrivals of warps at barriers, {} cycles each",
                counters.barriers, costs.barrier_warp_cycles
            ),
        },
        Limit {
            name: "blocks",
            us: blocks * costs.block_start_ns / 1e3,
            why: format!("{blocks} blocks start, {} ns each", costs.block_start_ns),
        },
        Limit {
            name: "atomics",
            us: traced.hottest_address as f64 * costs.same_address_ns / 1e3,
            why: format!("{} atomics at one address, {} ns each", traced.hottest_address, costs.same_address_ns),
        },
    ];
    if profile.fp32_gflops > 0.0 && profile.fp64_gflops > 0.0 {
        let (single, double) = (counters.f32_flops as f64, counters.f64_flops as f64);
        limits.push(Limit {
            name: "arithmetic",
            us: (single / profile.fp32_gflops + double / profile.fp64_gflops) / 1e3,
            why: format!("{single} operations on f32, {double} on f64"),
        });
    }
    let of = |name: &str| limits.iter().find(|limit| limit.name == name).map_or(0.0, |limit| limit.us);
    let joined = (of("memory").powi(3) + of("latency").powi(3)).cbrt();
    let kernel_us = limits.iter().map(|limit| limit.us).fold(joined, f64::max);
    limits.sort_by(|a, b| b.us.total_cmp(&a.us));
    Time { kernel_us, launch_us: (costs.next_launch_ns / 1e3, costs.first_launch_ns / 1e3), limits }
}

/// Says how many of a count are of short branches that a warp skips in the PTX: ptxas makes them predicated
/// instructions, which are issued all the same, so that the count is above that of the counters.
fn predicated_off(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" ({count} of them predicated off)") }
}

/// Instructions that warps issue although no lane needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Skipped {
    instructions: u64,
    shared: u64,
}

/// Maximum length of predicated code, in instructions.
const SHORT: u32 = 12;

fn skipped(program: &Program, counted: &[InstructionCounters]) -> Skipped {
    let mut skipped = Skipped::default();
    for branch in counted {
        let Some(function) = program.functions.get(branch.function as usize) else { continue };
        let Some(body) = predicated(function, branch.pc) else { continue };
        let inside = counted.binary_search_by_key(&(branch.function, body.start), |own| (own.function, own.pc));
        let entered = inside.map_or(0, |at| counted[at].executed);
        let around = branch.executed.saturating_sub(entered);
        let shared =
            |inst: &&Inst| matches!(&inst.op, Op::Load(access) | Op::Store(access) if access.space == Space::Shared);
        let code = &function.code[body.start as usize..body.end as usize];
        skipped.instructions += around * code.len() as u64;
        skipped.shared += around * code.iter().filter(shared).count() as u64;
    }
    skipped
}

/// Returns the short code that a conditional branch skips or enters.
fn predicated(function: &Function, pc: u32) -> Option<Range<u32>> {
    let branch = function.code.get(pc as usize)?;
    let (Op::Branch { target }, true) = (&branch.op, branch.guard.is_some()) else { return None };
    // LLVM writes `@p bra BODY; bra NEXT;` if the body is elsewhere.
    let next = match function.code.get(pc as usize + 1)? {
        Inst { op: Op::Branch { target }, guard: None, .. } => *target,
        _ => pc + 1,
    };
    straight(function, pc + 1, *target).or_else(|| straight(function, *target, next))
}

/// Returns the code from `start` to `end` if it has no loop, barrier or call, and is left by falling through or by one
/// branch.
fn straight(function: &Function, start: u32, end: u32) -> Option<Range<u32>> {
    for pc in start..start.saturating_add(SHORT) {
        let there = pc == end;
        let inst = function.code.get(pc as usize)?;
        let arrives = matches!(inst.op, Op::Branch { target } if inst.guard.is_none() && target == end);
        if there || arrives {
            return (pc > start).then_some(start..pc);
        }
        match inst.op {
            Op::Pure(..)
            | Op::Load(_)
            | Op::Store(_)
            | Op::Discard { .. }
            | Op::ConvertAddress { .. }
            | Op::Nothing => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(body: &str) -> Program {
        let text = format!(
            ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 \
            %r<5>;\n{body}\n}}\n"
        );
        Program::parse(&text).expect("PTX")
    }

    fn body(text: &str) -> Option<Range<u32>> {
        let program = program(text);
        let code = &program.functions[0].code;
        let branch = code.iter().position(|inst| inst.guard.is_some()).expect("a branch");
        predicated(&program.functions[0], branch as u32)
    }

    #[test]
    fn short_code_becomes_predicates() {
        let setp = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;";
        assert_eq!(body(&format!("{setp}\n@%p1 bra END;\nadd.s32 %r2, %r1, 1;\nEND:\nret;")), Some(3..4));
        let elsewhere =
            format!("{setp}\n@%p1 bra BODY;\nbra.uni END;\nBODY:\nadd.s32 %r2, %r1, 1;\nbra.uni END;\nEND:\nret;");
        assert_eq!(body(&elsewhere), Some(4..5));
        assert_eq!(body(&format!("{setp}\n@%p1 bra END;\nbar.sync 0;\nEND:\nret;")), None);
        assert_eq!(body(&format!("{setp}\nLOOP:\nadd.s32 %r2, %r1, 1;\n@%p1 bra LOOP;\nret;")), None);
    }
}
