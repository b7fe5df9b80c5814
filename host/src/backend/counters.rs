//! What the simulator counts, in units that Nsight Compute has too.

/// Makes the struct, its fields by name, and its sum from one list.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the simulator counted. Each is a sum over launches.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Name and value of each, in the order of their declaration.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        impl std::ops::AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
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
    /// Sectors that the same bytes would fill: `global_bytes / 32`, rounded up per instruction.
    global_ideal_sectors,
    /// Bytes that lanes loaded from and stored to global memory.
    global_bytes,
    /// Of loads.
    global_load_bytes,
    /// Of stores.
    global_store_bytes,
    /// Atomic instructions on shared and global memory.
    atomics,
    /// On shared memory.
    shared_atomics,
    /// Passes over the banks that they took.
    shared_atomic_wavefronts,
    /// On global memory, `red` included.
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
    /// Requests to local memory: arrays and spills on a thread's stack. A request moves 4 bytes per lane, so 8 bytes take two.
    local_requests,
    /// Loads among them.
    local_loads,
    /// Stores among them.
    local_stores,
    /// Sectors of both; the lanes' words lie interleaved in memory, so lanes that agree on the address use whole sectors.
    local_sectors,
    /// Of loads.
    local_load_sectors,
    /// Of stores.
    local_store_sectors,
    /// Bytes that lanes loaded from and stored to local memory.
    local_bytes,
    /// Operations on `f16`, `bf16` and narrower; fused multiply-add is two.
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
