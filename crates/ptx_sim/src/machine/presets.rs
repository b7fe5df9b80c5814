//! Frames, and the rows with a value before a function's first instruction.

use super::afford;
use super::context::Context;
use super::frame::Frame;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::memory::address;
use crate::observe::{Observer, Shadow};
use crate::program::{Preset, RESERVED, RESERVED_IN_USE, Reserved, Special, Symbol};
use crate::registers::LANES;

/// Adds a frame for `function` with `frame.lanes`, and a split at its first instruction that belongs to `join`.
pub fn open_frame<O: Observer>(
    worker: &mut Worker<'_, O>,
    warp: &mut Warp,
    block: [u32; 3],
    function: u32,
    mut frame: Frame,
    join: u32,
) -> u32 {
    let context = worker.context;
    let code = &context.program.functions[function as usize];
    frame.function = function;
    frame.top = frame.base.saturating_add(code.frame_bytes);
    frame.added += code.apart.added;
    let new;
    let tracked = O::Shadow::ON;
    (frame.registers, new) = worker.pool.registers(context.program, &context.budget, function, tracked);
    if code.frame_bytes != 0 {
        afford::reserve_stack(context, warp, frame.top.next_multiple_of(8));
    }
    // No instruction writes these rows, so a reused frame already holds the values that are constant in a launch.
    for preset in code.preset.iter().filter(|preset| new || !lasts(preset)) {
        fill(context, &mut frame, block, warp.index, preset);
    }
    if O::Shadow::ON {
        let shadow = worker.observer.shadow();
        shadow.enter(&mut frame.registers, function);
        shadow.fresh_stack(&mut warp.states, frame.base, frame.top.next_multiple_of(8), frame.lanes);
    }
    let mask = frame.lanes;
    let index = warp.new_frame();
    warp.frames[index as usize] = frame;
    warp.splits.push(Split { frame: index, pc: 0, mask, join, state: State::Ready });
    index
}

/// Whether a frame of `function` would exceed the stack, below which `used` bytes are counted.
pub fn stack_exceeded(context: &Context<'_>, function: u32, used: u64) -> bool {
    let bytes = context.program.functions[function as usize].counted_frame();
    used.saturating_add(bytes) > context.setup.profile.stack_bytes
}

/// Whether the value is equal for every frame of a function in one launch.
fn lasts(preset: &Preset) -> bool {
    match preset {
        Preset::Const32(..) | Preset::Const64(..) | Preset::ConstPred(..) => true,
        Preset::Special32(_, special) | Preset::Special64(_, special) => {
            matches!(special, Special::Ntid(_) | Special::Nctaid(_) | Special::Laneid)
        }
        Preset::SpecialPred(..) => false,
        Preset::Address32(_, symbol, _) | Preset::Address64(_, symbol, _) => !matches!(symbol, Symbol::Frame(_)),
    }
}

fn fill(context: &Context<'_>, frame: &mut Frame, block: [u32; 3], warp: u32, preset: &Preset) {
    let registers = &mut frame.registers;
    match *preset {
        Preset::Const32(slot, value) => set(&mut registers.w32, slot, [value; LANES]),
        Preset::Const64(slot, value) => set(&mut registers.w64, slot, [value; LANES]),
        Preset::ConstPred(slot, value) => set(&mut registers.pred, slot, if value { u32::MAX } else { 0 }),
        Preset::Special32(slot, special) => match special_row(context, warp, special) {
            Some(row) => set(&mut registers.w32, slot, row),
            None => set(&mut registers.w32, slot, [special_value(context, block, warp, special) as u32; LANES]),
        },
        Preset::Special64(slot, special) => match special_row(context, warp, special) {
            Some(row) => set(&mut registers.w64, slot, row.map(u64::from)),
            None => set(&mut registers.w64, slot, [special_value(context, block, warp, special); LANES]),
        },
        Preset::SpecialPred(slot, special) => {
            let holds = special_value(context, block, warp, special) != 0;
            set(&mut registers.pred, slot, if holds { u32::MAX } else { 0 });
        }
        Preset::Address64(slot, symbol, addend) => {
            let value = symbol_address(context, symbol, frame.base).wrapping_add_signed(addend);
            set(&mut registers.w64, slot, [value; LANES]);
        }
        Preset::Address32(slot, symbol, addend) => {
            let value = symbol_address(context, symbol, frame.base).wrapping_add_signed(addend);
            set(&mut registers.w32, slot, [value as u32; LANES]);
        }
    }
}

