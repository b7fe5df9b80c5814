//! Execution of asynchronous instructions, of operations on mbarriers, and of address mapping in clusters. Copies are
//! issued by `issue` and performed later, by `completion`.

use super::cluster::address_of;
use super::in_flight::What;
use super::mbarrier::pending_of;
use super::part::addresses;
use super::step::Step;
use super::warp::Split;
use super::{cluster, cluster_barrier, completion, issue, mbarrier_objects, mbarriers, tensor, tensor_maps};
use crate::lanes::{self, lanes_of};
use crate::memory::address;
use crate::observe::Observer;
use crate::program::{Address, Async, Group, Space};
use crate::registers::{NO_SLOT, Registers, Slot};
use crate::stop::{Diagnostic, Stop};

/// Executes an instruction for the lanes of `split`. Returns the split that continues.
///
/// # Errors
/// A stop if an operand or an address faults.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, split: Split, op: &Async) -> Result<Option<Split>, Stop> {
    let mask = split.mask;
    match op {
        Async::ClusterArrive { aligned, ordered } => {
            cluster_barrier::arrive(step, (*aligned, *ordered))?;
        }
        Async::ClusterWait { aligned } => return cluster_barrier::wait(step, split, *aligned),
        Async::Copy { .. } => issue::copy(step, op)?,
        Async::Bulk { .. } | Async::Remote { .. } => issue::copy_bulk(step, op)?,
        Async::Tensor { .. } => tensor::issue(step, op)?,
        Async::Commit(group) => {
            let committed = step.block.in_flight.committed(step.warp.index, *group);
            lanes::each(mask, |lane| committed[lane] = committed[lane].saturating_add(1));
        }
        Async::Wait { group, pending, all } => {
            if *all {
                let committed = step.block.in_flight.committed(step.warp.index, *group);
                lanes::each(mask, |lane| committed[lane] = committed[lane].saturating_add(1));
            }
            completion::wait_groups(step, *group, *pending)?;
        }
        Async::ArriveAfterCopies { mbarrier, increments } => {
            arrive_after_copies(step, *mbarrier, *increments)?;
        }
        Async::Mbarrier { kind, address, scope } => {
            mbarriers::execute(step, kind, *address, *scope)?;
        }
        Async::PendingCount(to, state) => {
            let registers = step.registers();
            let states = registers.w64[*state as usize];
            set32(registers, *to, mask, |lane| pending_of(states[lane]));
        }
        Async::Mapa { .. } | Async::Rank { .. } => map_addresses(step, op)?,
        Async::ReplaceField { .. } => tensor_maps::replace(step, op)?,
        Async::CopyMap { to, from } => tensor_maps::copy(step, to, from)?,
        Async::AcquireMap(map) => tensor_maps::acquire(step, map),
        Async::ProxyFence => step.worker.observer.proxy_fence(&mut step.block.observed, step.warp.index, mask),
    }
    Ok(Some(Split { pc: split.pc + 1, ..split }))
}

/// `cp.async.mbarrier.arrive`.
fn arrive_after_copies<O: Observer>(
    step: &mut Step<'_, '_, O>,
    mbarrier: (Space, Address),
    increments: bool,
) -> Result<(), Stop> {
    let places = addresses(step.registers(), &mbarrier.1);
    let committed = *step.block.in_flight.committed(step.warp.index, Group::Copy);
    let number = step.block.in_flight.issue();
    let mut transfers = Vec::new();
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
        let key = mbarrier_objects::locate(step.worker, step.block, who, mbarrier.0, places[lane])?;
        mbarrier_objects::change(step.worker, step.block, key, who, |found| {
            if increments { found.increment() } else { Ok(()) }
        })?;
        transfers.push(issue::transfer(who, Group::Copy, What::Arrive(key), committed[lane], number));
    }
    issue::enqueue(step, transfers)
}

/// Executes `mapa` and `getctarank`.
fn map_addresses<O: Observer>(step: &mut Step<'_, '_, O>, op: &Async) -> Result<(), Stop> {
    let (source, wide, generic) = match *op {
        Async::Mapa { source, wide, generic, .. } | Async::Rank { source, wide, generic, .. } => {
            (source, wide, generic)
        }
        _ => return Ok(()),
    };
    for lane in lanes_of(step.mask) {
        let frame = step.registers();
        let address = match wide {
            true => frame.w64[source as usize][lane],
            false => u64::from(frame.w32[source as usize][lane]),
        };
        let who = step.who(lane);
        let window = if generic { address::window(Space::Shared) } else { 0 };
        let shared = !generic || address::space_of(address) == Space::Shared;
        let place =
            if shared { cluster::place_of(step.context(), step.block, address.wrapping_sub(window)) } else { None };
        let Some(place) = place else {
            let title = format!("{address:#x} is not an address in the cluster's shared memory");
            return Err(step.context().fault(who, Diagnostic::new("wrong-space", title)));
        };
        let (blocks, first) = (step.context().cluster_blocks, step.block.first_ticket(step.context().cluster_blocks));
        let frame = step.registers();
        match *op {
            Async::Mapa { destination, rank, .. } => {
                let rank = u64::from(frame.w32[rank as usize][lane]);
                if rank >= blocks {
                    let title = format!("`mapa` to the block of rank {rank} in a cluster of {blocks}");
                    return Err(step.context().fault(who, Diagnostic::new("cluster-rank", title)));
                }
                let mapped = window + address_of(rank, place.offset);
                match (destination, wide) {
                    (NO_SLOT, _) => {}
                    (slot, true) => frame.w64[slot as usize][lane] = mapped,
                    (slot, false) => frame.w32[slot as usize][lane] = mapped as u32,
                }
            }
            Async::Rank { destination, .. } => {
                let rank = (place.block - first) as u32;
                set32(frame, destination, 1 << lane, |_| rank);
            }
            _ => {}
        }
    }
    Ok(())
}

fn set32(registers: &mut Registers, slot: Slot, mask: u32, value: impl Fn(usize) -> u32) {
    if slot != NO_SLOT {
        let row = &mut registers.w32[slot as usize];
        lanes::each(mask, |lane| row[lane] = value(lane));
    }
}
