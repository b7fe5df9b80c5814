//! The stages of a ring: how many fit shared memory.

use cuda_std::memory::Mbarrier;

/// Most bytes of all stages of a ring: six stages of 32 KiB for a scan of everything, and little less than a block may
/// have.
const MOST_BYTES: u32 = 208 << 10;

/// Most stages, however short.
pub const MOST_STAGES: u32 = 8;

/// Bytes of dynamic shared memory, for tiles of this many values, and values and keys of these sizes; 0 without keys.
pub const fn shared(elements: u32, value: usize, key: usize) -> u32 {
    let stage = stage(elements, value, key);
    let stages = stages(stage);
    stages * stage + 4 * stages * Mbarrier::SIZE
}

/// Bytes of a stage: a tile's values, and its keys behind those that end the tile before.
pub const fn stage(elements: u32, value: usize, key: usize) -> u32 {
    let keys = if key == 0 { 0 } else { 16 + elements * key as u32 };
    elements * value as u32 + keys
}

/// Number of stages of this size.
pub const fn stages(stage: u32) -> u32 {
    if MOST_BYTES / stage < MOST_STAGES { MOST_BYTES / stage } else { MOST_STAGES }
}
