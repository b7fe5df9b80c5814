//! Cost classes of instructions: the unit that executes one, the cycles that it is busy, and the latency of the result.
//!
//! Classes describe SASS, which the PTX does not show. A sum of two 64-bit integers is two instructions, an address
//! conversion none, and a parameter is an operand in constant memory.

use super::fused::{Fused, fused};
use super::halves::halves;
use super::predicated::{Body, body};
use crate::count::counts_lanes;
use crate::explain::Costs;
use crate::isa::facts::{Latency, Work};
use crate::isa::matrix::{Element, Multiply};
use crate::program::{
    Async, BarrierKind, Collective, Function, MatrixKind, Op, Order, Preset, Scope, Space, Uses, Warpgroup,
};
use crate::registers::File;
use std::ops::Range;

/// The unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// None: the instruction is not in the machine code.
    Nothing,
    /// A partition's arithmetic units, by the index of their queue.
    Arithmetic(usize),
    /// The exchange between lanes, which the partitions share.
    Exchange,
    /// Loads, stores and atomics; their cost depends on the access.
    Memory,
    /// A block barrier.
    Barrier,
    /// A fence, which waits for the warp's accesses.
    Fence,
}

/// Queues of arithmetic units in a partition.
pub(super) const QUEUES: usize = 5;
const SINGLE: usize = 0;
const DOUBLE: usize = 1;
const INTEGER: usize = 2;
const SPECIAL: usize = 3;
pub(super) const TENSOR: usize = 4;

/// The cost class of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub unit: Unit,
    /// Issue slots.
    pub slots: f64,
    /// Cycles that the unit is busy.
    pub busy: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
    /// Cycles until the warp's next instruction can be issued.
    pub holds: f64,
}

/// A function's classes and operands, by instruction.
#[derive(Debug)]
pub(super) struct Classes {
    pub classes: Vec<Class>,
    pub uses: Vec<Uses>,
    /// For each branch, the code that becomes predicates.
    pub bodies: Vec<Option<Body>>,
    /// Whether an instruction is part of such code.
    pub predicated: Vec<bool>,
    /// Whether an instruction is an atomic that counts lanes.
    pub counts: Vec<bool>,
    /// Whether an instruction is the jump of a loop that ptxas unrolls.
    pub counted: Vec<bool>,
    /// Number of registers.
    pub registers: usize,
}

impl Classes {
    pub fn of(function: &Function, costs: &Costs) -> Self {
        let uses = Uses::of_all(function);
        let mut classes: Vec<Class> = (0_u32..).zip(&uses).map(|(pc, uses)| class(function, pc, uses, costs)).collect();
        let moves = halves(function, &uses);
        classes.iter_mut().zip(moves).filter(|(_, moves)| *moves).for_each(|(class, _)| *class = nothing());
        for (class, fused) in classes.iter_mut().zip(fused(function, &uses)) {
            match fused {
                Fused::Part => *class = nothing(),
                Fused::One if class.unit == Unit::Arithmetic(INTEGER) => *class = integer(costs),
                _ => {}
            }
        }
        let slots =
            |code: Range<u32>| classes[code.start as usize..code.end as usize].iter().map(|class| class.slots).sum();
        let bodies: Vec<Option<Body>> = (0_u32..).zip(&uses).map(|(pc, _)| body(function, pc, slots)).collect();
        let mut predicated = vec![false; classes.len()];
        for pc in 0..classes.len() {
            if let Some(body) = &bodies[pc] {
                predicated[body.code.start as usize..body.code.end as usize].fill(true);
                // The branch is no instruction, and neither are the jumps around the code.
                classes[pc] = Class { slots: 0.0, busy: 0.0, holds: 0.0, ..classes[pc] };
                body.jumps.iter().for_each(|&jump| classes[jump as usize] = nothing());
            }
        }
        let counted = (0_u32..).zip(&uses).map(|(pc, _)| counted(function, &uses, pc)).collect();
        let registers = uses.iter().flat_map(|uses| uses.sets.iter().chain(&uses.reads)).max();
        let counts = (0..function.code.len()).map(|pc| counts_lanes(function, &uses, pc)).collect();
        Self {
            classes,
            bodies,
            predicated,
            counts,
            counted,
            registers: registers.map_or(0, |&most| most as usize + 1),
            uses,
        }
    }
}

/// Whether an instruction jumps back to the start of a loop over a register that changes by a constant. ptxas does not
/// unroll other loops: it could not compute the number of iterations that are left.
fn counted(function: &Function, uses: &[Uses], pc: u32) -> bool {
    let Some(inst) = function.code.get(pc as usize) else { return false };
    let (Op::Branch { target }, Some(guard)) = (&inst.op, inst.guard) else { return false };
    let Some(body) = uses.get(*target as usize..pc as usize) else { return false };
    let constant = |register: &u32| {
        let constants =
            function.preset.iter().filter(|preset| matches!(preset, Preset::Const32(..) | Preset::Const64(..)));
        constants.map(Preset::row).any(|(file, slot)| function.rows.number(file, slot) == *register)
    };
    let guard = function.rows.number(File::Pred, guard.pred);
    let Some(compare) = body.iter().rfind(|uses| uses.sets.contains(&guard)) else { return false };
    compare.reads.iter().any(|register| {
        let mut writers = body.iter().filter(|uses| uses.sets.contains(register));
        let by_constant = |uses: &Uses| {
            uses.reads.contains(register) && uses.reads.iter().all(|other| other == register || constant(other))
        };
        writers.next().is_some_and(by_constant) && writers.next().is_none()
    })
}

