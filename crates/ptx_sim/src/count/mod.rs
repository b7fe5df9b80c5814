//! Counters: the cost of a kernel, in the units of Nsight Compute. They observe the machine and do not affect it.
//!
//! | counter | metric of Nsight Compute (GH100 names) | how exact |
//! |---|---|---|
//! | `warp_instructions`, `thread_instructions`, `predicated_on` | `smsp__inst_executed`, `smsp__thread_inst_executed`, `…_pred_on` | never equal, because these are PTX and those are SASS instructions; compare variants |
//! | [`Counters::active_threads`] | `smsp__thread_inst_executed_per_inst_executed.ratio` | a few per cent, unless ptxas turns branches into predicates |
//! | `divergent_branches` | `smsp__sass_branch_targets_threads_divergent` | equal where ptxas keeps the branch |
//! | `branches` + `unconditional_branches` | `smsp__sass_branch_targets` | the same |
//! | `shared_loads`, `shared_stores`, `shared_atomics` | `smsp__inst_executed_op_shared_{ld,st,atom}` | equal, unless ptxas merges or removes accesses; here `ldmatrix` and `stmatrix` count as loads and stores, the profiler counts them separately |
//! | `shared_wavefronts` | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}` | equal, `ldmatrix` and `stmatrix` included |
//! | `shared_copies` | `smsp__inst_executed_op_ldgsts` | equal |
//! | `shared_copy_wavefronts` | none: the profiler's wavefronts of loads and stores exclude copies | the passes that stores of the same bytes would take |
//! | `shared_ideal_wavefronts`, `bank_conflicts` | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}` | equal; the hardware's counter adds arbitration conflicts with other traffic |
//! | `global_loads`, `global_stores` | `l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | `global_load_sectors`, `global_store_sectors` | `l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | [`Counters::sectors_per_request`] | `l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | [`Counters::bytes_per_sector`] | `smsp__sass_average_data_bytes_per_sector_mem_global` | equal, except that the profiler excludes copies to shared memory |
//! | `global_atomics`, `global_reductions`, `global_atomic_sectors` | `l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{atom,red}` | equal; an `atom` whose result is unused counts as a `red`, as in ptxas, unless it exchanges or acquires, or the kernel has a fence |
//! | `atomic_addresses`, `lanes_per_address` | none; `lts__t_sectors_op_{atom,red}` grows with them | exact by definition |
//! | `shared_atomic_wavefronts` | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom` | equal for 32-bit integers; `f32`, `f64` and 64-bit atomics are loops of compare-and-swap in SASS |
//! | `local_loads`, `local_stores`, `local_sectors` | `l1tex__t_{requests,sectors}_pipe_lsu_mem_local_op_{ld,st}` | equal for arrays; ptxas's register spills are not in the PTX |
//! | `barriers` | none (`smsp__warps_issue_stalled_barrier` counts cycles) | executions by warps |
//! | `f32_flops`, … | `smsp__sass_thread_inst_executed_op_{fadd,fmul}_pred_on` + 2 × `…ffma_pred_on` | a few per cent: ptxas fuses and splits |
//!
//! `tests/golden/` has the profiler's readings on an H200, and `tests/golden.rs` compares them.

mod banks;
mod contention;
mod counting;
pub(crate) mod sectors;
mod sums;
mod tally;
mod work;

pub(crate) use tally::Counting;

use crate::lanes::Spread;
use crate::observe::{AccessKind, Bypass, Touch};
use crate::program::Program;
use crate::stop::Place;
use contention::Wanted;
pub(crate) use counting::counts_lanes;

/// Defines the struct, the iterator over its fields, and its sum from one list.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Totals of a launch.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Largest number of lanes of one atomic instruction with the same address: 1 to 32. Merged by the maximum.
            pub most_lanes_per_address: u64,
            /// Number of addresses of atomic instructions by their number of lanes: 1, 2, up to 4, 8, 16, 32.
            pub lanes_per_address: [u64; 6],
        }

        impl Counters {
            /// Iterates over name and value of each sum, in the order of declaration.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        impl std::ops::AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
                self.most_lanes_per_address = self.most_lanes_per_address.max(other.most_lanes_per_address);
                for (sum, more) in self.lanes_per_address.iter_mut().zip(other.lanes_per_address) {
                    *sum += more;
                }
            }
        }
    };
}

