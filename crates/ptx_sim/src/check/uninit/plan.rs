//! What each instruction reads and writes, worked out once per function, so that the usual case of an instruction whose
//! sources are all defined is a few masks.

use super::rule::{Rule, rule};
use crate::check::overflow::{self, Arithmetic};
use crate::isa::File;
use crate::program::{Address, Async, Mbarrier, TextureKind};
use crate::program::{BarrierKind, BarrierReduce, Callee, Function, Op, Program};
use crate::registers::NO_SLOT;
use crate::registers::shadow::{Entry, row};

/// No row.
pub const NO_ROW: u32 = u32::MAX;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    first: u32,
    reads: u8,
    writes: u8,
    /// Row of the guard.
    pub guard: u32,
    /// For instructions that only compute.
    pub rule: Rule,
    /// Has to be looked at even when all sources are defined.
    pub always: bool,
    /// The integer operation to watch for overflow.
    pub arithmetic: Option<Arithmetic>,
}

/// One function.
#[derive(Debug, Default)]
pub struct Plan {
    steps: Vec<Step>,
    rows: Vec<u32>,
    /// Of the registers at the function's entry.
    pub entry: Entry,
}

impl Plan {
    /// The plan of one function, without its entry. With `overflow`, integer arithmetic is always looked at.
    pub fn of(program: &Program, function: &Function, overflow: bool) -> Self {
        let mut plan = Self::default();
        for (pc, inst) in function.code.iter().enumerate() {
            let opcode = program.opcode(inst);
            let first = plan.rows.len() as u32;
            let row = |(file, slot)| row(function.rows, file, slot);
            let (reads, writes) = operands(function, pc, &inst.op);
            plan.rows.extend(reads.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|operand| row(*operand)));
            let reads = plan.rows.len() as u32 - first;
            plan.rows.extend(writes.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|operand| row(*operand)));
            let writes = plan.rows.len() as u32 - first - reads;
            let meaning = function.meanings.get(pc).copied().flatten();
            let pure = matches!(inst.op, Op::Pure(..));
            let arithmetic = if overflow && pure { overflow::arithmetic(opcode) } else { None };
            plan.steps.push(Step {
                first,
                reads: reads as u8,
                writes: writes as u8,
                guard: inst.guard.map_or(NO_ROW, |guard| row((File::Pred, guard.pred))),
                rule: meaning.map_or(Rule::Any, |meaning| rule(opcode, meaning.s)),
                always: (pure && meaning.is_none()) || arithmetic.is_some(),
                arithmetic,
            });
        }
        plan
    }

    /// One instruction.
    #[inline(always)]
    pub fn step(&self, pc: u32) -> Option<&Step> {
        self.steps.get(pc as usize)
    }

    /// Rows that it reads, and rows that it writes, besides memory.
    #[inline(always)]
    pub fn rows(&self, step: &Step) -> (&[u32], &[u32]) {
        let (first, reads) = (step.first as usize, usize::from(step.reads));
        let end = first + reads + usize::from(step.writes);
        self.rows.get(first..end).map_or((&[], &[]), |rows| rows.split_at(reads))
    }
}

type Operands = Vec<(File, u32)>;

