//! `wgmma`: products of matrices by the four warps of a warpgroup.
//!
//! A product is asynchronous. Each warp of the group executes the instruction at its own time; once the fourth has,
//! the product belongs to the asynchronous proxy: the words of shared memory that it reads are marked until it
//! completes, at the latest moment that PTX allows, when the first warp waits for its group. Then all four warps' sums
//! are written. Accesses to the registers in between, and before a `wgmma.fence`, are reported (`wgmma-not-waited`,
//! `wgmma-not-fenced`).

mod group;
mod multiply;
mod registers;

pub use group::Groups;
pub use registers::touch;

use super::block::Block;
use super::step::Step;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Variable};
use crate::program::{Scope, Site, Warpgroup};
use crate::stop::{Diagnostic, Place, Stop};
use group::WARPS;

/// Executes an instruction of a warpgroup with all lanes of the warp. Returns the split that continues.
///
/// # Errors
/// A stop if the warps of the group differ, or a descriptor leads out of bounds.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, split: Split, op: &Warpgroup) -> Result<Option<Split>, Stop> {
    let index = step.warp.index as usize;
    let threads = step.context().threads as usize;
    if (index / WARPS + 1) * WARPS * 32 > threads {
        let title = format!(
            "warp {index} executes `wgmma`, but the block of {threads} threads ends before its warpgroup: it needs \
             four warps, from {} on",
            index / WARPS * WARPS
        );
        return Err(step.fault(0, "warpgroup", title));
    }
    let next = Split { pc: split.pc + 1, ..split };
    match op {
        Warpgroup::Fence => registers::fence(step.warp),
        Warpgroup::Commit => {
            let group = step.block.groups.of(index);
            group.commits[index % WARPS].push(group.issued[index % WARPS]);
        }
        Warpgroup::Wait { pending } => {
            let commits = &step.block.groups.of(index).commits[index % WARPS];
            let until = commits.len().checked_sub(*pending as usize + 1).map_or(0, |at| commits[at]);
            let waiting = Split { state: State::Warpgroup { until }, ..split };
            step.warp.splits.push(waiting);
            release(step, index)?;
            return Ok(None);
        }
        Warpgroup::Multiply(product) => {
            registers::check_fenced(step, product);
            multiply::issue(step, product)?;
            step.warp.wrote = true;
            for warp in (index / WARPS * WARPS..).take(WARPS) {
                release(step, warp)?;
            }
        }
    }
    Ok(Some(next))
}

/// Lets a warp continue that waits for products which all warps of its group have executed.
fn release<O: Observer>(step: &mut Step<'_, '_, O>, index: usize) -> Result<(), Stop> {
    let waits = |split: &Split| match split.state {
        State::Warpgroup { until } => Some(until),
        _ => None,
    };
    let Some(until) = warp_of(step, index).splits.iter().find_map(waits) else { return Ok(()) };
    if !step.block.groups.of(index).all_came(until) {
        return Ok(());
    }
    multiply::complete(step, index, until)?;
    let group = step.block.groups.of(index);
    let waited = &mut group.waited[index % WARPS];
    let from = std::mem::replace(waited, until.max(*waited));
    group.drop_waited();
    for number in from..until {
        let variable = variable(step.block.ticket, index, number);
        step.worker.observer.acquire(&mut step.block.observed, index as u32, u32::MAX, variable, Scope::Cta);
    }
    let warp = warp_of(step, index);
    for split in warp.splits.iter_mut().filter(|split| waits(split).is_some()) {
        (split.state, split.pc) = (State::Ready, split.pc + 1);
    }
    Ok(())
}

/// Returns the identity of a product for the observers.
fn variable(ticket: u64, warp: usize, number: u64) -> Variable {
    Variable::Warpgroup { owner: ticket, group: (warp / WARPS) as u32, number }
}

/// Returns a warp of the block, which may be the running one.
fn warp_of<'s, O: Observer>(step: &'s mut Step<'_, '_, O>, index: usize) -> &'s mut Warp {
    if step.warp.index as usize == index { step.warp } else { &mut step.block.warps[index] }
}

/// Describes what a waiting warp waits for: the warps that have not executed a product.
pub fn missing<B>(block: &Block<B>, warp: u32, until: u64) -> String {
    let index = warp as usize;
    let came = block.groups.get(index).map_or(0, |group| group.first_missing(until));
    let warps = (0..WARPS as u32).filter(|warp| came >> warp & 1 == 0);
    let mask = warps.fold(0, |mask, warp| mask | 1 << (warp + (index / WARPS * WARPS) as u32));
    format!("wait for a `wgmma` that {} did not execute", lanes::describe(mask).replace("lane", "warp"))
}

/// Builds the stop for warps of a group that execute different products, or the same with different operands.
fn differs<O: Observer>(worker: &Worker<'_, O>, step_who: super::position::Who, other: Site, what: &str) -> Stop {
    let title = format!("the warps of a warpgroup execute {what}");
    let mut diagnostic = Diagnostic::new("warpgroup", title);
    let place = Place::of(worker.context.program, other.function, other.pc);
    diagnostic.related.push(("another warp is here:".to_owned(), place));
    worker.context.fault(step_who, diagnostic)
}
