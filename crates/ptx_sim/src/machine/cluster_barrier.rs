//! The barrier of all threads of a cluster.

use super::block::{Block, peers};
use super::step::Step;
use super::stuck;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Variable};
use crate::program::Scope;
use crate::stop::{Diagnostic, Stop, StopKind, Triple};

/// Executes `barrier.cluster.arrive`.
///
/// # Errors
/// A stop if the barrier is misused, or lanes of an `.aligned` barrier are missing.
pub fn arrive<O: Observer>(step: &mut Step<'_, '_, O>, (aligned, ordered): (bool, bool)) -> Result<(), Stop> {
    require_whole_warp(step, aligned)?;
    let twice = step.mask & (step.warp.cluster.arrived | step.warp.cluster.passed);
    if twice != 0 {
        let title = "a thread arrives at the cluster barrier again without having waited";
        return Err(step.fault(lanes::first(twice), "cluster-barrier", title));
    }
    (step.warp.wrote, step.warp.cluster.arrived) = (true, step.warp.cluster.arrived | step.mask);
    if ordered {
        let barrier = barrier_of(step.block, 0);
        step.release(step.mask, barrier, Scope::Cluster);
    }
    settle(step.worker, step.block, Some(&mut *step.warp));
    Ok(())
}

/// Executes `barrier.cluster.wait`; returns the split if it can continue.
///
/// # Errors
/// A stop if the barrier is misused, or lanes of an `.aligned` barrier are missing.
pub fn wait<O: Observer>(step: &mut Step<'_, '_, O>, split: Split, aligned: bool) -> Result<Option<Split>, Stop> {
    require_whole_warp(step, aligned)?;
    let missing = split.mask & !(step.warp.cluster.arrived | step.warp.cluster.passed);
    if missing != 0 {
        let title = "a thread waits at the cluster barrier but has not arrived there";
        return Err(step.fault(lanes::first(missing), "cluster-barrier", title));
    }
    if split.mask & !step.warp.cluster.passed != 0 {
        step.warp.splits.push(Split { state: State::ClusterBarrier, ..split });
        return Ok(None);
    }
    step.warp.cluster.passed &= !split.mask;
    let barrier = barrier_of(step.block, 1);
    step.acquire(split.mask, barrier, Scope::Cluster);
    Ok(Some(Split { pc: split.pc + 1, ..split }))
}

/// Completes the cluster barrier if every live thread has arrived. `running` has been taken out of its block, as
/// the block has been taken out of the list.
pub fn settle<O: Observer>(worker: &mut Worker<'_, O>, block: &mut Block<O::Block>, mut running: Option<&mut Warp>) {
    let cluster = block.cluster;
    let any = |warp: &Warp| warp.cluster.arrived != 0;
    let used = running.as_ref().is_some_and(|warp| any(warp))
        || block.warps.iter().any(|warp| any(warp))
        || peers(&worker.resident, cluster).any(|peer| peer.warps.iter().any(|warp| any(warp)));
    if !used {
        return;
    }
    let came = |warp: &Warp| warp.live & !warp.cluster.arrived == 0;
    let all = peers(&worker.resident, cluster).all(|peer| peer.warps.iter().all(|warp| came(warp)))
        && block.warps.iter().all(|warp| came(warp))
        && running.as_ref().is_none_or(|warp| came(warp));
    if !all {
        return;
    }
    worker.acted = true;
    let observer = &mut worker.observer;
    let barrier = barrier_of(block, 0);
    block.cluster_phase += 1;
    let mut go_on = |observed: &mut O::Block, warp: &mut Warp| {
        warp.cluster.passed |= warp.cluster.arrived & warp.live;
        warp.cluster.arrived = 0;
        for split in warp.splits.iter_mut().filter(|split| split.state == State::ClusterBarrier) {
            (split.state, split.pc) = (State::Ready, split.pc + 1);
            warp.cluster.passed &= !split.mask;
            observer.acquire(observed, warp.index, split.mask, barrier, Scope::Cluster);
        }
    };
    if let Some(warp) = &mut running {
        go_on(&mut block.observed, warp);
    }
    for warp in block.warps.iter_mut().filter(|warp| warp.live != 0) {
        go_on(&mut block.observed, warp);
    }
    for peer in worker.resident.iter_mut().flatten().filter(|peer| peer.cluster == cluster) {
        (peer.parked, peer.cluster_phase) = (false, peer.cluster_phase + 1);
        for warp in peer.warps.iter_mut().filter(|warp| warp.live != 0) {
            go_on(&mut peer.observed, warp);
        }
    }
}

/// Returns a stop if every resident block of the cluster waits for the cluster barrier.
pub fn deadlock<O: Observer>(worker: &Worker<'_, O>, block: &Block<O::Block>) -> Option<Stop> {
    if !peers(&worker.resident, block.cluster).all(|peer| peer.parked) {
        return None;
    }
    let title = match worker.context.cluster_blocks {
        1 => format!("deadlock: no thread of block {} can make progress", Triple(block.id)),
        blocks => {
            format!(
                "deadlock: none of the {blocks} blocks in the cluster of block {} can make progress",
                Triple(block.id)
            )
        }
    };
    let mut diagnostic = Diagnostic::new("deadlock", title);
    for peer in peers(&worker.resident, block.cluster) {
        stuck::describe_waiting(worker, peer, &mut diagnostic);
    }
    Some(Stop::new(StopKind::Stuck, diagnostic))
}

fn require_whole_warp<O: Observer>(step: &Step<'_, '_, O>, aligned: bool) -> Result<(), Stop> {
    if !aligned || step.mask == step.warp.live {
        return Ok(());
    }
    let missing = step.warp.live & !step.mask;
    let title = format!(
        "barrier divergence: {} of warp {} reached the cluster barrier, {} did not",
        lanes::describe(step.mask),
        step.warp.index,
        lanes::describe(missing)
    );
    let mut diagnostic = Diagnostic::new("barrier-divergence", title);
    diagnostic.related = step.context().whereabouts(step.warp, missing);
    diagnostic.help = Some("move it out of the branch, or remove `.aligned`".to_owned());
    Err(step.context().fault(step.who(lanes::first(step.mask)), diagnostic))
}

/// Returns the identity of the cluster barrier for the observers, `back` phases before the current one.
fn barrier_of<B>(block: &Block<B>, back: u64) -> Variable {
    Variable::ClusterBarrier { cluster: block.cluster, phase: block.cluster_phase.saturating_sub(back) }
}
