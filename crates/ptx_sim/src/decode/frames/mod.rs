//! Variables of a frame, placed far from each other.
//!
//! In PTX, the local arrays of a function lie in one variable, `__local_depot0`, so that an index past the end of one
//! array reaches the next. If nvcc's debug information says where the variables of the source lie in it, and the code
//! uses its address only with constants that belong to one of them, the tree is changed: the variables lie apart. All
//! other frames stay as they are.

mod debug;
mod layout;
mod uses;

use crate::hash::{Map, Set};
use crate::syntax::tree::{Apart, Body, Module, Operand, Statement};
use debug::Local;
use layout::Moved;

/// Alignment in bytes of the widest access, and the largest of a frame that is spread.
const WIDEST: u64 = 32;
const MOST_ALIGNED: u64 = 4096;

/// Spreads the frames of a module whose debug information allows it.
pub fn spread(module: &mut Module<'_>) {
    if !module.sections.iter().any(|(name, _)| *name == ".debug_info") {
        return;
    }
    let names = names(module);
    if names.is_empty() {
        return;
    }
    let locals = debug::locals(module, &names);
    for body in module.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
        let name = frames(body).find_map(|name| locals.get_key_value(name));
        if let Some((name, locals)) = name {
            // A frame that cannot be spread is no error.
            let _ = spread_one(body, name, locals);
        }
    }
}

/// Returns the names of the variables in local memory, without those that several functions have.
fn names<'t>(module: &Module<'t>) -> Vec<&'t str> {
    let mut counts: Map<&str, u32> = Map::default();
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.flat_map(frames).for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name).collect()
}

/// Returns the names of the variables in local memory of a function.
fn frames<'b, 't>(body: &'b Body<'t>) -> impl Iterator<Item = &'t str> + 'b {
    body.statements.iter().filter_map(|statement| match statement {
        Statement::Variable(variable) if variable.space == "local" => Some(variable.name),
        _ => None,
    })
}

/// Spreads a frame; `None` if that could change what the program computes.
fn spread_one<'t>(body: &mut Body<'t>, name: &'t str, locals: &[Local]) -> Option<()> {
    let uses = uses::uses(body, name)?;
    let frame = body.statements.iter_mut().find_map(|statement| match statement {
        Statement::Variable(variable) if variable.name == name => Some(variable),
        _ => None,
    })?;
    if !frame.align.is_power_of_two() || frame.align > MOST_ALIGNED {
        return None;
    }
    let parts = layout::parts(locals, frame.size)?;
    let holder = |used: &uses::Use| {
        let at = parts.partition_point(|moved| moved.from <= used.offset).checked_sub(1)?;
        let Moved { from, part, named } = &parts[at];
        let within = used.offset - from;
        let inside = within.checked_add(used.bytes.max(1))? <= part.size;
        // An address in the middle of a variable may be one of something that the debug information does not name.
        (inside && (used.bytes > 0 || within == 0 || !named)).then_some((at, within))
    };
    let holders: Vec<(usize, u64)> = uses.iter().map(holder).collect::<Option<_>>()?;
    // What lies between variables and is never used is padding.
    let used: Set<usize> = holders.iter().map(|(holder, _)| *holder).collect();
    let mut kept: Vec<(usize, Moved)> = parts.iter().cloned().enumerate().collect();
    kept.retain(|(at, moved)| moved.named || used.contains(at));
    let (numbers, mut kept): (Vec<usize>, Vec<Moved>) = kept.into_iter().unzip();
    let size = layout::spread(&mut kept, frame.size, frame.align, WIDEST)?;
    let added = size - std::mem::replace(&mut frame.size, size);
    for (used, (holder, within)) in uses.iter().zip(holders) {
        let Ok(at) = numbers.binary_search(&holder) else { continue };
        let now = kept[at].part.start + within;
        match body.operands.get_mut(used.operand) {
            Some(Operand::Integer(offset)) => *offset = now,
            Some(Operand::Address(_, offset)) => *offset = now as i64,
            _ => {}
        }
    }
    body.apart = Some(Apart { name, parts: kept.into_iter().map(|moved| moved.part).collect(), added });
    Some(())
}
