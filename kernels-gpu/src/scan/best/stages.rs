//! The stages of a ring: how many fit shared memory.

use cuda_std::memory::Mbarrier;

/// Most bytes of all stages of a ring: six stages of 32 KiB for a scan of everything, and little less than a block may
/// have.
const MOST_BYTES: u32 = 208 << 10;

/// Most stages, however short.
pub const MOST_STAGES: u32 = 8;

/// Bytes of dynamic shared memory for stages of this size.
pub const fn shared(stage: u32) -> u32 {
    stages(stage) * (stage + 4 * Mbarrier::SIZE)
}

/// Number of stages of this size.
pub const fn stages(stage: u32) -> u32 {
    if MOST_BYTES / stage < MOST_STAGES { MOST_BYTES / stage } else { MOST_STAGES }
}
