//! How many blocks of a kernel fit on a multiprocessor, and what limits them: the CUDA occupancy calculation.
//!
//! Blocks are limited by the block slots, the warp slots, the registers (handed out to warps, or on the oldest devices
//! to blocks, in units) and the shared memory of a multiprocessor. The fewest win. Method: CUDA Occupancy Calculator;
//! CUDA C Programming Guide 3.2, section 4.2, for devices that allocate registers by block.

mod estimate;

use crate::machine::static_shared;
use crate::profile::{Profile, RegisterAllocation};
use crate::program::Program;
use crate::stop::Stop;
use std::fmt;

/// What a block of a kernel needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Threads of a block, not 0.
    pub threads: u32,
    /// Registers of a thread; 0 when unknown: then they limit nothing.
    pub registers: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u64,
}

/// What keeps more blocks from a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The multiprocessor's threads (its warp slots).
    Threads,
    /// Its block slots.
    Blocks,
    /// Its registers.
    Registers,
    /// Its shared memory.
    Shared,
}

/// What of a kernel is resident on one multiprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Blocks; 0 when not even one fits.
    pub blocks: u32,
    /// Warps of these blocks.
    pub warps: u32,
    /// Threads of these blocks.
    pub threads: u32,
    /// Warps over the warps that the multiprocessor could hold: 0 to 1.
    pub fraction: f64,
    /// What limits the blocks; several when they allow the same number.
    pub limits: Vec<Limit>,
    /// Blocks that each resource would allow.
    pub allowed: Vec<(Limit, u32)>,
}

impl Demand {
    /// Of an entry's blocks with `threads` threads and `dynamic_shared` bytes of dynamic shared memory. Without a count
    /// of registers, which ptxas has, see [`estimate_registers`].
    ///
    /// # Errors
    /// A usage stop when there is no such entry.
    pub fn of(program: &Program, entry: &str, threads: u32, dynamic_shared: u64, registers: u32) -> Result<Self, Stop> {
        let shared_bytes = static_shared(program, entry)?.saturating_add(dynamic_shared);
        Ok(Self { threads, registers, shared_bytes })
    }
}

/// About how many registers a thread of an entry needs: the most that are live at once in the PTX. ptxas's count may
/// differ by a third. `None` when there is no such entry, or its code is too long.
pub fn estimate_registers(program: &Program, entry: &str) -> Option<u32> {
    estimate::registers(program, program.entries().find(|function| function.name == entry)?)
}

/// The calculation.
pub fn occupancy(profile: &Profile, demand: &Demand) -> Occupancy {
    let warps = demand.threads.div_ceil(32).max(1);
    let fits = demand.threads <= profile.threads_per_block;
    let by_threads = if fits { profile.warps_per_multiprocessor() / warps } else { 0 };
    let allowed = vec![
        (Limit::Threads, by_threads),
        (Limit::Blocks, profile.blocks_per_multiprocessor),
        (Limit::Registers, by_registers(profile, demand.registers, warps)),
        (Limit::Shared, by_shared(profile, demand.shared_bytes)),
    ];
    let blocks = allowed.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
    let limits = allowed.iter().filter(|(_, allowed)| *allowed == blocks).map(|(limit, _)| *limit).collect();
    Occupancy {
        blocks,
        warps: blocks * warps,
        threads: blocks * demand.threads,
        fraction: f64::from(blocks * warps) / f64::from(profile.warps_per_multiprocessor().max(1)),
        limits,
        allowed,
    }
}

fn by_registers(profile: &Profile, registers: u32, warps: u32) -> u32 {
    if registers == 0 {
        return u32::MAX;
    }
    if registers > profile.registers_per_thread {
        return 0;
    }
    let unit = profile.register_unit.max(1);
    // At most 255 registers of 1024 threads: no overflow.
    let up = |registers: u32| registers.div_ceil(unit) * unit;
    let in_units = warps.next_multiple_of(profile.warp_unit.max(1));
    match profile.register_allocation {
        RegisterAllocation::Block => {
            let block = up(in_units * 32 * registers);
            if block > profile.registers_per_block { 0 } else { profile.registers_per_multiprocessor / block }
        }
        RegisterAllocation::Warp => {
            let warp = up(32 * registers);
            if warp.saturating_mul(in_units) > profile.registers_per_block {
                return 0;
            }
            let unit = profile.warp_unit.max(1);
            let resident = profile.registers_per_multiprocessor / warp / unit * unit;
            resident / warps
        }
    }
}

fn by_shared(profile: &Profile, bytes: u64) -> u32 {
    if bytes > profile.shared_per_block {
        return 0;
    }
    let block = (bytes + profile.shared_reserved).next_multiple_of(profile.shared_unit.max(1));
    let blocks = profile.shared_per_multiprocessor.checked_div(block).unwrap_or(u64::from(u32::MAX));
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "threads",
            Self::Blocks => "block slots",
            Self::Registers => "registers",
            Self::Shared => "shared memory",
        })
    }
}
