//! Warps none of whose lanes can run.

use super::block::Block;
use super::warp::{State, Warp};
use super::worker::Worker;
use super::{barriers, collectives};
use crate::observe::Observer;
use crate::stop::Stop;

/// Called when no split of a warp can run: counts the warp at a barrier, completes `*.sync` instructions, or
/// releases lanes that wait for lanes which do not arrive. Returns false if the warp has to wait for others.
///
/// # Errors
/// A stop for barrier divergence, or an invalid barrier or thread count.
pub fn unblock<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
) -> Result<bool, Stop> {
    if warp.waits_at.is_some() {
        return Ok(false);
    }
    if collectives::meet_parked(worker, block, warp)? {
        return Ok(true);
    }
    let mut here = 0;
    let mut id = None;
    let mut same = true;
    for split in &warp.splits {
        if let State::Barrier { id: other } = split.state {
            same &= id.is_none_or(|id| id == other);
            (here, id) = (here | split.mask, Some(other));
        }
    }
    if let Some(id) = id {
        if here == warp.live && same {
            barriers::count(worker, block, warp, id)?;
            return Ok(warp.splits.iter().any(|split| split.state == State::Ready));
        }
        if !warp.broken {
            barriers::check_alignment(worker.context, block, warp, here)?;
        }
    }
    if warp.joins.iter().any(|join| join.arrived != 0) {
        collectives::note_missing(worker, block, warp);
        return Ok(warp.release(None));
    }
    barriers::check_alignment(worker.context, block, warp, here)?;
    Ok(false)
}
