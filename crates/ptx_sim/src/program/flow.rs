//! Reconvergence points of divergent branches: immediate post-dominators of the control-flow graph.
//!
//! The analysis differs from the textbook in two respects. Blocks from which every path ends in a trap are removed
//! first: otherwise the panic of a bounds check inside an `if` would move the reconvergence point of the `if` to the
//! end of the kernel. And a reconvergence point that only ends the kernel is ignored: lanes without further work exit
//! instead of waiting there, as in `if i >= n { return; } sync_threads();`.
//!
//! Algorithm: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.

use crate::program::touched::touched;
use crate::program::{Callee, Function, Kind, Op, Program};
use crate::registers::Slot;

/// Marks a branch without a reconvergence point.
pub const NOWHERE: u32 = u32::MAX;

/// Maximum length of the followed chains of calls that never return.
const MOST_LINKS: usize = 64;

/// Control-flow analysis of a function.
#[derive(Clone, Debug)]
pub struct Flow {
    /// For each instruction, the reconvergence point of lanes that diverge at this branch; [`NOWHERE`] if there is none
    /// before the end.
    pub meeting: Vec<u32>,
    /// For each instruction, the number of instructions from there on that only compute, without a guard, before the
    /// next place where lanes may arrive. No lanes reconverge among them, so the loop over instructions needs no tests
    /// there.
    pub plain: Vec<u32>,
    /// For each instruction of a function with `wgmma`, the registers of products that it accesses, except by a
    /// product: row of `w32`, and whether it is written. Empty for other functions.
    pub touched: Vec<Box<[(Slot, bool)]>>,
}

impl Flow {
    /// Returns the registers of products that an instruction accesses, if it accesses any.
    #[inline(always)]
    pub fn touches(&self, pc: u32) -> Option<&[(Slot, bool)]> {
        self.touched.get(pc as usize).filter(|rows| !rows.is_empty()).map(|rows| &**rows)
    }
}

/// A basic block.
#[derive(Debug)]
pub struct Block {
    pub start: u32,
    pub end: u32,
    /// The blocks that may follow.
    pub successors: Vec<usize>,
    /// Whether the function or the thread ends here normally.
    leaves: bool,
}

