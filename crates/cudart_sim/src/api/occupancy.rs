//! Occupancy.

use super::function::function;
use super::launch::LaunchConfig;
use crate::entry::{Handle, get};
use crate::{driver, exported};

exported! {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, host: Handle, threads: i32, shared: usize) {
        driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(host)?, threads, shared, 0)
    }

    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, host: Handle, threads: i32, shared: usize, flags: u32,
    ) {
        driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(host)?, threads, shared, flags)
    }

    cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, host: Handle, blocks: i32, threads: i32) {
        driver::cuOccupancyAvailableDynamicSMemPerBlock(bytes, function(host)?, blocks, threads)
    }

    cudaOccupancyMaxActiveClusters(clusters: *mut i32, host: Handle, config: *const LaunchConfig) {
        driver::cuOccupancyMaxActiveClusters(clusters, function(host)?, &get(config)?.for_driver()?)
    }

    cudaOccupancyMaxPotentialClusterSize(blocks: *mut i32, host: Handle, config: *const LaunchConfig) {
        driver::cuOccupancyMaxPotentialClusterSize(blocks, function(host)?, &get(config)?.for_driver()?)
    }
}
