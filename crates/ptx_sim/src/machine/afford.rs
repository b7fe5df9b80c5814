//! Limits on blocks and frames by the host memory that a launch may use.

use super::budget::register_bytes;
use super::context::Context;
use super::frame::first_frame;
use super::warp::Warp;
use super::worker::Worker;
use crate::observe::Observer;
use crate::registers::LANES;
use crate::stop::Stop;

/// Host bytes per byte of stack of all lanes; a quarter is added for the initialisation state.
const STACK_BYTE: u64 = LANES as u64 * 5 / 4;

/// Checks that there is room for the next block, and reserves its shared memory.
///
/// # Errors
/// `out-of-memory` if the limit [`Config::host_bytes`](crate::Config::host_bytes) does not allow another block.
pub fn afford_block<O: Observer>(worker: &Worker<'_, O>) -> Result<(), Stop> {
    let Context { setting, entry, threads, budget, setup, .. } = worker.context;
    let (program, shared_bytes) = (setting.program, setting.shared_bytes);
    let function = &program.functions[*entry as usize];
    let warps = threads.div_ceil(LANES as u32) as usize;
    let registers = register_bytes(function.rows) * warps.saturating_sub(worker.pool.count(*entry)) as u64;
    let kept: u64 = worker.pool.warps().take(warps).map(stack_bytes).sum();
    let top = if function.frame_bytes == 0 { 0 } else { first_frame(function).saturating_add(function.frame_bytes) };
    let stack = top.saturating_mul(STACK_BYTE).saturating_mul(warps as u64).saturating_sub(kept);
    // Shared memory, and a byte per word for its initialisation state.
    let shared = shared_bytes * 5 / 4;
    if budget.has(registers.saturating_add(stack).saturating_add(shared)) {
        budget.take(shared);
        return Ok(());
    }
    let title = format!(
        "no host memory for one more block: each warp has {} bytes of registers and {} of stack, and {} blocks \
        are resident",
        register_bytes(function.rows),
        function.frame_bytes.saturating_mul(LANES as u64),
        worker.resident.len()
    );
    let help = format!("launch smaller blocks, or raise `Config::host_bytes`, which is {}", setup.host_bytes);
    Err(Stop::usage("out-of-memory", title).with_help(help))
}

/// Whether there is room for a frame of `function` that ends at `top`.
pub fn affords_frame<O: Observer>(worker: &Worker<'_, O>, warp: &Warp, function: u32, top: u64) -> bool {
    let rows = worker.context.program.functions[function as usize].rows;
    let registers = if worker.pool.count(function) == 0 { register_bytes(rows) } else { 0 };
    let stack = top.saturating_mul(STACK_BYTE).saturating_sub(stack_bytes(warp));
    registers + stack == 0 || worker.context.budget.has(registers.saturating_add(stack))
}

/// Grows the stack to reach at least `top`.
pub fn reserve_stack(context: &Context<'_>, warp: &mut Warp, top: u64) {
    let before = stack_bytes(warp);
    warp.reserve_local(top);
    context.budget.take(stack_bytes(warp) - before);
}

/// Returns the size of a warp's stack memory in bytes.
fn stack_bytes(warp: &Warp) -> u64 {
    warp.local.capacity() as u64 * 4 * STACK_BYTE
}
