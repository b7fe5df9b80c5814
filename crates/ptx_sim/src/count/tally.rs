//! The observer that counts. All counts are kept per instruction; totals are computed at the end.
//!
//! Executions are not counted one by one: a run of instructions adds one at its start and subtracts one after its end,
//! and prefix sums of these differences are the counts. Straight-line code is therefore counted at constant cost.

use super::contention::Wanted;
use super::{banks, sectors};
use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Scope, Space};

/// Number of classes of lanes per address of atomics: 1, 2, up to 4, 8, 16, 32.
pub const CLASSES: usize = 6;

/// Counts of one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Warps that started a run here, minus those whose run ended before: see the module's documentation.
    pub came: i64,
    /// The same difference in active lanes.
    pub came_lanes: i64,
    /// Active lanes whose guard was false.
    pub off: u64,
    pub branches: u64,
    pub divergent: u64,
    pub shared: Memory,
    pub global: Memory,
    pub local: Memory,
    pub atomics: Atomics,
}

/// Accesses to one state space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub requests: u64,
    /// Bytes of all lanes.
    pub bytes: u64,
    /// Distinct bytes per instruction, for global loads and stores.
    pub used: u64,
    /// Wavefronts of shared memory, sectors of other spaces.
    pub units: u64,
    /// Minimum number of units for the accesses.
    pub ideal: u64,
}

/// Counts of atomic instructions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atomics {
    pub addresses: u64,
    pub most: u32,
    pub classes: [u64; CLASSES],
}

/// Observer that counts one worker's events.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    /// Counts by function and instruction; a function's list is created with its first count. The list of the function
    /// that counted last is in `current`.
    tallies: Vec<Vec<Tally>>,
    current: Vec<Tally>,
    function: u32,
    pub barriers: u64,
}

impl Counting {
    /// Returns the lists of all functions.
    pub fn lists(mut self) -> Vec<Vec<Tally>> {
        self.turn_to(self.function, 0);
        self.tallies[self.function as usize] = self.current;
        self.tallies
    }

    #[inline(always)]
    fn tally(&mut self, site: Site) -> &mut Tally {
        let pc = site.pc as usize;
        if site.function != self.function || pc >= self.current.len() {
            self.turn_to(site.function, pc);
        }
        &mut self.current[pc]
    }

    /// Makes a function's list the current one, with room for an instruction.
    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, function: u32, pc: usize) {
        let most = function.max(self.function) as usize;
        if self.tallies.len() <= most {
            self.tallies.resize_with(most + 1, Vec::new);
        }
        if function != self.function {
            std::mem::swap(&mut self.current, &mut self.tallies[self.function as usize]);
            std::mem::swap(&mut self.current, &mut self.tallies[function as usize]);
            self.function = function;
        }
        if self.current.len() <= pc {
            self.current.resize((pc + 1).next_power_of_two(), Tally::default());
        }
    }

    /// Counts the lanes of an atomic by address.
    ///
    /// `discard` is counted as an executed instruction only: ptxas compiles it to a cache control instruction
    /// (`CCTL.E.RML2`), not to a store, and it moves no data. Whether Nsight Compute has a metric for it is unknown.
    #[inline(never)]
    fn neither_load_nor_store(&mut self, touch: &Touch<'_>) {
        if touch.kind == AccessKind::Discard {
            return;
        }
        let wanted = Wanted::addresses(touch.addresses, touch.mask, *touch.spread);
        let (mut classes, mut most) = ([0; CLASSES], 0);
        for (_, lanes) in wanted.each() {
            classes[(lanes.max(1).next_power_of_two().trailing_zeros() as usize).min(CLASSES - 1)] += 1;
            most = most.max(lanes);
        }
        let shared = touch.space == Space::Shared;
        let bytes = u64::from(touch.bytes) * u64::from(touch.mask.count_ones());
        let units = match shared {
            true => banks::atomic_wavefronts(&wanted, touch.bytes),
            false => sectors::atomic_sectors(&wanted, touch.bytes),
        };
        let units = u64::from(units);
        // The minimum lets lanes with the same word share a pass.
        let ideal = match shared {
            true if touch.bytes == 4 => banks::different_words(&wanted),
            true => banks::wavefronts(touch.addresses, touch.mask, touch.bytes, *touch.spread, false).0,
            false => bytes.div_ceil(32) as u32,
        };
        let ideal = u64::from(ideal);
        let tally = self.tally(touch.site);
        tally.atomics.addresses += u64::from(wanted.count());
        tally.atomics.most = tally.atomics.most.max(most);
        for (sum, more) in tally.atomics.classes.iter_mut().zip(classes) {
            *sum += more;
        }
        let memory = if shared { &mut tally.shared } else { &mut tally.global };
        memory.add(Memory { requests: 1, bytes, used: 0, units, ideal });
    }
}

