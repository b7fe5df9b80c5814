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
    /// The same times the lanes that were active.
    thread_instructions,
    /// Conditional and indexed branches executed by warps.
    branches,
    /// Those whose lanes went different ways.
    divergent_branches,
    /// Loads, stores and atomics on shared memory, by warps.
    shared_requests,
    /// Passes over the 32 banks that loads and stores took.
    shared_wavefronts,
    /// Passes beyond what the same accesses need without conflicts.
    bank_conflicts,
    /// Loads, stores and atomics on global memory, by warps.
    global_requests,
    /// 32-byte sectors touched by global loads and stores.
    global_sectors,
    /// Bytes that lanes loaded from and stored to global memory.
    global_bytes,
    /// Atomic instructions on shared and global memory.
    atomics,
    /// Times that a warp came to a block barrier.
    barriers,
    /// Loads and stores of local memory: arrays and spills on a thread's stack.
    local_requests,
}
