//! Control flow of a function: its blocks, where branches join again, and which code only leads to a panic.

use super::listing::{Code, Instruction};

/// Blocks of a function, which have consecutive instructions each. The exit is one more block, the last.
#[derive(Debug)]
pub(super) struct Flow {
    /// First instruction of each block.
    pub starts: Vec<usize>,
    /// Successors of each block.
    pub successors: Vec<Vec<usize>>,
    /// Whether every path from the block ends in a trap: the block belongs to a panic.
    pub is_cold: Vec<bool>,
    /// The nearest block that every path from a block to the exit passes, with those to a trap left out.
    joins: Vec<Option<usize>>,
}

impl Flow {
    pub fn of(code: &Code<'_>) -> Self {
        let instructions = &code.instructions;
        let mut starts: Vec<usize> = code.labels.values().copied().filter(|&at| at < instructions.len()).collect();
        starts.push(0);
        starts.extend((1..instructions.len()).filter(|&at| ends_block(&instructions[at - 1])));
        starts.sort_unstable();
        starts.dedup();
        let exit = starts.len();
        let block_of =
            |at: usize| if at >= instructions.len() { exit } else { starts.partition_point(|&start| start <= at) - 1 };
        let mut successors = Vec::new();
        let mut traps = Vec::new();
        for (block, &start) in starts.iter().enumerate() {
            let end = starts.get(block + 1).copied().unwrap_or(instructions.len());
            let last = instructions.get(end.wrapping_sub(1)).filter(|_| end > start);
            let falls = last.is_none_or(|last| last.guard.is_some() || !ends_block(last));
            let mut next: Vec<usize> = last.into_iter().flat_map(|last| targets(code, last)).map(block_of).collect();
            if last.is_some_and(|last| last.base() == "ret") {
                next.push(exit);
            }
            if falls {
                next.push(block_of(end));
            }
            // `llc` writes `exit` where the code after a call that never returns would be.
            traps.push(last.is_some_and(|last| matches!(last.base(), "trap" | "exit") && last.guard.is_none()));
            successors.push(next);
        }
        successors.push(Vec::new());
        let is_cold = cold(&successors, &traps, exit);
        let joins = joins(&successors, &is_cold, exit);
        Self { starts, successors, is_cold, joins }
    }

    /// The block of an instruction.
    pub fn block(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at).saturating_sub(1)
    }

    /// The instructions that do not only lead to a panic.
    pub fn warm<'a, 't>(&'a self, code: &'a Code<'t>) -> impl Iterator<Item = (usize, &'a Instruction<'t>)> {
        code.instructions.iter().enumerate().filter(|(at, _)| !self.is_cold[self.block(*at)])
    }

    /// The blocks that some threads of a branch at the end of `block` execute without the others.
    pub fn apart(&self, block: usize) -> Vec<usize> {
        let join = self.joins[block];
        let mut seen = vec![false; self.successors.len()];
        let mut pending: Vec<usize> = self.successors[block].clone();
        let mut out = Vec::new();
        while let Some(next) = pending.pop() {
            if Some(next) == join || self.is_cold[next] || std::mem::replace(&mut seen[next], true) {
                continue;
            }
            if next + 1 < self.successors.len() {
                out.push(next);
            }
            pending.extend(&self.successors[next]);
        }
        out
    }
}

/// Whether nothing that follows is in the same block.
fn ends_block(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.base(), "bra" | "brx" | "ret" | "exit" | "trap")
}

fn targets<'a>(code: &'a Code<'_>, last: &'a Instruction<'_>) -> Vec<usize> {
    let names: Vec<&str> = match last.base() {
        "bra" => vec![last.operands.trim()],
        "brx" => {
            let list = last.operands.split(',').nth(1).unwrap_or_default().trim();
            code.targets.get(list).cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    };
    names.into_iter().filter_map(|name| code.labels.get(name).copied()).collect()
}