/// Analyses every function of a program.
pub fn analyse(program: &Program) -> Vec<Flow> {
    let count = program.functions.len();
    let mut never: Vec<bool> =
        program.functions.iter().map(|f| f.kind == Kind::Extern && f.name == "__assertfail").collect();
    // A function that always calls a function which never returns does not return either. Each round finds one more
    // link of such chains; in real programs they are short.
    for _ in 0..count.min(MOST_LINKS) {
        let mut changed = false;
        for (index, function) in program.functions.iter().enumerate() {
            if function.kind == Kind::Device && !never[index] && ends_cold(function, &never) {
                never[index] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    program.functions.iter().map(|function| flow_of(function, &never)).collect()
}

fn ends_cold(function: &Function, never: &[bool]) -> bool {
    let blocks = blocks_of(function, never);
    !blocks.is_empty() && !warm(&blocks)[0]
}

fn flow_of(function: &Function, never: &[bool]) -> Flow {
    let mut meeting = vec![NOWHERE; function.code.len()];
    let mut blocks = blocks_of(function, never);
    let touched = touched(function);
    let plain = plain_runs(function, &blocks, &touched);
    let warm = warm(&blocks);
    // A function that always traps has no warm block; then no block is removed.
    if warm.first().copied().unwrap_or(false) {
        for block in &mut blocks {
            block.successors.retain(|&next| warm[next]);
        }
    }
    let parents = post_dominators(&blocks);
    for (block, parent) in blocks.iter().zip(parents) {
        let Some(parent) = parent else { continue };
        let start = blocks[parent].start;
        if !only_ends(function, start) {
            meeting[block.end as usize - 1] = start;
        }
    }
    Flow { meeting, plain, touched }
}

/// Lanes arrive at the first instruction of a block, and after an instruction that moves or stops lanes, which is not
/// plain.
fn plain_runs(function: &Function, blocks: &[Block], touched: &[Box<[(Slot, bool)]>]) -> Vec<u32> {
    let mut plain = vec![0; function.code.len()];
    for block in blocks {
        let mut run = 0;
        for pc in (block.start as usize..block.end as usize).rev() {
            let inst = &function.code[pc];
            let touches = touched.get(pc).is_some_and(|rows| !rows.is_empty());
            run = if inst.guard.is_none() && !touches && matches!(inst.op, Op::Pure(..)) { run + 1 } else { 0 };
            plain[pc] = run;
        }
    }
    plain
}

/// Whether a block of an entry only ends it.
fn only_ends(function: &Function, start: u32) -> bool {
    let rest = function.code.iter().skip(start as usize);
    let first = rest.into_iter().find(|inst| !matches!(inst.op, Op::Nothing));
    let ends = |op: &Op| matches!(op, Op::Exit) || (matches!(op, Op::Return) && function.kind == Kind::Entry);
    first.is_none_or(|inst| inst.guard.is_none() && ends(&inst.op))
}

/// Divides a function into basic blocks; `never` marks the functions that do not return.
pub fn blocks_of(function: &Function, never: &[bool]) -> Vec<Block> {
    let code = &function.code;
    let mut leader = vec![false; code.len() + 1];
    if let Some(first) = leader.first_mut() {
        *first = true;
    }
    for (pc, inst) in code.iter().enumerate() {
        let ends = match &inst.op {
            Op::Branch { target } => {
                mark(&mut leader, *target);
                true
            }
            Op::BranchIndexed { targets, .. } => {
                targets.iter().for_each(|target| mark(&mut leader, *target));
                true
            }
            Op::Return | Op::Exit | Op::Trap => true,
            Op::Call { .. } => calls_for_good(&inst.op, never),
            _ => false,
        };
        if ends {
            leader[pc + 1] = true;
        }
    }
    let starts: Vec<usize> = (0..code.len()).filter(|&pc| leader[pc]).collect();
    let block_at = |pc: usize| starts.binary_search(&pc).ok();
    let mut blocks = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(code.len());
        let last = &code[end - 1];
        let falls = block_at(end);
        let guarded = last.guard.is_some();
        let mut successors = Vec::new();
        let mut leaves = false;
        match &last.op {
            Op::Branch { target } => successors.extend(block_at(*target as usize)),
            Op::BranchIndexed { targets, .. } => {
                successors.extend(targets.iter().filter_map(|t| block_at(*t as usize)))
            }
            Op::Return => leaves = true,
            // LLVM writes `trap; exit;` for unreachable code: that block ends at the trap. A lone `exit` ends the
            // thread as intended, but never returns to a caller.
            Op::Exit => leaves = function.kind == Kind::Entry,
            Op::Trap => {}
            op if calls_for_good(op, never) => {}
            _ => leaves = falls.is_none(),
        }
        let jumps = matches!(last.op, Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Return | Op::Exit | Op::Trap);
        if guarded || !(jumps || calls_for_good(&last.op, never)) {
            successors.extend(falls);
            leaves |= falls.is_none();
        }
        successors.dedup();
        blocks.push(Block { start: start as u32, end: end as u32, successors, leaves });
    }
    blocks
}

fn mark(leader: &mut [bool], target: u32) {
    if let Some(slot) = leader.get_mut(target as usize) {
        *slot = true;
    }
}

fn calls_for_good(op: &Op, never: &[bool]) -> bool {
    match op {
        Op::Call { callee: Callee::Direct(index), .. } => never.get(*index as usize).copied().unwrap_or(false),
        _ => false,
    }
}

/// Returns the blocks from which the function can end normally.
fn warm(blocks: &[Block]) -> Vec<bool> {
    let mut warm: Vec<bool> = blocks.iter().map(|block| block.leaves).collect();
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (index, block) in blocks.iter().enumerate() {
        block.successors.iter().for_each(|&next| predecessors[next].push(index));
    }
    let mut todo: Vec<usize> = (0..blocks.len()).filter(|&index| warm[index]).collect();
    while let Some(index) = todo.pop() {
        for &before in &predecessors[index] {
            if !std::mem::replace(&mut warm[before], true) {
                todo.push(before);
            }
        }
    }
    warm
}

/// Returns the immediate post-dominator of each block; `None` if it is the end of the function.
fn post_dominators(blocks: &[Block]) -> Vec<Option<usize>> {
    let end = blocks.len();
    let mut predecessors = vec![Vec::new(); end + 1];
    for (index, block) in blocks.iter().enumerate() {
        block.successors.iter().for_each(|&next| predecessors[next].push(index));
        if block.leaves || block.successors.is_empty() {
            predecessors[end].push(index);
        }
    }
    let order = post_order(&predecessors, end);
    let mut number = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(position, &block)| number[block] = position);
    let mut parent = vec![usize::MAX; end + 1];
    parent[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|&&block| block != end) {
            let ends_here = blocks[block].leaves || blocks[block].successors.is_empty();
            let nexts = blocks[block].successors.iter().copied().chain(ends_here.then_some(end));
            let known = nexts.filter(|&next| parent[next] != usize::MAX);
            let new = known.reduce(|a, b| intersect(a, b, &parent, &number));
            if let Some(new) = new.filter(|&new| parent[block] != new) {
                parent[block] = new;
                changed = true;
            }
        }
    }
    (0..end).map(|block| Some(parent[block]).filter(|&parent| parent < end)).collect()
}