fn set<T>(rows: &mut [T], slot: u32, value: T) {
    if let Some(row) = rows.get_mut(slot as usize) {
        *row = value;
    }
}

fn symbol_address(context: &Context<'_>, symbol: Symbol, frame: u64) -> u64 {
    match symbol {
        Symbol::Variable(index) => match context.layout.offsets.get(index as usize) {
            Some(Some(offset)) => *offset,
            _ => context.addresses.get(index as usize).copied().unwrap_or(0),
        },
        Symbol::Function(index) => address::of_function(index),
        Symbol::KernelParam(offset) => offset,
        Symbol::Frame(offset) => frame + offset,
    }
}

/// Returns the value of a special register that differs by lane.
fn special_row(context: &Context<'_>, warp: u32, special: Special) -> Option<[u32; LANES]> {
    let lanes = |value: fn(u32) -> u32| Some(std::array::from_fn(|lane| value(lane as u32)));
    match special {
        Special::Tid(axis) => context.thread_ids[warp as usize].get(usize::from(axis)).copied(),
        Special::Laneid => lanes(|lane| lane),
        Special::LanemaskEq => lanes(|lane| 1 << lane),
        Special::LanemaskLt => lanes(|lane| (1 << lane) - 1),
        Special::LanemaskLe => lanes(|lane| u32::MAX >> (31 - lane)),
        Special::LanemaskGe => lanes(|lane| u32::MAX << lane),
        Special::LanemaskGt => lanes(|lane| u32::MAX << lane << 1),
        _ => None,
    }
}

/// Returns the value of a special register that is equal in all lanes.
fn special_value(context: &Context<'_>, block: [u32; 3], warp: u32, special: Special) -> u64 {
    let axis = |values: [u32; 3], axis: u8| u64::from(values.get(usize::from(axis)).copied().unwrap_or(0));
    let multiprocessors = u64::from(context.setup.profile.multiprocessors.max(1));
    match special {
        Special::Ntid(n) => axis(context.block, n),
        Special::Ctaid(n) => axis(block, n),
        Special::Nctaid(n) => axis(context.grid, n),
        Special::ClusterCtaid(n) => axis(std::array::from_fn(|n| block[n] % context.cluster[n]), n),
        Special::ClusterNctaid(n) => axis(context.cluster, n),
        Special::Clusterid(n) => axis(std::array::from_fn(|n| block[n] / context.cluster[n]), n),
        Special::Nclusterid(n) => axis(std::array::from_fn(|n| context.grid[n] / context.cluster[n]), n),
        Special::ClusterCtarank => context.rank_of(block),
        Special::ClusterNctarank => context.cluster_blocks,
        Special::IsExplicitCluster => u64::from(context.explicit_cluster),
        Special::Warpid => u64::from(warp),
        Special::Nwarpid => u64::from(context.threads.div_ceil(32)),
        Special::Smid => {
            let [x, y, z] = block.map(u64::from);
            let [nx, ny, _] = context.grid.map(u64::from);
            (x + nx * (y + ny * z)) % multiprocessors
        }
        Special::Nsmid => multiprocessors,
        Special::Gridid => 1,
        Special::DynamicSmemSize => context.dynamic_bytes,
        Special::TotalSmemSize => context.counted_shared(),
        // A kernel that reads this has no gap.
        Special::AggrSmemSize => context.shared_bytes,
        Special::ReservedSmem(Reserved::End) => RESERVED_IN_USE,
        Special::ReservedSmem(Reserved::Size) => RESERVED,
        // The workspace's address, its upper half first.
        Special::Envreg(1) => context.workspace >> 32,
        Special::Envreg(2) => context.workspace & u64::from(u32::MAX),
        // The reserved bytes are the first; and no kernel is a part of a graph that a device has launched.
        Special::ReservedSmem(Reserved::Start) | Special::CurrentGraphExec => 0,
        Special::Tid(_)
        | Special::Laneid
        | Special::LanemaskEq
        | Special::LanemaskLe
        | Special::LanemaskLt
        | Special::LanemaskGe
        | Special::LanemaskGt
        | Special::Envreg(_) => 0,
    }
}