/// The blocks from which no path reaches the exit but through a trap.
fn cold(successors: &[Vec<usize>], traps: &[bool], exit: usize) -> Vec<bool> {
    let mut warm = vec![false; successors.len()];
    warm[exit] = true;
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..exit).rev() {
            let trapped = traps.get(block).copied().unwrap_or(false);
            if !warm[block] && !trapped && successors[block].iter().any(|&next| warm[next]) {
                (warm[block], changed) = (true, true);
            }
        }
    }
    // An endless loop has no path to the exit either; it is not a panic.
    let mut traps_ahead: Vec<bool> = (0..=exit).map(|block| traps.get(block).copied().unwrap_or(false)).collect();
    changed = true;
    while changed {
        changed = false;
        for block in (0..exit).rev() {
            if !traps_ahead[block] && successors[block].iter().any(|&next| traps_ahead[next]) {
                (traps_ahead[block], changed) = (true, true);
            }
        }
    }
    warm.iter().zip(&traps_ahead).map(|(&warm, &trap)| !warm && trap).collect()
}

/// The immediate post-dominator of each block (Cooper, Harvey and Kennedy's algorithm on the reversed graph).
fn joins(successors: &[Vec<usize>], is_cold: &[bool], exit: usize) -> Vec<Option<usize>> {
    let count = successors.len();
    let mut predecessors = vec![Vec::new(); count];
    for (block, next) in successors.iter().enumerate().filter(|(block, _)| !is_cold[*block]) {
        next.iter().filter(|&&next| !is_cold[next]).for_each(|&next| predecessors[next].push(block));
    }
    // Post-order of the reversed graph, from the exit.
    let mut order = vec![usize::MAX; count];
    let (mut number, mut seen) = (0, vec![false; count]);
    let mut stack = vec![(exit, 0)];
    let mut sequence = Vec::new();
    seen[exit] = true;
    while let Some((block, at)) = stack.pop() {
        match predecessors[block].get(at) {
            Some(&next) => {
                stack.push((block, at + 1));
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => {
                order[block] = number;
                number += 1;
                sequence.push(block);
            }
        }
    }
    let mut join: Vec<Option<usize>> = vec![None; count];
    join[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in sequence.iter().rev().filter(|&&block| block != exit) {
            let mut new = None;
            for &next in successors[block].iter().filter(|&&next| !is_cold[next] && join[next].is_some()) {
                new = Some(match new {
                    None => next,
                    Some(other) => meet(next, other, &join, &order),
                });
            }
            if join[block] != new {
                (join[block], changed) = (new, true);
            }
        }
    }
    join
}

fn meet(mut a: usize, mut b: usize, join: &[Option<usize>], order: &[usize]) -> usize {
    while a != b {
        while order[a] < order[b] {
            match join[a] {
                Some(up) => a = up,
                None => return b,
            }
        }
        while order[b] < order[a] {
            match join[b] {
                Some(up) => b = up,
                None => return a,
            }
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::listing::Listing;
    use super::*;

    fn flow(body: &str) -> Flow {
        let text = format!(".visible .entry k(\n)\n{{\n{body}\n}}\n");
        Flow::of(&Listing::of(&text).functions[0])
    }

    #[test]
    fn a_branch_joins_where_both_arms_meet() {
        let flow = flow("\t@%p1 bra A;\n\tadd.s32 %r1, 1, 2;\n\tbra B;\nA:\n\tadd.s32 %r1, 1, 3;\nB:\n\tret;");
        let mut apart = flow.apart(0);
        apart.sort_unstable();
        assert_eq!((apart, flow.is_cold.iter().any(|&cold| cold)), (vec![1, 2], false));
        assert!(flow.apart(1).is_empty(), "no branch");
    }

    #[test]
    fn the_body_of_a_loop_is_apart_and_what_follows_is_not() {
        let flow = flow("HEAD:\n\t@%p1 bra END;\n\tadd.s32 %r1, 1, 2;\n\tbra HEAD;\nEND:\n\tbar.sync 0;\n\tret;");
        // The block with the branch itself is executed again by those that stay.
        let mut apart = flow.apart(0);
        apart.sort_unstable();
        assert_eq!(apart, [0, 1]);
    }

    #[test]
    fn a_panic_separates_nothing() {
        let flow = flow("\t@%p1 bra PANIC;\n\tbar.sync 0;\n\tret;\nPANIC:\n\tcall.uni fail, (p);\n\texit;");
        assert_eq!(flow.joins[0], Some(1), "{flow:?}");
        assert!(flow.apart(0).is_empty() && flow.is_cold[2]);
        let early = self::flow("\t@%p1 bra END;\n\tbar.sync 0;\nEND:\n\tret;");
        assert_eq!(early.apart(0), [1], "an early return");
    }
}