counters! {
    /// Instructions executed by warps.
    warp_instructions,
    /// Instructions executed by warps times their active lanes: 32 times as many without divergence.
    thread_instructions,
    /// Instructions executed by active lanes whose guard (`@p`), if any, was true.
    predicated_on,
    /// Conditional and indexed branches executed by warps.
    branches,
    /// Branches whose lanes took different directions.
    divergent_branches,
    /// Unconditional branches; they differ most from the hardware's count, because compilers lay out code differently.
    unconditional_branches,
    /// Shared-memory instructions: loads, stores and atomics.
    shared_requests,
    /// Shared-memory loads.
    shared_loads,
    /// Shared-memory stores.
    shared_stores,
    /// Wavefronts (passes over the 32 banks) of shared loads and stores.
    shared_wavefronts,
    /// Wavefronts of shared loads.
    shared_load_wavefronts,
    /// Wavefronts of shared loads and stores without bank conflicts.
    shared_ideal_wavefronts,
    /// Wavefronts beyond the minimum.
    bank_conflicts,
    /// Bytes that lanes loaded from and stored to shared memory.
    shared_bytes,
    /// Copies from global to shared memory (`cp.async`), which count as global loads but not as shared stores.
    shared_copies,
    /// Wavefronts of copies to shared memory.
    shared_copy_wavefronts,
    /// Global-memory instructions: loads, stores and atomics.
    global_requests,
    /// Global-memory loads.
    global_loads,
    /// Global-memory stores.
    global_stores,
    /// 32-byte sectors accessed by global loads and stores, summed over instructions.
    global_sectors,
    /// Sectors of global loads.
    global_load_sectors,
    /// Sectors of global stores.
    global_store_sectors,
    /// Sectors that the distinct bytes of each global load or store would fill.
    global_ideal_sectors,
    /// Bytes that lanes loaded from and stored to global memory.
    global_bytes,
    /// Bytes that lanes loaded from global memory.
    global_load_bytes,
    /// Bytes that lanes stored to global memory.
    global_store_bytes,
    /// Bytes of global loads and stores, where bytes shared by lanes of an instruction count once.
    global_used_bytes,
    /// Atomic instructions on shared and global memory.
    atomics,
    /// Atomic instructions on shared memory.
    shared_atomics,
    /// Wavefronts of shared atomics.
    shared_atomic_wavefronts,
    /// Atomic instructions on global memory, including `red`; each element of a vector counts as one.
    global_atomics,
    /// Global atomics whose result is unused: `red`, and `atom` with an unused result.
    global_reductions,
    /// Sectors accessed by global atomics.
    global_atomic_sectors,
    /// Sectors accessed by global atomics whose result is unused.
    global_reduction_sectors,
    /// Active lanes of atomic instructions.
    atomic_lanes,
    /// Distinct addresses of atomic instructions, summed.
    atomic_addresses,
    /// Arrivals of warps at block barriers.
    barriers,
    /// Requests to local memory, that is to arrays and spills on a thread's stack. A request transfers 4 bytes per
    /// lane, so 8 bytes take two.
    local_requests,
    /// Loads from local memory.
    local_loads,
    /// Stores to local memory.
    local_stores,
    /// Sectors of local loads and stores; the lanes' words are interleaved in memory, so lanes with equal addresses use
    /// whole sectors.
    local_sectors,
    /// Sectors of local loads.
    local_load_sectors,
    /// Sectors of local stores.
    local_store_sectors,
    /// Bytes that lanes loaded from and stored to local memory.
    local_bytes,
    /// Operations on `f16`, `bf16` and narrower formats; a fused multiply-add counts as two. See `count::work`.
    f16_flops,
    /// Operations on `f32`; a fused multiply-add counts as two.
    f32_flops,
    /// Operations on `f64`; a fused multiply-add counts as two.
    f64_flops,
    /// Operations of matrix instructions.
    tensor_flops,
    /// Integer arithmetic, logic and shifts, including address computations.
    integer_operations,
}

impl Counters {
    /// Returns the active lanes per instruction, at most 32; 0 when no instruction ran.
    pub fn active_threads(&self) -> f64 {
        ratio(self.thread_instructions, self.warp_instructions)
    }

    /// Returns the active lanes whose guard was true, per instruction.
    pub fn predicated_on_threads(&self) -> f64 {
        ratio(self.predicated_on, self.warp_instructions)
    }

