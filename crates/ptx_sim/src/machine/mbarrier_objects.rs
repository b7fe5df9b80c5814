//! Mbarriers as objects in the shared memory of a cluster: where they are, and how they change.

use super::block::{Block, pick};
use super::cluster::{self, Wanted};
use super::key::Key;
use super::mbarrier::{Mbarrier, Misuse};
use super::position::Who;
use super::worker::Worker;
use crate::lanes;
use crate::memory::address;
use crate::observe::{AccessKind, Observer, Site};
use crate::program::Space;
use crate::stop::{Diagnostic, Place, Stop};

/// Returns the location of an mbarrier after checking alignment and bounds.
///
/// # Errors
/// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
pub fn locate<O: Observer>(
    worker: &Worker<'_, O>,
    block: &Block<O::Block>,
    who: Who,
    space: Space,
    address: u64,
) -> Result<Key, Stop> {
    let inside = match space {
        Space::Generic if address::space_of(address) == Space::Shared => address - address::window(Space::Shared),
        Space::Generic => {
            let name = address::name(address::space_of(address));
            let title = format!("an mbarrier at {address:#x}, which is in {name} memory: it must be in shared memory");
            return Err(worker.context.fault(who, Diagnostic::new("wrong-space", title)));
        }
        _ => address,
    };
    let wanted = Wanted { kind: AccessKind::Atomic, address: inside, bytes: 8, align: 8 };
    cluster::shared_end(worker, block, who, wanted)
}

/// Modifies an mbarrier of any block of the cluster.
///
/// # Errors
/// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
pub fn change<O: Observer, R>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    key: Key,
    who: Who,
    change: impl FnOnce(&mut Mbarrier) -> Result<R, Misuse>,
) -> Result<R, Stop> {
    let Some(target) = pick(&mut worker.resident, block, key.block) else {
        return Err(worker.context.ended(who, key.block));
    };
    let Some(found) = target.in_flight.mbarriers.get_mut(&key.offset) else {
        let what = "was not initialised, or was invalidated".to_owned();
        return Err(misused(worker, key, who, Misuse { code: "mbarrier-uninitialised", what }, None));
    };
    let site = Some(found.site);
    if lanes::load_words(&target.shared, key.offset, 8) != found.bits() {
        let what = "was overwritten by an ordinary store".to_owned();
        return Err(misused(worker, key, who, Misuse { code: "mbarrier-overwritten", what }, site));
    }
    let result = change(found);
    lanes::store_words(&mut target.shared, key.offset, 8, found.bits());
    result.map_err(|misuse| misused(worker, key, who, misuse, site))
}

/// Builds the stop for an invalid operation; `made` is the instruction that initialised the mbarrier.
#[cold]
pub fn misused<O: Observer>(worker: &Worker<'_, O>, key: Key, who: Who, misuse: Misuse, made: Option<Site>) -> Stop {
    let title = format!("the mbarrier {} {}", shared_name(worker, key), misuse.what);
    let mut diagnostic = Diagnostic::new(misuse.code, title);
    if let Some(site) = made {
        let place = Place::of(worker.context.program, site.function, site.pc);
        diagnostic.related.push(("initialised here:".to_owned(), place));
    }
    if misuse.code == "mbarrier-uninitialised" {
        diagnostic.help = Some(
            "execute `mbarrier.init` in one thread, and a barrier before the other threads use the \
            mbarrier"
                .to_owned(),
        );
    }
    worker.context.fault(who, diagnostic)
}

/// Describes the location of a byte of shared memory.
pub fn shared_name<O: Observer>(worker: &Worker<'_, O>, key: Key) -> String {
    worker.context.layout.describe(worker.context.program, key.offset, worker.context.shared_bytes)
}
