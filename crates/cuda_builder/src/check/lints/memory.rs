//! Lints of memory accesses: local memory, generic addresses, atomics without ordering.

use std::collections::HashSet;

use super::kinds::{Found, Lint};
use crate::check::{
    flow::Flow,
    listing::{Code, Instruction, Listing},
};

/// Reports each line that accesses the local memory of the entry. A kernel that prints is left out: the arguments of
/// `vprintf` are in local memory.
pub(super) fn local(listing: &Listing<'_>, code: &Code<'_>, flow: &Flow, found: &mut Found<'_>) {
    if prints(listing, code, Some(flow), &mut Vec::new()) {
        return;
    }
    for (_, one) in flow.warm(code).filter(|(_, one)| matches!(one.base(), "ld" | "st") && one.has("local")) {
        let what = if one.is_dependency { "access to local memory by a dependency" } else { "access to local memory" };
        found.add(Lint::LocalMemory, one.place.as_ref(), what);
    }
}

/// Whether a function calls `vprintf`, directly or through others.
fn prints<'t>(listing: &Listing<'t>, code: &Code<'t>, flow: Option<&Flow>, seen: &mut Vec<&'t str>) -> bool {
    if seen.contains(&code.name) {
        return false;
    }
    seen.push(code.name);
    let is_cold = |at: usize| flow.is_some_and(|flow| flow.is_cold[flow.block(at)]);
    code.instructions.iter().enumerate().filter(|(at, _)| !is_cold(*at)).filter_map(|(_, one)| one.callee()).any(
        |name| name == "vprintf" || listing.function(name).is_some_and(|callee| prints(listing, callee, None, seen)),
    )
}

/// Reports accesses without a state space whose address is computed from that of a shared variable.
pub(super) fn generic_shared(code: &Code<'_>, flow: &Flow, found: &mut Found<'_>) {
    let mut shared: HashSet<&str> = HashSet::new();
    let mut changed = true;
    while changed {
        let before = shared.len();
        for one in &code.instructions {
            let is_start = one.base() == "cvta" && one.has("shared") && !one.has("to");
            let moves = matches!(one.base(), "mov" | "add" | "sub" | "selp" | "mad" | "or");
            if is_start || moves && one.read().any(|register| shared.contains(register)) {
                shared.extend(one.written());
            }
        }
        changed = shared.len() > before;
    }
    for (_, one) in flow.warm(code).filter(|(_, one)| is_generic(one)) {
        if one.address().is_some_and(|register| shared.contains(register)) {
            found.add(Lint::GenericShared, one.place.as_ref(), "access to shared memory by a generic address");
        }
    }
}

fn is_generic(one: &Instruction<'_>) -> bool {
    matches!(one.base(), "ld" | "ldu" | "st" | "atom" | "red")
        && !["global", "shared", "local", "const", "param"].iter().any(|space| one.has(space))
}

/// Reports read-modify-writes that come from `core::sync::atomic`; compare-and-swap is compiled as it is written.
pub(super) fn core_atomics(code: &Code<'_>, flow: &Flow, found: &mut Found<'_>) {
    for (_, one) in flow.warm(code) {
        if one.is_core_atomic && matches!(one.base(), "atom" | "red") && !one.has("cas") {
            found.add(Lint::CoreAtomics, one.place.as_ref(), "read-modify-write of `core::sync::atomic`");
        }
    }
}
