//! What the ladders of operations and types have in common of which only `best` has a kernel.

use super::table;
use crate::error::Result;
use crate::kernels::ladder::{Chosen, Rung};
use crate::kernels::spelling::N;
use crate::kernels::{BEST, BlockRule, Job};
use kernels_gpu::reduce::Sum;
use rustwarp::Tuning;
use rustwarp::backend::{Buffer, DeviceInfo, require_memory};
use rustwarp::element::Scalar;

/// The rows, with this rule for the blocks of `best`: whether the row has a kernel.
pub(super) fn rungs(block_of_best: BlockRule) -> Vec<Rung<bool>> {
    let row = |Rung { name, idea, block, .. }| match name {
        BEST => Rung { name, idea, block: block_of_best, kernel: true },
        _ => Rung { name, idea, block, kernel: false },
    };
    table::rungs::<Sum, f32>().into_iter().map(row).collect()
}

/// Checks that the device has room for the vector and the scratch memory of the rungs, and copies the vector there.
pub(super) fn upload<'j, T: Scalar>(
    job: &'j Job<'_>,
    rungs: &[Chosen<'_, bool>],
    scratch_bytes: fn(&DeviceInfo, usize, Tuning) -> rustwarp::Result<u64>,
) -> Result<Buffer<'j, T>> {
    let input = job.problem.view::<T>(0)?;
    let mut bytes = Some(size_of_val(input) as u64);
    for rung in rungs {
        let scratch = scratch_bytes(rung.device.info(), input.len(), rung.tuning())?;
        bytes = bytes.and_then(|bytes| bytes.checked_add(scratch));
    }
    require_memory(job.device, bytes, "reduce with its scratch memory", &format!("use a smaller {N} or input"))?;
    Ok(Buffer::from_slice(job.device, input, "input")?)
}
