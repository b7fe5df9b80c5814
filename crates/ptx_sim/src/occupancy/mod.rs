//! Occupancy: the number of blocks of a kernel that fit on a multiprocessor, and the resource that limits it.
//!
//! The resources are the block slots, the warp slots, the registers (allocated in units to warps, or to blocks on the
//! oldest devices) and the shared memory of a multiprocessor. The smallest of their limits applies. Method: CUDA
//! Occupancy Calculator; CUDA C Programming Guide 3.2, section 4.2, for devices that allocate registers by block.

mod estimate;

use crate::profile::{Profile, RegisterAllocation};
use crate::program::{Layout, Program, entry};
use crate::stop::Stop;
use std::fmt;

/// Resources that a block of a kernel needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Threads of a block; at least 1.
    pub threads: u32,
    /// Registers of a thread; 0 when unknown, and then registers are not a limit.
    pub registers: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u64,
}

/// A resource that limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Threads of the multiprocessor, that is its warp slots.
    Threads,
    /// Block slots of the multiprocessor.
    Blocks,
    /// Registers of the multiprocessor.
    Registers,
    /// Shared memory of the multiprocessor.
    Shared,
}

/// Resident blocks, warps and threads of a kernel on one multiprocessor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Resident blocks; 0 when not even one fits.
    pub blocks: u32,
    /// Warps of the resident blocks.
    pub warps: u32,
    /// Threads of the resident blocks.
    pub threads: u32,
    /// Resident warps over the warps that the multiprocessor can hold: 0 to 1.
    pub fraction: f64,
    /// Resources that limit the number of blocks; several when they allow the same number.
    pub limits: Vec<Limit>,
    /// Blocks that each resource allows.
    pub allowed: Vec<(Limit, u32)>,
}

impl Demand {
    /// Computes the demand of an entry with `threads` threads per block and `dynamic_shared` bytes of dynamic shared
    /// memory. ptxas reports `registers`; [`estimate_registers`] gives an estimate.
    ///
    /// # Errors
    /// `unknown-entry` if the program has no such entry.
    pub fn of(program: &Program, entry: &str, threads: u32, dynamic_shared: u64, registers: u32) -> Result<Self, Stop> {
        let shared_bytes =
            Layout::of(program, entry::entry(program, entry)?).static_bytes.saturating_add(dynamic_shared);
        Ok(Self { threads, registers, shared_bytes })
    }
}

/// Estimates the registers of a thread of an entry: the largest number live at once in the PTX. ptxas's count may
/// differ by a third. `None` if there is no such entry or its code is too long.
pub fn estimate_registers(program: &Program, entry: &str) -> Option<u32> {
    estimate::registers(program.entries().find(|function| function.name == entry)?)
}

/// Calculates the occupancy of a kernel on a device.
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
    // At most 255 registers times 1024 threads, which cannot overflow.
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
