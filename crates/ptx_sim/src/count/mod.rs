//! Counters: what a kernel costs, in units that Nsight Compute has too. They observe the machine and change nothing.
//!
//! | counter | metric of Nsight Compute (GH100 names) | how exact |
//! |---|---|---|
//! | `warp_instructions`, `thread_instructions`, `predicated_on` | `smsp__inst_executed`, `smsp__thread_inst_executed`, `…_pred_on` | never equal: these are PTX instructions, those are SASS. Compare variants |
//! | [`Counters::active_threads`] | `smsp__thread_inst_executed_per_inst_executed.ratio` | a few per cent, unless ptxas turns branches into predicates |
//! | `divergent_branches` | `smsp__sass_branch_targets_threads_divergent` | equal where ptxas keeps the branch |
//! | `branches` + `unconditional_branches` | `smsp__sass_branch_targets` | the same |
//! | `shared_loads`, `shared_stores`, `shared_atomics` | `smsp__inst_executed_op_shared_{ld,st,atom}` | equal, unless ptxas merges or removes accesses; but here `ldmatrix` and `stmatrix` are loads and stores, there they count apart |
//! | `shared_wavefronts` | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}` | equal, `ldmatrix` and `stmatrix` included |
//! | `shared_copies` | `smsp__inst_executed_op_ldgsts` | equal |
//! | `shared_copy_wavefronts` | none: the profiler's wavefronts of loads and stores leave copies out | the passes that stores of the same bytes would take |
//! | `shared_ideal_wavefronts`, `bank_conflicts` | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}` | equal; the hardware's counter adds arbitration conflicts with other traffic |
//! | `global_loads`, `global_stores` | `l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | `global_load_sectors`, `global_store_sectors` | `l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | [`Counters::sectors_per_request`] | `l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{ld,st}` | equal |
//! | [`Counters::bytes_per_sector`] | `smsp__sass_average_data_bytes_per_sector_mem_global` | equal, but that leaves out copies to shared memory |
//! | `global_atomics`, `global_reductions`, `global_atomic_sectors` | `l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{atom,red}` | equal; an `atom` whose result nobody reads is a `red` unless it exchanges or acquires, or the kernel has a fence, as for ptxas |
//! | `atomic_addresses`, `lanes_per_address` | none; `lts__t_sectors_op_{atom,red}` grows with them | exact by definition |
//! | `shared_atomic_wavefronts` | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom` | equal for 32-bit integers; `f32`, `f64` and 64-bit atomics are loops of compare-and-swap in SASS |
//! | `local_loads`, `local_stores`, `local_sectors` | `l1tex__t_{requests,sectors}_pipe_lsu_mem_local_op_{ld,st}` | equal for arrays; ptxas's register spills are not in the PTX |
//! | `barriers` | none (`smsp__warps_issue_stalled_barrier` counts cycles) | executions by warps |
//! | `f32_flops`, … | `smsp__sass_thread_inst_executed_op_{fadd,fmul}_pred_on` + 2 × `…ffma_pred_on` | a few per cent: ptxas fuses and splits |
//!
//! `tests/golden/` holds the profiler's readings on an H200, and `tests/golden.rs` compares.

mod banks;
mod contention;
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

/// Makes the struct, its fields by name, and its sum from one list.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Totals of a launch.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Most lanes of one atomic instruction that wanted the same address: 1 to 32. Joined by the maximum.
            pub most_lanes_per_address: u64,
            /// Addresses of atomic instructions by how many of its lanes wanted them: 1, 2, up to 4, 8, 16, 32.
            pub lanes_per_address: [u64; 6],
        }

        impl Counters {
            /// Name and value of each sum, in the order of their declaration.
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
    /// The same times the lanes that were active: 32 times as much without divergence.
    thread_instructions,
    /// The same without lanes whose guard (`@p`) was false.
    predicated_on,
    /// Conditional and indexed branches executed by warps.
    branches,
    /// Those whose lanes went different ways.
    divergent_branches,
    /// Branches without a condition; compilers lay out code differently, so these differ most from the hardware's.
    unconditional_branches,
    /// Shared-memory instructions: loads, stores and atomics.
    shared_requests,
    /// Loads among them.
    shared_loads,
    /// Stores among them.
    shared_stores,
    /// Passes over the 32 banks that loads and stores took.
    shared_wavefronts,
    /// Of loads.
    shared_load_wavefronts,
    /// Passes that the same accesses need without conflicts.
    shared_ideal_wavefronts,
    /// The difference.
    bank_conflicts,
    /// Bytes that lanes loaded from and stored to shared memory.
    shared_bytes,
    /// Copies from global to shared memory (`cp.async`), which are global loads, and no shared stores.
    shared_copies,
    /// Passes over the banks that they took.
    shared_copy_wavefronts,
    /// Global-memory instructions: loads, stores and atomics.
    global_requests,
    /// Loads among them.
    global_loads,
    /// Stores among them.
    global_stores,
    /// 32-byte sectors touched by global loads and stores, per instruction.
    global_sectors,
    /// Of loads.
    global_load_sectors,
    /// Of stores.
    global_store_sectors,
    /// Sectors that the different bytes of each instruction would fill.
    global_ideal_sectors,
    /// Bytes that lanes loaded from and stored to global memory.
    global_bytes,
    /// Of loads.
    global_load_bytes,
    /// Of stores.
    global_store_bytes,
    /// The same without those that another lane of the same instruction asks for too.
    global_used_bytes,
    /// Atomic instructions on shared and global memory.
    atomics,
    /// On shared memory.
    shared_atomics,
    /// Passes over the banks that they took.
    shared_atomic_wavefronts,
    /// On global memory, `red` included; each element of a vector is one.
    global_atomics,
    /// Those whose result nobody reads: `red`, and `atom` with a result that is not used.
    global_reductions,
    /// Sectors touched by atomics on global memory.
    global_atomic_sectors,
    /// Of those without a result.
    global_reduction_sectors,
    /// Lanes of atomic instructions.
    atomic_lanes,
    /// Different addresses per atomic instruction, summed.
    atomic_addresses,
    /// Times that a warp came to a block barrier.
    barriers,
    /// Requests to local memory: arrays and spills on a thread's stack. A request moves 4 bytes per lane, so 8 bytes
    /// take two.
    local_requests,
    /// Loads among them.
    local_loads,
    /// Stores among them.
    local_stores,
    /// Sectors of both; the lanes' words lie interleaved in memory, so lanes that agree on the address use whole
    /// sectors.
    local_sectors,
    /// Of loads.
    local_load_sectors,
    /// Of stores.
    local_store_sectors,
    /// Bytes that lanes loaded from and stored to local memory.
    local_bytes,
    /// Operations on `f16`, `bf16` and narrower; fused multiply-add is two. See `count::work`.
    f16_flops,
    /// On `f32`.
    f32_flops,
    /// On `f64`.
    f64_flops,
    /// Of matrix instructions.
    tensor_flops,
    /// Integer arithmetic, logic and shifts, address computations included.
    integer_operations,
}

