//! The block sizes that a kernel can be launched with, and the number of blocks.

use crate::error::{Error, Result};
use crate::kernels::spelling::BLOCK_SIZE;
use serde::Serialize;

/// The block sizes that a kernel's contract allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockRule {
    /// Any size from 1 to 1024.
    Any {
        /// The default size.
        default: u32,
    },
    /// Powers of two from `min` to 1024.
    PowerOfTwo {
        /// The smallest size.
        min: u32,
        /// The default size.
        default: u32,
    },
    /// Multiples of 32 to 1024.
    WholeWarps {
        /// The default size.
        default: u32,
    },
    /// A list of sizes.
    OneOf {
        /// The sizes for which kernels exist.
        sizes: &'static [u32],
        /// The default size.
        default: u32,
    },
}

impl BlockRule {
    /// Largest number of threads in a block on any GPU.
    const MAX: u32 = 1024;

    /// Chooses the block size of a launch.
    ///
    /// # Errors
    /// [`Error::Usage`] with the allowed sizes, if the requested one is not among them.
    pub fn choose(self, asked: Option<u32>, variant: &str, device_max: u32) -> Result<u32> {
        let max = device_max.min(Self::MAX);
        let (default, fits, allowed) = match self {
            Self::Any { default } => (default, asked.is_none_or(|n| n >= 1), format!("1 to {max}")),
            Self::PowerOfTwo { min, default } => (
                default,
                asked.is_none_or(|n| n >= min && n.is_power_of_two()),
                format!("a power of two from {min} to {max}"),
            ),
            Self::WholeWarps { default } => {
                (default, asked.is_none_or(|n| n >= 1 && n.is_multiple_of(32)), format!("a multiple of 32 up to {max}"))
            }
            Self::OneOf { sizes, default } => {
                let list: Vec<_> = sizes.iter().map(u32::to_string).collect();
                (default, asked.is_none_or(|n| sizes.contains(&n)), list.join(", "))
            }
        };
        let block = asked.unwrap_or(default);
        if fits && block <= max {
            return Ok(block);
        }
        Err(Error::Usage(format!("`{variant}` cannot run with {BLOCK_SIZE} {block}: allowed is {allowed}")))
    }

    /// Returns one size that satisfies the rule for each kernel that exists.
    pub fn kernels(self) -> Vec<u32> {
        match self {
            Self::Any { default } | Self::PowerOfTwo { default, .. } | Self::WholeWarps { default } => vec![default],
            Self::OneOf { sizes, .. } => sizes.to_vec(),
        }
    }
}