    /// Returns the sectors per global load or store: for 32 lanes of 4 bytes, 4 at best and 32 at worst.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.global_sectors, self.global_loads + self.global_stores)
    }

    /// Returns the bytes used per accessed sector of 32 bytes; bytes shared by several lanes count once.
    pub fn bytes_per_sector(&self) -> f64 {
        ratio(self.global_used_bytes, self.global_sectors)
    }

    /// Returns the ratio of the wavefronts of shared loads and stores to the minimum: 1 without conflicts.
    pub fn wavefronts_over_ideal(&self) -> f64 {
        ratio(self.shared_wavefronts, self.shared_ideal_wavefronts)
    }

    /// Returns the number of floating-point operations.
    pub fn flops(&self) -> u64 {
        self.f16_flops + self.f32_flops + self.f64_flops + self.tensor_flops
    }

    /// Returns the floating-point operations per byte accessed in global memory: the compute to global memory access
    /// (CGMA) ratio of the PMPP slides (`docs/sources.md`), divided by the bytes of an element.
    pub fn flops_per_byte(&self) -> f64 {
        ratio(self.flops(), self.global_bytes)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// Counters of one executed instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionCounters {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Executions by warps.
    pub executed: u64,
    /// Executions by active lanes.
    pub lanes: u64,
    /// Executions by active lanes whose guard was true.
    pub lanes_on: u64,
    /// Executions by warps that accessed memory or branched, which the other counters refer to.
    pub requests: u64,
    /// Executions whose lanes took different directions.
    pub divergent: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Wavefronts without bank conflicts.
    pub ideal_wavefronts: u64,
    /// Wavefronts beyond the minimum, for loads and stores.
    pub bank_conflicts: u64,
    /// Sectors accessed in global memory.
    pub sectors: u64,
    /// Sectors that its bytes would fill.
    pub ideal_sectors: u64,
    /// Bytes that lanes loaded, stored or updated in global memory.
    pub bytes: u64,
    /// Bytes of global loads and stores, where bytes shared by lanes of an execution count once.
    pub used_bytes: u64,
    /// Sectors accessed in local memory.
    pub local_sectors: u64,
    /// For an atomic, its active lanes.
    pub atomic_lanes: u64,
    /// For an atomic, distinct addresses per execution, summed.
    pub atomic_addresses: u64,
    /// For an atomic, the most lanes at one address in one execution.
    pub most_lanes_per_address: u64,
    /// Floating-point operations.
    pub flops: u64,
}

impl InstructionCounters {
    /// Returns the place of the instruction in PTX and in the source language.
    pub fn place(&self, program: &Program) -> Place {
        Place::of(program, self.function, self.pc)
    }
}

fn wanted_by(touch: &Touch<'_>) -> Wanted {
    Wanted::addresses(touch.addresses, touch.mask, *touch.spread)
}

/// Returns the wavefronts of one access to shared memory.
pub(crate) fn wavefronts_of(touch: &Touch<'_>) -> u32 {
    match touch.kind {
        AccessKind::Atomic => banks::atomic_wavefronts(&wanted_by(touch), touch.bytes),
        _ => banks::wavefronts(touch.addresses, touch.mask, touch.bytes, *touch.spread, banks::pairs(touch)).0,
    }
}

/// Returns the wavefronts of an atomic on shared memory that counts lanes: lanes at the same word are combined first.
pub(crate) fn combined_wavefronts_of(touch: &Touch<'_>) -> u32 {
    banks::different_words(&wanted_by(touch))
}

/// Returns the wavefronts of a load from global memory that the first-level cache serves: its lines are rows of the
/// banks of shared memory, and neighbours with equal addresses are not served together. Measured:
/// `bench/model/constants/cached.cu`.
pub(crate) fn cached_wavefronts_of(touch: &Touch<'_>) -> u32 {
    banks::wavefronts(touch.addresses, touch.mask, touch.bytes, *touch.spread, false).0
}

/// Returns the sectors of one access to global memory.
pub(crate) fn sectors_of(touch: &Touch<'_>) -> u32 {
    match touch.kind {
        AccessKind::Atomic => sectors::atomic_sectors(&wanted_by(touch), touch.bytes),
        _ => sectors::sectors(touch.addresses, touch.mask, touch.bytes, *touch.spread),
    }
}

/// Returns the sectors of a copy that bypasses L1: counted as the load that was reported, and the actual number.
pub(crate) fn bypassing_sectors_of(past: &Bypass<'_>) -> (u32, u32) {
    let Bypass { mask, bytes, from, to, .. } = *past;
    (sectors::sectors(from, mask, bytes, Spread::of(from, mask)), sectors::bypassing_sectors(from, to, mask))
}
