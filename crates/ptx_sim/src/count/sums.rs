//! Evaluates the counts of each instruction: totals, and the list of instructions.

use super::counting::{adds_ones, are_dead};
use super::tally::{Counting, Tally};
use super::{Counters, InstructionCounters, work};
use crate::program::{Async, Atomic, AtomicOperation, Callee, Function, Kind, MatrixKind, Op, Order, Program, Uses};
use std::cell::LazyCell;

impl Counting {
    /// Returns totals, and counters of the executed instructions in program order.
    pub fn finish(self, program: &Program) -> (Counters, Vec<InstructionCounters>) {
        let mut counters = Counters { barriers: self.barriers, ..Counters::default() };
        let mut instructions = Vec::new();
        let lists = self.lists();
        let fenced = LazyCell::new(|| {
            // A launch runs one entry.
            let ran =
                |function: usize| lists.get(function).is_some_and(|list| list.iter().any(|tally| tally.came != 0));
            let entry = |(at, function): &(usize, &Function)| function.kind == Kind::Entry && ran(*at);
            program.functions.iter().enumerate().find(entry).is_some_and(|(entry, _)| has_fence(program, entry))
        });
        for (function, (code, tallies)) in program.functions.iter().zip(&lists).enumerate() {
            let (mut executed, mut lanes) = (0, 0);
            let uses = LazyCell::new(|| Uses::of_all(code));
            for (pc, tally) in tallies.iter().enumerate().take(code.code.len()) {
                executed += tally.came;
                lanes += tally.came_lanes;
                if executed <= 0 {
                    continue;
                }
                let place = InstructionCounters {
                    function: function as u32,
                    pc: pc as u32,
                    executed: executed as u64,
                    lanes: lanes as u64,
                    ..InstructionCounters::default()
                };
                instructions.push(add(code, tally, place, &|| are_dead(&uses, pc), &|| *fenced, &mut counters));
            }
        }
        counters.shared_requests = counters.shared_loads + counters.shared_stores + counters.shared_atomics;
        counters.bank_conflicts = counters.shared_wavefronts - counters.shared_ideal_wavefronts;
        counters.global_requests = counters.global_loads + counters.global_stores + counters.global_atomics;
        counters.global_sectors = counters.global_load_sectors + counters.global_store_sectors;
        counters.global_bytes = counters.global_load_bytes + counters.global_store_bytes;
        counters.atomics = counters.shared_atomics + counters.global_atomics;
        counters.local_requests = counters.local_loads + counters.local_stores;
        counters.local_sectors = counters.local_load_sectors + counters.local_store_sectors;
        (counters, instructions)
    }
}

