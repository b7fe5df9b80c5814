//! Host memory that a launch takes for registers, stacks and shared memory: counted before it is taken, so that a
//! program that asks for too much of it is stopped and the host's memory is not exhausted.

use super::grid::{Context, Worker};
use super::warp::Warp;
use crate::observe::Observer;
use crate::program::Rows;
use crate::registers::LANES;
use crate::stop::Stop;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One byte of each lane's stack, and where it is tracked what is written, a fourth of that.
const STACK_BYTE: u64 = LANES as u64 * 5 / 4;

/// What the workers of a launch have taken. They give nothing back before the launch ends, but use it again.
#[derive(Debug)]
pub struct Budget {
    taken: AtomicU64,
    limit: u64,
}

impl Budget {
    /// Nothing is taken.
    pub fn new(limit: u64) -> Self {
        Self { taken: AtomicU64::new(0), limit }
    }

    /// Counts bytes that have been taken.
    pub fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Relaxed);
    }

    /// Is there room for so many more?
    pub fn has(&self, bytes: u64) -> bool {
        self.taken.load(Relaxed).saturating_add(bytes) <= self.limit
    }
}

/// Bytes of a warp's registers.
pub fn register_bytes(rows: Rows) -> u64 {
    let lanes = LANES as u64;
    u64::from(rows.w32) * 4 * lanes + u64::from(rows.w64) * 8 * lanes + u64::from(rows.pred) * 4
}

/// Bytes of a warp's stack memory.
fn stack_bytes(warp: &Warp) -> u64 {
    warp.local.capacity() as u64 * 4 * STACK_BYTE
}

impl<O: Observer> Worker<'_, O> {
    /// A stop when there is no room for the next block.
    pub fn afford_block(&self) -> Result<(), Stop> {
        let Context { setting, entry, threads, budget, setup, .. } = self.context;
        let (program, shared_bytes) = (setting.program, setting.shared_bytes);
        let function = &program.functions[*entry as usize];
        let warps = threads.div_ceil(LANES as u32) as usize;
        let registers = register_bytes(function.rows) * warps.saturating_sub(self.pooled(*entry)) as u64;
        let kept: u64 = self.spare().iter().rev().take(warps).map(|warp| stack_bytes(warp)).sum();
        let stack = function.frame_bytes.saturating_mul(STACK_BYTE).saturating_mul(warps as u64).saturating_sub(kept);
        // Shared memory, and a byte per word where it is tracked what is written.
        let shared = shared_bytes * 5 / 4;
        if budget.has(registers.saturating_add(stack).saturating_add(shared)) {
            budget.take(shared);
            return Ok(());
        }
        let title = format!(
            "no host memory for one more block: each warp has {} bytes of registers and {} of stack, and {} blocks are resident",
            register_bytes(function.rows),
            function.frame_bytes.saturating_mul(LANES as u64),
            self.resident.len()
        );
        let help = format!("launch smaller blocks, or raise `Config::host_bytes`, which is {}", setup.host_bytes);
        Err(Stop::usage("out-of-memory", title).with_help(help))
    }

    /// Is there room for a frame of `function` that ends at `top`?
    pub fn affords_frame(&self, warp: &Warp, function: u32, top: u64) -> bool {
        let rows = self.context.program.functions[function as usize].rows;
        let registers = if self.pooled(function) == 0 { register_bytes(rows) } else { 0 };
        let stack = top.saturating_mul(STACK_BYTE).saturating_sub(stack_bytes(warp));
        registers + stack == 0 || self.context.budget.has(registers.saturating_add(stack))
    }

    /// Makes sure that the stack reaches `top`.
    pub fn reserve_stack(&self, warp: &mut Warp, top: u64) {
        let before = stack_bytes(warp);
        warp.reserve_local(top);
        self.context.budget.take(stack_bytes(warp) - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_at_the_limit() {
        let budget = Budget::new(100);
        budget.take(60);
        assert!(budget.has(40) && !budget.has(41) && !budget.has(u64::MAX));
    }

    #[test]
    fn registers_are_counted_by_row() {
        assert_eq!(register_bytes(Rows { w32: 1, w64: 1, pred: 1 }), 128 + 256 + 4);
    }
}