impl Memory {
    #[inline]
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.used += other.used;
        self.units += other.units;
        self.ideal += other.ideal;
    }
}

impl Observer for Counting {
    type Block = ();
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, _: &BlockShape) {}

    #[inline(always)]
    fn ran(&mut self, (): &mut (), _: u32, from: Site, end: u32, active: u32) {
        let lanes = i64::from(active.count_ones());
        // The end is counted first, so that the list has room for both.
        let after = self.tally(Site { pc: end, ..from });
        after.came -= 1;
        after.came_lanes -= lanes;
        if let Some(first) = self.current.get_mut(from.pc as usize) {
            first.came += 1;
            first.came_lanes += lanes;
        }
    }

    #[inline]
    fn guarded(&mut self, site: Site, off: u32) {
        self.tally(site).off += u64::from(off.count_ones());
    }

    #[inline]
    fn branch(&mut self, site: Site, divergent: bool) {
        let tally = self.tally(site);
        tally.branches += 1;
        tally.divergent += u64::from(divergent);
    }

    #[inline(always)]
    fn touch(&mut self, (): &mut (), touch: &Touch<'_>) {
        let bytes = u64::from(touch.bytes) * u64::from(touch.mask.count_ones());
        match (touch.space, touch.kind) {
            // One comparison excludes both kinds from the usual case.
            (Space::Shared | Space::Global, AccessKind::Atomic | AccessKind::Discard) => {
                self.neither_load_nor_store(touch);
            }
            (Space::Shared, _) => {
                let pairs = banks::pairs(touch);
                let (units, ideal) = banks::wavefronts(touch.addresses, touch.mask, touch.bytes, *touch.spread, pairs);
                let (units, ideal) = (u64::from(units), u64::from(ideal));
                self.tally(touch.site).shared.add(Memory { requests: 1, bytes, used: 0, units, ideal });
            }
            (Space::Global, _) => {
                let units = u64::from(sectors::sectors(touch.addresses, touch.mask, touch.bytes, *touch.spread));
                let used = sectors::different_bytes(touch.addresses, touch.mask, touch.bytes, *touch.spread);
                let ideal = used.div_ceil(32);
                self.tally(touch.site).global.add(Memory { requests: 1, bytes, used, units, ideal });
            }
            (Space::Local, _) => {
                let units = u64::from(sectors::local_sectors(touch.addresses, touch.mask, touch.bytes, *touch.spread));
                let (requests, ideal) = (u64::from(touch.bytes / 4).max(1), bytes.div_ceil(32));
                self.tally(touch.site).local.add(Memory { requests, bytes, used: 0, units, ideal });
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn bypass(&mut self, (): &mut (), past: &Bypass<'_>) {
        let (shown, taken) = super::bypassing_sectors_of(past);
        let units = &mut self.tally(past.site).global.units;
        *units = *units + u64::from(taken) - u64::from(shown);
    }

    fn barrier(&mut self, (): &mut (), _: u32, arrived: u32, _: u32) {
        self.barriers += u64::from(arrived.count_ones());
    }

    fn absorb(&mut self, other: Self) {
        self.barriers += other.barriers;
        for (function, tallies) in other.lists().into_iter().enumerate() {
            for (pc, theirs) in tallies.into_iter().enumerate() {
                let mine = self.tally(Site { function: function as u32, pc: pc as u32 });
                mine.came += theirs.came;
                mine.came_lanes += theirs.came_lanes;
                mine.off += theirs.off;
                mine.branches += theirs.branches;
                mine.divergent += theirs.divergent;
                mine.shared.add(theirs.shared);
                mine.global.add(theirs.global);
                mine.local.add(theirs.local);
                mine.atomics.addresses += theirs.atomics.addresses;
                mine.atomics.most = mine.atomics.most.max(theirs.atomics.most);
                for (sum, more) in mine.atomics.classes.iter_mut().zip(theirs.atomics.classes) {
                    *sum += more;
                }
            }
        }
    }
    fn end(&mut self, _: ()) {}

    fn fence(&mut self, _: &mut (), _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, _: &mut (), _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, _: &mut (), _: u32, _: u32) {}

    fn left_out(&mut self, _: &mut (), _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, _: &mut (), _: u32, _: u32) {}

    fn announce(&mut self, _: &mut (), _: &Touch<'_>) {}

    fn issue(&mut self, _: &mut (), _: &Range, _: Peek<'_>) {}

    fn range(&mut self, _: &mut (), _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, _: &mut (), _: &Boxed<'_>) {}

    fn factor(&mut self, _: &mut (), _: &Factor) {}

    fn release(&mut self, _: &mut (), _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, _: &mut (), _: u32, _: u32, _: Variable, _: Scope) {}
}