/// Registers that decide what an instruction does, and registers that it defines. Data of loads, stores, atomics and
/// collectives is handled where these are carried out.
fn operands(function: &Function, pc: usize, op: &Op) -> (Operands, Operands) {
    let address =
        |address: &crate::program::Address| vec![(if address.narrow { File::Word } else { File::Long }, address.base)];
    let none = Vec::new;
    match op {
        Op::Pure(_, args) => match function.meanings.get(pc).copied().flatten() {
            Some(meaning) => {
                let zip = |files: &[File], slots: &[u32]| files.iter().copied().zip(slots.iter().copied()).collect();
                (zip(meaning.s, &args.s), zip(meaning.d, &args.d))
            }
            None => (none(), none()),
        },
        Op::ReadTimer { destination, wide, .. } => {
            (none(), vec![(if *wide { File::Long } else { File::Word }, *destination)])
        }
        Op::Load(access) | Op::Store(access) => (address(&access.address), none()),
        Op::Atomic(atomic) => (address(&atomic.address), none()),
        Op::AtomicVector(parts) => (parts.first().map_or_else(none, |part| address(&part.address)), none()),
        Op::ConvertAddress { destination, source, .. } => {
            (vec![(File::Long, *source)], vec![(File::Long, *destination)])
        }
        Op::IsSpace { destination, source, .. } => (vec![(File::Long, *source)], vec![(File::Pred, *destination)]),
        Op::BranchIndexed { index, .. } => (vec![(File::Word, *index)], none()),
        Op::Call { callee: Callee::Indirect(slot), .. } => (vec![(File::Long, *slot)], none()),
        Op::Barrier { id, count, kind, .. } => {
            let mut reads = vec![(File::Word, *id)];
            reads.extend(count.map(|count| (File::Word, count)));
            match kind {
                BarrierKind::Reduce { op, source, destination, .. } => {
                    reads.push((File::Pred, *source));
                    let file = if *op == BarrierReduce::Popc { File::Word } else { File::Pred };
                    (reads, vec![(file, *destination)])
                }
                _ => (reads, none()),
            }
        }
        Op::Texture(texture) => {
            let file = if texture.wide { File::Long } else { File::Word };
            let mut reads = vec![(File::Long, texture.handle)];
            reads.extend(texture.layer.map(|layer| (File::Word, layer)));
            reads.extend(texture.coordinates.iter().map(|slot| (File::Word, *slot)));
            let writes = match texture.kind {
                TextureKind::Store { .. } => none(),
                _ => texture.data.iter().map(|slot| (file, *slot)).collect(),
            };
            (reads, writes)
        }
        Op::Async(op) => asynchronous(op),
        Op::Collective { mask, .. } => (vec![(File::Word, *mask)], none()),
        Op::Alloca { destination, size, wide, .. } => {
            (vec![(if *wide { File::Long } else { File::Word }, *size)], vec![(File::Long, *destination)])
        }
        Op::StackSave(destination) => (none(), vec![(File::Long, *destination)]),
        _ => (none(), none()),
    }
}

/// Where asynchronous instructions go, and the registers that they write at once.
fn asynchronous(op: &Async) -> (Operands, Operands) {
    let address = |address: &Address| (if address.narrow { File::Word } else { File::Long }, address.base);
    let width = |wide: bool| if wide { File::Long } else { File::Word };
    match op {
        Async::Copy { to, from, source_bytes, .. } => {
            let mut reads = vec![address(to), address(from)];
            reads.extend(source_bytes.map(|slot| (File::Word, slot)));
            (reads, Vec::new())
        }
        Async::Bulk { to, from, bytes, mbarrier, .. } => {
            let mut reads = vec![address(&to.1), address(&from.1), (File::Word, *bytes)];
            reads.extend(mbarrier.as_ref().map(address));
            (reads, Vec::new())
        }
        Async::Remote { to, mbarrier, .. } => (vec![address(to), address(mbarrier)], Vec::new()),
        Async::ArriveAfterCopies { mbarrier, .. } => (vec![address(&mbarrier.1)], Vec::new()),
        Async::Mbarrier { kind, address: (_, place), .. } => match kind {
            Mbarrier::Init(count) => (vec![address(place), (File::Word, *count)], Vec::new()),
            Mbarrier::Arrive { state, .. } => (vec![address(place)], vec![(File::Long, *state)]),
            Mbarrier::Test { destination, .. } => (vec![address(place)], vec![(File::Pred, *destination)]),
            _ => (vec![address(place)], Vec::new()),
        },
        Async::PendingCount(destination, _) => (Vec::new(), vec![(File::Word, *destination)]),
        Async::Mapa { destination, source, rank, wide, .. } => {
            (vec![(width(*wide), *source), (File::Word, *rank)], vec![(width(*wide), *destination)])
        }
        Async::Rank { destination, source, wide, .. } => {
            (vec![(width(*wide), *source)], vec![(File::Word, *destination)])
        }
        Async::Commit(_)
        | Async::Wait { .. }
        | Async::ProxyFence
        | Async::ClusterArrive { .. }
        | Async::ClusterWait { .. } => (Vec::new(), Vec::new()),
    }
}