fn class(function: &Function, pc: u32, uses: &Uses, costs: &Costs) -> Class {
    let Some(inst) = function.code.get(pc as usize) else { return nothing() };
    let facts = function.facts(pc);
    let unit = |unit| Class { unit, slots: 1.0, busy: 1.0, latency: costs.alu_cycles, holds: 1.0 };
    match &inst.op {
        Op::Nothing | Op::ConvertAddress { .. } => nothing(),
        Op::Load(access) if access.space == Space::Param => nothing(),
        Op::Branch { .. } | Op::BranchIndexed { .. } => {
            Class { holds: costs.branch_cycles, ..unit(Unit::Arithmetic(INTEGER)) }
        }
        Op::Barrier { kind: BarrierKind::Arrive, .. } => unit(Unit::Arithmetic(INTEGER)),
        Op::Barrier { .. } => unit(Unit::Barrier),
        Op::Fence(order, scope) => match (order, scope) {
            (_, Scope::Cta) | (Order::Relaxed, _) => unit(Unit::Arithmetic(INTEGER)),
            _ => unit(Unit::Fence),
        },
        Op::Collective { kind: Collective::Sync, .. } => unit(Unit::Arithmetic(INTEGER)),
        Op::Collective { .. } => Class { latency: costs.shuffle_cycles, ..unit(Unit::Exchange) },
        Op::Load(_) | Op::Store(_) | Op::Discard { .. } | Op::Texture(_) => unit(Unit::Memory),
        Op::Atomic(_) | Op::AtomicVector(_) | Op::AtomicWide(_) => unit(Unit::Memory),
        Op::Async(op) => match **op {
            Async::Copy { .. } | Async::Bulk { .. } | Async::Tensor { .. } | Async::Remote { .. } => unit(Unit::Memory),
            _ => unit(Unit::Arithmetic(INTEGER)),
        },
        Op::Matrix(matrix) => match &matrix.kind {
            MatrixKind::Multiply(product) => {
                let share = if product.a == Element::F64 { 1.0 } else { costs.warp_product_share };
                let busy = product_cycles(product) / share;
                Class { busy, latency: busy + costs.product_cycles, ..unit(Unit::Arithmetic(TENSOR)) }
            }
            MatrixKind::Transpose => Class { latency: costs.shuffle_cycles, ..unit(Unit::Exchange) },
            _ => unit(Unit::Memory),
        },
        Op::Warpgroup(Warpgroup::Multiply(product)) => {
            // Its sums are in registers once a wait says so; products that add to them follow without a gap.
            Class { busy: product_cycles(&product.shape), latency: 0.0, ..unit(Unit::Arithmetic(TENSOR)) }
        }
        _ => arithmetic(function, facts.work, facts.latency, uses, costs),
    }
}

/// Cycles that the tensor core of a partition works on a warp's product: an H100's rates.
fn product_cycles(product: &Multiply) -> f64 {
    let operations = match product.a {
        Element::F64 => 64.0,
        Element::Tf32 => 512.0,
        Element::F16 | Element::Bf16 => 1024.0,
        _ => 2048.0,
    };
    2.0 * (product.m * product.n * product.depth()) as f64 / operations
}

fn nothing() -> Class {
    Class { unit: Unit::Nothing, slots: 0.0, busy: 0.0, latency: 0.0, holds: 0.0 }
}

/// One instruction on words.
fn integer(costs: &Costs) -> Class {
    let unit = Unit::Arithmetic(INTEGER);
    Class { unit, slots: 1.0, busy: costs.integer_busy, latency: costs.alu_cycles, holds: 1.0 }
}

fn arithmetic(function: &Function, work: Work, latency: Latency, uses: &Uses, costs: &Costs) -> Class {
    let of = |queue, busy: f64, latency| Class { unit: Unit::Arithmetic(queue), slots: 1.0, busy, latency, holds: 1.0 };
    let long = |register: &u32| function.rows.is_long(*register);
    if latency == Latency::Special {
        return Class { slots: costs.special_slots, ..of(SPECIAL, 4.0, costs.special_cycles) };
    }
    match work {
        Work::F64(_) => of(DOUBLE, costs.double_busy, costs.double_cycles),
        Work::F32(_) | Work::F16(_) => of(SINGLE, 1.0, costs.alu_cycles),
        // A product of 32-bit numbers with 64 bits is one instruction.
        Work::Integer(_) if uses.sets.iter().any(long) && uses.reads.iter().any(long) => {
            Class { slots: 2.0, ..of(INTEGER, 2.0 * costs.integer_busy, costs.alu_cycles + 2.0) }
        }
        Work::Integer(_) | Work::Product | Work::None => integer(costs),
    }
}
