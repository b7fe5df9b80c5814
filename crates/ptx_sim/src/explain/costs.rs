//! Costs of operations, in cycles and nanoseconds, for an H200. `bench/model/constants` measures them by small kernels
//! that do one thing (`docs/results/h200/2026-11-27-model-constants.txt`); "fitted" constants are those with which the
//! estimates of the ladders' rungs are nearest to their measured times. Other devices are given the
//! same constants, and their own clock, multiprocessors and bandwidth.

/// The model's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// A launch on an idle device. An empty kernel takes 2.6 us between two events if it was queued
    /// before, and 6.5 us on an idle device.
    pub first_launch_ns: f64,
    /// Time between a kernel and the next one of the same stream. Fitted: the rungs with several launches.
    pub next_launch_ns: f64,
    /// A copy of results to the host that the host waits for, and of the copy back. Fitted: `host_sum` of the dot
    /// product, 28.8 us for 16 KiB and 43.4 us for 64 KiB.
    pub host_copy_ns: f64,
    /// The same per KiB, with the host's loop over the numbers.
    pub host_kib_ns: f64,
    /// Starting a block, on the whole device: 2^20 empty blocks of 32 to 512 threads take 635 us.
    pub block_start_ns: f64,
    /// Starting and ending a block, for the block itself. 346 cycles between two blocks of one place.
    pub block_cycles: f64,
    /// Latency of a dependent integer or floating-point operation.
    pub alu_cycles: f64,
    /// Registers that ptxas gives a thread relative to the values that live at the same time in the PTX, where these
    /// are more than 32. Fitted to ptxas's counts for 1275 kernels, which are 0.5 to 1.0 of them.
    pub register_ratio: f64,
    /// Cycles that a partition's integer unit is busy with an instruction. Fitted: the unit takes half a warp a cycle,
    /// and ptxas moves part of the work to the multipliers.
    pub integer_busy: f64,
    /// Cycles that a partition's unit for f64 is busy with an instruction: half a warp a cycle.
    pub double_busy: f64,
    /// Latency of a dependent operation on f64. Fitted.
    pub double_cycles: f64,
    /// Instructions of a division, a square root or an elementary function. Estimated; alone they keep a
    /// partition busy for 8 to 34 cycles.
    pub special_slots: f64,
    /// Cycles after a branch until the warp's next instruction. Fitted.
    pub branch_cycles: f64,
    /// A fence on device memory. 280 cycles alone, 416 after a store.
    pub fence_cycles: f64,
    /// Latency of a division, a square root or an elementary function, a sequence in SASS. Estimated;
    /// 23 to 124 cycles.
    pub special_cycles: f64,
    /// Latency of a shuffle or vote: 26 and 17 cycles.
    pub shuffle_cycles: f64,
    /// Latency of a product of matrices beyond the time in which its tensor core works: 18.0 (f64) to 18.8.
    pub product_cycles: f64,
    /// Part of the tensor cores' rate that the products of single warps (`mma.sync`) reach, but for f64: 0.658 for f16
    /// and tf32, 0.662 for s8, 0.997 for f64.
    pub warp_product_share: f64,
    /// A block barrier once all warps have arrived. Fitted; warps that only meet take 12.6 cycles and 2 for each warp.
    pub barrier_cycles: f64,
    /// Time of a multiprocessor's barrier unit for one warp. Fitted.
    pub barrier_warp_cycles: f64,
    /// Latency of a load from shared memory without conflicts. Fitted; 23 cycles in a dependent loop, 29
    /// with an instruction for the address.
    pub shared_cycles: f64,
    /// Latency of an atomic on shared memory beyond that of a load. Estimated: 3 cycles without contention,
    /// 99 in all for 32 lanes on one word.
    pub shared_atomic_cycles: f64,
    /// Throughput of shared memory per wavefront. Fitted; 1.0 cycles for warps that do nothing else.
    pub wavefront_cycles: f64,
    /// Latency of a load that hits the first-level cache: 32 cycles.
    pub l1_cycles: f64,
    /// Latency of a load that hits the second-level cache: 282 cycles.
    pub l2_cycles: f64,
    /// Latency of a load from device memory. Fitted; 633 cycles within 256 MiB, 666 within 2 GiB.
    pub global_cycles: f64,
    /// Bandwidth of the second-level cache for one multiprocessor in bytes per cycle. Fitted; 105 for reads
    /// alone.
    pub l2_bytes_per_cycle: f64,
    /// Bandwidth of the second-level cache for all multiprocessors, relative to that of device memory.
    /// Fitted; 1.79 for reads alone.
    pub l2_over_memory: f64,
    /// Cycles of a multiprocessor per line of a store: `row_walk`, where each of four multiprocessors has a block of
    /// eight warps, stores 32 lines for each warp in 607 cycles.
    pub store_line_cycles: f64,
    /// Time per line of a store on the whole device, in nanoseconds: 2^26 elements with a stride of 32 take 1.0 ms.
    pub store_line_ns: f64,
    /// Time of a pair of sectors that is read without the other pair of its line, relative to its bytes: 0.0162 ns for
    /// one word of each line, 3.9 TB/s.
    pub lone_read: f64,
    /// The same for one that is written: 0.0230 ns for one sector of each line; 0.0448 where it is read before.
    pub lone_write: f64,
    /// Fraction of the second-level cache that is written back when a kernel starts on a cold cache. Fitted:
    /// sums of 2^20 to 2^24 elements read 3.2 TB/s, larger ones 4.5.
    pub modified: f64,
    /// An atomic on global memory that returns a value. Fitted; 388 cycles in a dependent loop.
    pub global_atomic_cycles: f64,
    /// Time of a step of an atomic: see the trace's [`Contention`](crate::trace::Contention).
    pub atomic_step_ns: f64,
    /// Power of the number of lines that gives how many of them are served at the same time. Fitted:
    /// histograms without private bins.
    pub atomic_spread: f64,
    /// Cycles of work that may wait before the units for atomics until warps have to wait. Estimated.
    pub atomic_queue_cycles: f64,
    /// Fraction of the nominal bandwidth that a plain stream reaches: 4528 of 4814 GB/s.
    pub stream: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            first_launch_ns: 4500.0,
            next_launch_ns: 1400.0,
            host_copy_ns: 18_400.0,
            host_kib_ns: 114.0,
            block_start_ns: 0.6056,
            block_cycles: 300.0,
            alu_cycles: 4.0,
            register_ratio: 0.65,
            integer_busy: 1.2,
            double_busy: 2.0,
            double_cycles: 12.0,
            special_slots: 4.0,
            special_cycles: 40.0,
            branch_cycles: 4.0,
            fence_cycles: 500.0,
            shuffle_cycles: 24.0,
            product_cycles: 17.0,
            warp_product_share: 0.66,
            barrier_cycles: 26.0,
            barrier_warp_cycles: 1.0,
            shared_cycles: 24.0,
            shared_atomic_cycles: 60.0,
            wavefront_cycles: 1.1,
            l1_cycles: 33.0,
            l2_cycles: 270.0,
            global_cycles: 700.0,
            l2_bytes_per_cycle: 64.0,
            l2_over_memory: 1.25,
            store_line_cycles: 2.4,
            store_line_ns: 0.0151,
            lone_read: 1.15,
            lone_write: 1.6,
            modified: 0.6,
            global_atomic_cycles: 464.0,
            atomic_step_ns: 0.121,
            atomic_queue_cycles: 2000.0,
            atomic_spread: 0.48,
            stream: 0.94,
        }
    }
}
