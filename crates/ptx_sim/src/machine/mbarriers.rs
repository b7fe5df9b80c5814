//! Instructions on mbarriers.

use super::access::{Shape, addresses};
use super::asynchronous::registers;
use super::block::Block;
use super::block::pick;
use super::faults::At;
use super::in_flight::{Waiting, Who};
use super::key::Key;
use super::mbarrier::{Mbarrier, Misuse, parity_of};
use super::warp::Warp;
use super::worker::Worker;
use crate::lanes::{self, lanes_of};
use crate::memory::address;
use crate::observe::{AccessKind, Observer, Site};
use crate::program::{Address, Mbarrier as Kind, Order, Scope, Space};
use crate::registers::{LANES, NO_SLOT, Slot};
use crate::stop::{Diagnostic, Place, Stop};

impl<O: Observer> Worker<'_, O> {
    /// Executes `mbarrier.*` for each lane.
    ///
    /// # Errors
    /// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn on_mbarriers(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        kind: &Kind,
        (space, address): (Space, Address),
        scope: Option<Scope>,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let places = addresses(registers(warp, at), &address);
        let mut keys = [Key { block: block.ticket, offset: 0 }; LANES];
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            keys[lane] = self.mbarrier_at(block, who, space, places[lane])?;
        }
        // The observers see an access to the block's own memory: an ordinary one at the start and end of the object's
        // lifetime, otherwise an atomic one.
        let own = lanes::select(mask, |lane| keys[lane].block == block.ticket);
        let access = match kind {
            Kind::Init(_) | Kind::Invalidate => (AccessKind::Store, Order::Weak),
            Kind::Test { .. } => (AccessKind::Load, Order::Relaxed),
            _ => (AccessKind::Atomic, Order::Relaxed),
        };
        if own != 0 {
            let shape = Shape { kind: access.0, order: access.1, scope: Scope::Cta, bytes: 8, matrix_rows: false };
            let offsets = keys.map(|key| key.offset);
            self.check(block, warp, Space::Shared, &offsets, own, shape, at, None)?;
        }
        if let Kind::Test { destination, phase, parity } = *kind {
            return self.test_mbarriers(block, warp, &keys, (destination, phase, parity), scope, mask, at);
        }
        warp.wrote = true;
        for lane in lanes_of(mask) {
            let (key, who) = (keys[lane], Who { block: block.ticket, warp: warp.index, lane, site: at.site });
            let row = |warp: &Warp, slot: Slot| warp.frames[at.frame as usize].registers.w32[slot as usize][lane];
            match *kind {
                Kind::Init(count) => self.make_mbarrier(block, key, who, row(warp, count))?,
                Kind::Invalidate => self.end_mbarrier(block, key, who)?,
                Kind::ExpectBytes(bytes) => {
                    let bytes = i64::from(row(warp, bytes));
                    self.with_mbarrier(block, key, who, |found| found.expect(bytes))?;
                }
                Kind::CompleteBytes(bytes) => {
                    let bytes = i64::from(row(warp, bytes));
                    self.with_mbarrier(block, key, who, |found| found.expect(-bytes))?;
                }
                Kind::Arrive { state, count, bytes, drop, no_complete } => {
                    let count = count.map_or(1, |slot| row(warp, slot));
                    let bytes = bytes.map_or(0, |slot| i64::from(row(warp, slot)));
                    if let Some(scope) = scope {
                        let phase = self.with_mbarrier(block, key, who, |found| Ok(found.phase()))?;
                        self.observer.release(&mut block.observed, warp.index, 1 << lane, key.variable(phase), scope);
                    }
                    let before = self.with_mbarrier(block, key, who, |found| {
                        let before = found.bits();
                        // The bytes are added first, so that bytes which arrived early do not complete the phase before
                        // the arrival.
                        found.expect(bytes)?;
                        if no_complete && count >= found.pending() {
                            let what = format!("receives the last arrival of its phase with `noComplete`: {found}");
                            return Err(Misuse { code: "mbarrier-complete", what });
                        }
                        found.arrive(count, drop)?;
                        Ok(before)
                    })?;
                    if state != NO_SLOT {
                        registers(warp, at).w64[state as usize][lane] = before;
                    }
                }
                Kind::Test { .. } => {}
            }
        }
        Ok(())
    }

    /// `test_wait` and `try_wait`: in an incomplete phase, the copies that signal the mbarrier complete first, so that
    /// a test fails only if the phase waits for a thread.
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn test_mbarriers(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        keys: &[Key; LANES],
        (destination, phase, parity): (Slot, Slot, bool),
        scope: Option<Scope>,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let mut passed = 0;
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            let frame = &warp.frames[at.frame as usize].registers;
            let wanted = match parity {
                true => frame.w32[phase as usize][lane] & 1 != 0,
                false => parity_of(frame.w64[phase as usize][lane]),
            };
            let key = keys[lane];
            // Returns the number of complete phases if the requested phase is complete.
            let test = |found: &mut Mbarrier| Ok(found.passed(wanted).then_some(found.phase()));
            let mut done = self.with_mbarrier(block, key, who, test)?;
            if done.is_none() {
                self.complete_signalling(block, key)?;
                done = self.with_mbarrier(block, key, who, test)?;
            }
            passed |= u32::from(done.is_some()) << lane;
            if let (Some(scope), Some(last)) = (scope, done.and_then(|phases| phases.checked_sub(1))) {
                self.observer.acquire(&mut block.observed, warp.index, 1 << lane, key.variable(last), scope);
            }
        }
        let frame = registers(warp, at);
        if destination != NO_SLOT {
            let row = &mut frame.pred[destination as usize];
            *row = *row & !mask | passed;
        }
        let failed = mask & !passed;
        if failed == 0 {
            block.in_flight.waits.remove(&warp.index);
        } else {
            let mbarrier = keys[lanes::first(failed)];
            block.in_flight.waits.insert(warp.index, Waiting { lanes: failed, site: at.site, mbarrier });
            warp.polled = true;
            self.pause = true;
        }
        Ok(())
    }

    /// Returns the location of an mbarrier after checking alignment and bounds.
    ///
    /// # Errors
    /// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
    pub fn mbarrier_at(&self, block: &Block<O::Block>, who: Who, space: Space, address: u64) -> Result<Key, Stop> {
        let inside = match space {
            Space::Generic if address::space_of(address) == Space::Shared => address - address::window(Space::Shared),
            Space::Generic => {
                let name = address::name(address::space_of(address));
                let title =
                    format!("an mbarrier at {address:#x}, which is in {name} memory: it must be in shared memory");
                return Err(self.stop_of(who, Diagnostic::new("wrong-space", title)));
            }
            _ => address,
        };
        self.shared_end(block, who, inside, 8, 8, AccessKind::Atomic)
    }

    fn make_mbarrier(&mut self, block: &mut Block<O::Block>, key: Key, who: Who, count: u32) -> Result<(), Stop> {
        if let Some(earlier) = block.in_flight.mbarriers.get(&key.offset).map(|found| found.site) {
            let place = Place::of(self.context.program, earlier.function, earlier.pc);
            let name = self.shared_name(key);
            self.finding(block, who.warp, who.lane, who.site, "mbarrier-again", || {
                let title = format!("an mbarrier is initialised again without `mbarrier.inval`, {name}");
                let mut diagnostic = Diagnostic::new("mbarrier-again", title);
                diagnostic.related.push(("initialised before here:".to_owned(), place));
                diagnostic.help = Some("invalidate the old mbarrier with `mbarrier.inval` first".to_owned());
                diagnostic
            });
        }
        let made = Mbarrier::new(count, who.site).map_err(|misuse| self.misused(key, who, misuse, None))?;
        lanes::store_words(&mut block.shared, key.offset, 8, made.bits());
        block.states.writes_shared(key.offset, 8);
        block.in_flight.mbarriers.insert(key.offset, made);
        Ok(())
    }

    fn end_mbarrier(&mut self, block: &mut Block<O::Block>, key: Key, who: Who) -> Result<(), Stop> {
        let mut peers = self.resident.iter().flatten().filter(|peer| peer.cluster == block.cluster);
        if block.in_flight.signals(key) || peers.any(|peer| peer.in_flight.signals(key)) {
            let what = "is invalidated while copies that signal it are in flight".to_owned();
            return Err(self.misused(key, who, Misuse { code: "mbarrier-in-use", what }, None));
        }
        self.with_mbarrier(block, key, who, |_| Ok(()))?;
        block.in_flight.mbarriers.remove(&key.offset);
        Ok(())
    }

    /// Modifies an mbarrier of any block of the cluster.
    ///
    /// # Errors
    /// A stop for an invalid operation on an mbarrier, or an address outside shared memory.
    pub fn with_mbarrier<R>(
        &mut self,
        block: &mut Block<O::Block>,
        key: Key,
        who: Who,
        change: impl FnOnce(&mut Mbarrier) -> Result<R, Misuse>,
    ) -> Result<R, Stop> {
        let Some(target) = pick(&mut self.resident, block, key.block) else { return Err(self.ended(who, key.block)) };
        let Some(found) = target.in_flight.mbarriers.get_mut(&key.offset) else {
            let what = "was not initialised, or was invalidated".to_owned();
            return Err(self.misused(key, who, Misuse { code: "mbarrier-uninitialised", what }, None));
        };
        let site = Some(found.site);
        if lanes::load_words(&target.shared, key.offset, 8) != found.bits() {
            let what = "was overwritten by an ordinary store".to_owned();
            return Err(self.misused(key, who, Misuse { code: "mbarrier-overwritten", what }, site));
        }
        let result = change(found);
        lanes::store_words(&mut target.shared, key.offset, 8, found.bits());
        result.map_err(|misuse| self.misused(key, who, misuse, site))
    }

    #[cold]
    fn misused(&self, key: Key, who: Who, misuse: Misuse, made: Option<Site>) -> Stop {
        let title = format!("the mbarrier {} {}", self.shared_name(key), misuse.what);
        let mut diagnostic = Diagnostic::new(misuse.code, title);
        if let Some(site) = made {
            let place = Place::of(self.context.program, site.function, site.pc);
            diagnostic.related.push(("initialised here:".to_owned(), place));
        }
        if misuse.code == "mbarrier-uninitialised" {
            diagnostic.help = Some(
                "execute `mbarrier.init` in one thread, and a barrier before the other threads use the \
                mbarrier"
                    .to_owned(),
            );
        }
        self.stop_of(who, diagnostic)
    }

    /// Describes the location of a byte of shared memory.
    pub fn shared_name(&self, key: Key) -> String {
        self.context.layout.describe(self.context.program, key.offset, self.context.shared_bytes)
    }
}
