//! Boxes of tensors that have arrived in shared memory, for the observers.

use super::block::{Block, pick};
use super::in_flight::Transfer;
use super::key::Key;
use super::worker::Worker;
use crate::observe::{Boxed, Observer};
use crate::tensor::Tile;

/// Reports a box that was written to shared memory to the observers.
pub fn show<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
    key: Key,
    tile: &Tile,
) {
    let (site, warp, lane) = (transfer.site, transfer.warp, u32::from(transfer.lane));
    let written = Boxed { site, warp, lane, owner: key.block, tile };
    if let Some(issuer) = pick(&mut worker.resident, block, transfer.owner) {
        worker.observer.boxed(&mut issuer.observed, &written);
    }
}
