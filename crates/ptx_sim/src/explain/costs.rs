//! Costs of operations, in cycles and nanoseconds. Measured on an H200 by small kernels that do one thing, except where
//! noted; other devices are given the same numbers, and their own clock, multiprocessors and bandwidth.

/// The model's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// A launch on an idle device: 5.0 us for an empty kernel, measured with events.
    pub first_launch_ns: f64,
    /// A launch that follows another one: 16 empty kernels take 54 us from a slow caller; the tree rungs of the ladder
    /// take 2.4 us each.
    pub next_launch_ns: f64,
    /// Starting a block, on the whole device: 2^20 empty blocks of 32 to 512 threads take 635 us.
    pub block_start_ns: f64,
    /// Starting and ending a block, for the block itself. Estimated.
    pub block_cycles: f64,
    /// Latency of a dependent integer or floating-point operation.
    pub alu_cycles: f64,
    /// Latency of a division, a square root or an elementary function, a sequence in SASS. Estimated.
    pub special_cycles: f64,
    /// Latency of a shuffle or vote. Estimated.
    pub shuffle_cycles: f64,
    /// A block barrier once all warps have arrived: 32 cycles in a loop of one block of four warps.
    pub barrier_cycles: f64,
    /// Time of a multiprocessor's barrier unit for one warp: 136 cycles for 64 warps.
    pub barrier_warp_cycles: f64,
    /// Latency of a load from shared memory without conflicts: 31 cycles in a dependent loop.
    pub shared_cycles: f64,
    /// Throughput of shared memory per wavefront: 43 cycles for 32 warps that do nothing else.
    pub wavefront_cycles: f64,
    /// Latency of a load from global memory under load, derived from the ladder's `grid_stride`, which has one load per
    /// thread in flight.
    pub global_cycles: f64,
    /// An atomic on global memory that returns a value: 464 cycles in a dependent loop.
    pub global_atomic_cycles: f64,
    /// Throughput of atomics at one address: 132 000 take 237 us.
    pub same_address_ns: f64,
    /// Fraction of the nominal bandwidth that a plain stream reaches: 4528 of 4814 GB/s.
    pub stream: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            first_launch_ns: 4500.0,
            next_launch_ns: 2400.0,
            block_start_ns: 0.6056,
            block_cycles: 300.0,
            alu_cycles: 4.0,
            special_cycles: 40.0,
            shuffle_cycles: 24.0,
            barrier_cycles: 26.0,
            barrier_warp_cycles: 2.1,
            shared_cycles: 29.0,
            wavefront_cycles: 1.35,
            global_cycles: 750.0,
            global_atomic_cycles: 464.0,
            same_address_ns: 1.8,
            stream: 0.94,
        }
    }
}