impl Counters {
    /// Active lanes per instruction, at most 32; 0 when nothing ran.
    pub fn active_threads(&self) -> f64 {
        ratio(self.thread_instructions, self.warp_instructions)
    }

    /// The same without lanes whose guard was false.
    pub fn predicated_on_threads(&self) -> f64 {
        ratio(self.predicated_on, self.warp_instructions)
    }

    /// Sectors per global load or store: with 32 lanes of 4 bytes 4 at best and 32 at worst.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.global_sectors, self.global_loads + self.global_stores)
    }

    /// Bytes that lanes asked for per sector of 32 bytes that was touched; what several lanes ask for counts once.
    pub fn bytes_per_sector(&self) -> f64 {
        ratio(self.global_used_bytes, self.global_sectors)
    }

    /// Wavefronts of shared loads and stores over those that they need: 1 without conflicts.
    pub fn wavefronts_over_ideal(&self) -> f64 {
        ratio(self.shared_wavefronts, self.shared_ideal_wavefronts)
    }

    /// Floating-point operations.
    pub fn flops(&self) -> u64 {
        self.f16_flops + self.f32_flops + self.f64_flops + self.tensor_flops
    }

    /// Floating-point operations per byte that the lanes asked global memory for: the compute to global memory access
    /// (CGMA) ratio of course notes, times the bytes of an element.
    pub fn flops_per_byte(&self) -> f64 {
        ratio(self.flops(), self.global_bytes)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// Counters of one instruction, for every instruction that was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounters {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Executions by warps.
    pub executed: u64,
    /// The same in active lanes.
    pub lanes: u64,
    /// The same in lanes whose guard held.
    pub lanes_on: u64,
    /// Executions by warps, as far as its counters are concerned: memory accesses or branches.
    pub requests: u64,
    /// Executions whose lanes went different ways.
    pub divergent: u64,
    /// Passes over the banks of shared memory.
    pub wavefronts: u64,
    /// Passes that were needed.
    pub ideal_wavefronts: u64,
    /// The difference, of loads and stores.
    pub bank_conflicts: u64,
    /// Sectors touched in global memory.
    pub sectors: u64,
    /// Sectors that its bytes would fill.
    pub ideal_sectors: u64,
    /// Bytes that lanes loaded, stored or updated in global memory.
    pub bytes: u64,
    /// The same, of loads and stores, without those that another lane of the same execution asks for too.
    pub used_bytes: u64,
    /// Sectors touched in local memory.
    pub local_sectors: u64,
    /// For an atomic: lanes that took part.
    pub atomic_lanes: u64,
    /// For an atomic: different addresses per execution, summed.
    pub atomic_addresses: u64,
    /// For an atomic: most lanes at one address in one execution.
    pub most_lanes_per_address: u64,
    /// Floating-point operations.
    pub flops: u64,
}

impl InstructionCounters {
    /// The instruction in PTX and in the source language.
    pub fn place(&self, program: &Program) -> Place {
        Place::of(program, self.function, self.pc)
    }
}

fn wanted_by(touch: &Touch<'_>) -> Wanted {
    Wanted::addresses(touch.addresses, touch.mask, *touch.spread)
}

/// Wavefronts of one access to shared memory.
pub(crate) fn wavefronts_of(touch: &Touch<'_>) -> u32 {
    match touch.kind {
        AccessKind::Atomic => banks::atomic_wavefronts(&wanted_by(touch), touch.bytes),
        _ => banks::wavefronts(touch.addresses, touch.mask, touch.bytes, *touch.spread, banks::pairs(touch)).0,
    }
}

/// Sectors of one access to global memory.
pub(crate) fn sectors_of(touch: &Touch<'_>) -> u32 {
    match touch.kind {
        AccessKind::Atomic => sectors::atomic_sectors(&wanted_by(touch), touch.bytes),
        _ => sectors::sectors(touch.addresses, touch.mask, touch.bytes, *touch.spread),
    }
}

/// Sectors of a copy past L1: as the load that was shown, and what it takes.
pub(crate) fn bypassing_sectors_of(past: &Bypass<'_>) -> (u32, u32) {
    let Bypass { mask, bytes, from, to, .. } = *past;
    (sectors::sectors(from, mask, bytes, Spread::of(from, mask)), sectors::bypassing_sectors(from, to, mask))
}
