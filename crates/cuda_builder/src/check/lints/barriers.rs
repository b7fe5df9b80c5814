//! The lint of barriers in divergent code.

use super::kinds::{Found, Lint};
use crate::check::{
    divergence::Divergence,
    flow::Flow,
    listing::{Code, Instruction},
};

/// Reports barriers of the whole block that only some of its threads may reach.
pub(super) fn divergent(code: &Code<'_>, flow: &Flow, divergence: &Divergence<'_>, found: &mut Found<'_>) {
    for (at, one) in code.instructions.iter().enumerate().filter(|(_, one)| is_for_all(one)) {
        let block = flow.block(at);
        let branch = divergence.branches.iter().find(|(_, apart)| apart.contains(&block));
        let Some((branch, _)) = branch else { continue };
        let place = code.instructions.get(*branch).and_then(|branch| branch.place.as_ref());
        let condition = match place {
            Some(place) if Some(place) != one.place.as_ref() => format!(" at {}:{}", place.file, place.line),
            _ => String::new(),
        };
        let what = format!("barrier under a condition{condition} that may differ between the threads of a block");
        found.add(Lint::DivergentBarrier, one.place.as_ref(), what);
    }
}

/// Whether an instruction is barrier 0 for all threads of the block: others serve parts of a block.
fn is_for_all(one: &Instruction<'_>) -> bool {
    let waits = one.has("sync") || one.has("red");
    let of_block = matches!(one.base(), "bar" | "barrier") && !one.has("warp") && !one.has("cluster");
    let operands: Vec<&str> = one.operands.split(',').map(str::trim).collect();
    let number = if one.has("red") { operands.get(1) } else { operands.first() };
    let counted = operands.len() > if one.has("red") { 3 } else { 1 };
    waits && of_block && number == Some(&"0") && !counted
}