fn intersect(mut a: usize, mut b: usize, parent: &[usize], number: &[usize]) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = parent[a];
        }
        while number[b] < number[a] {
            b = parent[b];
        }
    }
    a
}

fn post_order(edges: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(edges.len());
    let mut seen = vec![false; edges.len()];
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, position)) = stack.last_mut() {
        match edges[*node].get(*position) {
            Some(&next) => {
                *position += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Apart, Guard, Inst, Rows};

    fn inst(op: Op, guarded: bool) -> Inst {
        let guard = guarded.then_some(Guard { pred: 0, negated: false });
        Inst { op, guard, opcode: 0, location: None, line: 0 }
    }

    fn meeting(code: Vec<Inst>) -> Vec<u32> {
        flow(code).meeting
    }

    fn flow(code: Vec<Inst>) -> Flow {
        let function = Function {
            name: "k".into(),
            kind: Kind::Entry,
            params: vec![],
            returns: vec![],
            frame_bytes: 0,
            frame_align: 16,
            apart: Apart::default(),
            rows: Rows::default(),
            preset: vec![],
            code,
            described: Vec::new(),
            required_block: None,
            required_cluster: None,
            max_threads: None,
            max_registers: None,
            line: 1,
        };
        let program = Program { functions: vec![function], ..Program::default() };
        analyse(&program).remove(0)
    }

    fn branch(target: u32, guarded: bool) -> Inst {
        inst(Op::Branch { target }, guarded)
    }

    #[test]
    fn if_else_reconverges_after_both_sides() {
        // 0: @p bra 3; 1: then; 2: bra 4; 3: else; 4: rest; 5: ret
        let code = vec![
            branch(3, true),
            inst(Op::Nothing, false),
            branch(4, false),
            inst(Op::Nothing, false),
            inst(Op::Fence(crate::program::Order::SeqCst, crate::program::Scope::Cta), false),
            inst(Op::Return, false),
        ];
        assert_eq!(meeting(code)[0], 4);
    }

    #[test]
    fn a_trap_in_a_branch_is_ignored() {
        // 0: @p bra 5; 1: @p bra 3 (bounds check); 2: bra 5; 3: trap; 4: exit; 5: rest; 6: ret
        let fence = || inst(Op::Fence(crate::program::Order::SeqCst, crate::program::Scope::Cta), false);
        let code = vec![
            branch(5, true),
            branch(3, true),
            branch(5, false),
            inst(Op::Trap, false),
            inst(Op::Exit, false),
            fence(),
            inst(Op::Return, false),
        ];
        let meeting = meeting(code);
        assert_eq!(meeting[0], 5);
        assert_eq!(meeting[1], 2);
    }

    #[test]
    fn a_loop_reconverges_after_it_except_at_a_return() {
        // 0: body; 1: @p bra 0; 2: fence; 3: ret
        let fence = || inst(Op::Fence(crate::program::Order::SeqCst, crate::program::Scope::Cta), false);
        assert_eq!(meeting(vec![fence(), branch(0, true), fence(), inst(Op::Return, false)])[1], 2);
        assert_eq!(meeting(vec![fence(), branch(0, true), inst(Op::Return, false)])[1], NOWHERE);
    }

    #[test]
    fn plain_runs_end_where_lanes_may_arrive() {
        fn nothing(_: &mut crate::registers::Registers, _: u32, _: &crate::registers::Args) {}
        let pure = || Op::Pure(crate::registers::Pure::plain(nothing), crate::registers::Args::default());
        // 0, 1: compute; 2: target of the branch; 3: guarded; 4: computes; 5: @p bra 2; 6: computes; 7: ret
        let code = vec![
            inst(pure(), false),
            inst(pure(), false),
            inst(pure(), false),
            inst(pure(), true),
            inst(pure(), false),
            branch(2, true),
            inst(pure(), false),
            inst(Op::Return, false),
        ];
        assert_eq!(flow(code).plain, [2, 1, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn an_endless_loop_has_no_reconvergence_point() {
        assert_eq!(meeting(vec![branch(0, false)]), vec![NOWHERE]);
    }
}