/// Adds one instruction to the totals.
fn add(
    function: &Function,
    tally: &Tally,
    mut own: InstructionCounters,
    dead: &dyn Fn() -> bool,
    fenced: &dyn Fn() -> bool,
    sums: &mut Counters,
) -> InstructionCounters {
    let Tally { off, branches, divergent, shared, global, local, atomics, .. } = *tally;
    let inst = &function.code[own.pc as usize];
    own.lanes_on = own.lanes.saturating_sub(off);
    sums.warp_instructions += own.executed;
    sums.thread_instructions += own.lanes;
    sums.predicated_on += own.lanes_on;
    sums.branches += branches;
    if matches!(inst.op, Op::Branch { .. }) && inst.guard.is_none() {
        sums.unconditional_branches += own.executed;
    }
    sums.divergent_branches += divergent;
    match &inst.op {
        Op::Atomic(_) | Op::AtomicVector(_) | Op::AtomicWide(_) => {
            let parts = match &inst.op {
                Op::AtomicVector(parts) => parts,
                Op::AtomicWide(halves) => halves.as_slice(),
                Op::Atomic(atomic) => std::slice::from_ref(atomic),
                _ => &[],
            };
            sums.shared_atomics += shared.requests;
            let dead = dead();
            let passes = match () {
                // For counting (ATOMS.POPC.INC), lanes at the same word are combined first.
                () if dead && adds_ones(function, own.pc as usize) => shared.ideal,
                // A compare-and-swap takes a load and a store.
                () if parts.iter().any(|part| part.operation == AtomicOperation::Cas) => 2 * shared.units,
                () => shared.units,
            };
            sums.shared_atomic_wavefronts += passes;
            own.wavefronts = passes;
            sums.global_atomics += global.requests;
            sums.global_atomic_sectors += global.units;
            if dead && parts.first().is_some_and(|part| becomes_red(part, fenced)) {
                sums.global_reductions += global.requests;
                sums.global_reduction_sectors += global.units;
            }
            let bytes = match &inst.op {
                Op::AtomicWide(_) => 16,
                _ => parts.first().map_or(1, |part| u64::from(part.bytes.max(1))),
            };
            own.atomic_lanes = (shared.bytes + global.bytes) / bytes;
            own.atomic_addresses = atomics.addresses;
            own.most_lanes_per_address = u64::from(atomics.most);
            sums.atomic_lanes += own.atomic_lanes;
            sums.atomic_addresses += atomics.addresses;
            sums.most_lanes_per_address = sums.most_lanes_per_address.max(u64::from(atomics.most));
            for (sum, more) in sums.lanes_per_address.iter_mut().zip(atomics.classes) {
                *sum += more;
            }
        }
        Op::Async(copy) if matches!(**copy, Async::Copy { .. }) => {
            sums.shared_copies += shared.requests;
            sums.shared_copy_wavefronts += shared.units;
            sums.global_loads += global.requests;
            sums.global_load_sectors += global.units;
            sums.global_load_bytes += global.bytes;
            sums.global_used_bytes += global.used;
            sums.global_ideal_sectors += global.ideal;
        }
        op => {
            sums.shared_wavefronts += shared.units;
            sums.shared_ideal_wavefronts += shared.ideal;
            sums.shared_bytes += shared.bytes;
            sums.global_used_bytes += global.used;
            sums.global_ideal_sectors += global.ideal;
            sums.local_bytes += local.bytes;
            own.bank_conflicts = shared.units - shared.ideal;
            if stores(op) {
                sums.shared_stores += shared.requests;
                sums.global_stores += global.requests;
                sums.global_store_sectors += global.units;
                sums.global_store_bytes += global.bytes;
                sums.local_stores += local.requests;
                sums.local_store_sectors += local.units;
            } else {
                sums.shared_loads += shared.requests;
                sums.shared_load_wavefronts += shared.units;
                sums.global_loads += global.requests;
                sums.global_load_sectors += global.units;
                sums.global_load_bytes += global.bytes;
                sums.local_loads += local.requests;
                sums.local_load_sectors += local.units;
            }
        }
    }
    if let Some((kind, operations)) = work::of(function.facts(own.pc), &inst.op) {
        let operations = operations * own.lanes_on;
        let sum = match kind {
            work::Kind::F16 => &mut sums.f16_flops,
            work::Kind::F32 => &mut sums.f32_flops,
            work::Kind::F64 => &mut sums.f64_flops,
            work::Kind::Tensor => &mut sums.tensor_flops,
            work::Kind::Integer => &mut sums.integer_operations,
        };
        *sum += operations;
        if kind != work::Kind::Integer {
            own.flops = operations;
        }
    }
    own.requests = branches + shared.requests + global.requests + local.requests;
    own.divergent = divergent;
    if own.wavefronts == 0 {
        own.wavefronts = shared.units;
    }
    own.ideal_wavefronts = shared.ideal;
    (own.sectors, own.ideal_sectors) = (global.units, global.ideal);
    (own.bytes, own.used_bytes) = (global.bytes, global.used);
    own.local_sectors = local.units;
    own
}

/// Whether ptxas compiles an instruction to `red`: an `atom` whose result is unused, except exchanges and atomics that
/// acquire, and except in kernels with a fence.
fn becomes_red(atomic: &Atomic, fenced: &dyn Fn() -> bool) -> bool {
    let exchanges = matches!(atomic.operation, AtomicOperation::Exch | AtomicOperation::Cas);
    let acquires = matches!(atomic.order, Order::Acquire | Order::AcqRel);
    atomic.destination.is_none() || !exchanges && !acquires && !fenced()
}

/// Whether the entry, or a function that it calls by name, has a fence: ptxas compiles such functions into the kernel.
fn has_fence(program: &Program, entry: usize) -> bool {
    let (mut reached, mut next) = (vec![entry], 0);
    while let Some(&at) = reached.get(next) {
        next += 1;
        for inst in program.functions.get(at).map_or(&[][..], |function| &function.code) {
            match &inst.op {
                Op::Fence(..) => return true,
                Op::Call { callee: Callee::Direct(callee), .. } if !reached.contains(&(*callee as usize)) => {
                    reached.push(*callee as usize);
                }
                _ => {}
            }
        }
    }
    false
}

/// Whether an instruction that accesses memory and is not an atomic writes to memory.
fn stores(op: &Op) -> bool {
    match op {
        Op::Store(_) => true,
        Op::Matrix(matrix) => matches!(matrix.kind, MatrixKind::Store { .. } | MatrixKind::StoreFragment(_)),
        _ => false,
    }
}
