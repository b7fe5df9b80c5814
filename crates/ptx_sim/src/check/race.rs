//! Data races on shared memory.
//!
//! Two accesses to the same byte race when they come from different threads, at least one writes, at least one is an
//! ordinary one (not atomic, volatile or otherwise strong), and nothing orders them. Order comes from block barriers and from
//! `*.sync` instructions among the lanes they name; that lanes of a warp run in lock step here orders nothing. For every
//! aligned word the last writer and the readers since then of two warps are remembered, each with its warp's count of
//! synchronisations at that time.
//!
//! What it misses: order through flags and fences is not seen, and since that would be a false alarm only for ordinary
//! accesses guarded by a lock, such code is reported; a third warp's read is forgotten when a fourth one comes; of two
//! writes to different bytes of a word the earlier is forgotten; accesses between `barrier.arrive` and the completion of
//! that barrier count as before it; `shfl`, `vote` and their like count as ordering memory, which PTX does not promise; and
//! only what this run's inputs make the program do is seen.

use crate::machine::Layout;
use crate::machine::lanes::each;
use crate::observe::{AccessKind, BlockShape, Observer, Site, Touch};
use crate::program::{Order, Program, Space};
use crate::stop::{Diagnostic, Finding, Place, Thread, Triple, block_order};
use std::collections::HashMap;

/// Which access came second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Hazard {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
}

/// Where something last happened to a word. Events count from 1 and go on from block to block, so that a recycled cell of an
/// ended block is recognised by its age.
#[derive(Clone, Copy, Debug, Default)]
struct Write {
    event: u32,
    site: (u32, u32),
    value: u32,
    warp: u8,
    lane: u8,
    /// Bit per byte.
    bytes: u8,
    strong: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Read {
    event: u32,
    site: (u32, u32),
    lanes: u32,
    warp: u8,
    bytes: u8,
    strong: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Write,
    /// The latest, and the latest of another warp.
    reads: [Read; 2],
}

/// What a warp has synchronised with.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// Counts synchronisations.
    event: u32,
    /// Accesses of the warp before this event are ordered before all its lanes.
    whole: u32,
    /// `pairs[b][a]`: the same for lane `a` before lane `b`; made by the first `*.sync` of a part of the warp.
    pairs: Option<Box<[[u32; 32]; 32]>>,
    /// By warp: accesses before this event are ordered before this warp.
    known: [u32; 32],
}

/// One block's shadow memory.
#[derive(Debug)]
pub(crate) struct Shadow {
    block: [u32; 3],
    threads: [u32; 3],
    /// Events of earlier blocks are below this.
    base: u32,
    cells: Vec<Cell>,
    clocks: Vec<Clock>,
}

/// One pair of instructions that race.
#[derive(Clone, Debug)]
struct Seen {
    block: [u32; 3],
    threads: ([u32; 3], [u32; 3]),
    address: u64,
    /// All write-after-write pairs wrote the same value.
    same_value: bool,
    count: u64,
}

/// The checker of one worker.
#[derive(Debug, Default)]
pub(crate) struct Race {
    /// By earlier and later instruction.
    seen: HashMap<(Site, Site, Hazard), Seen>,
    /// Shadows of ended blocks, with the first event that a next user may count from.
    spare: Vec<(Vec<Cell>, u32)>,
}

/// The access that is being checked.
struct Now {
    site: Site,
    warp: u8,
    lane: u8,
    address: u64,
    bytes: u8,
    strong: bool,
    value: u32,
}

impl Observer for Race {
    type Block = Shadow;

    fn begin(&mut self, shape: &BlockShape) -> Shadow {
        let (mut cells, base) = self.spare.pop().unwrap_or((Vec::new(), 1));
        cells.resize(shape.shared_bytes.div_ceil(4) as usize, Cell::default());
        let clock = Clock { event: base, whole: base, pairs: None, known: [base; 32] };
        let clocks = vec![clock; shape.warps as usize];
        Shadow { block: shape.block, threads: shape.threads, base, cells, clocks }
    }

    fn end(&mut self, block: Shadow) {
        let next = block.clocks.iter().map(|clock| clock.event).max().unwrap_or(block.base) + 1;
        // Long before the counter could wrap, start over with clean cells.
        let spare = if next > u32::MAX / 2 { (Vec::new(), 1) } else { (block.cells, next) };
        self.spare.push(spare);
    }

    fn touch(&mut self, block: &mut Shadow, touch: &Touch<'_>) {
        if touch.space != Space::Shared {
            return;
        }
        let strong = touch.kind == AccessKind::Atomic || touch.order != Order::Weak;
        let words = touch.bytes.div_ceil(4);
        each(touch.mask, |lane| {
            let values = touch.peek.stored(lane).unwrap_or_default();
            for word in 0..words {
                let address = touch.addresses[lane] + u64::from(word) * 4;
                let in_word = (address & 3) as u32;
                let bytes = if touch.bytes >= 4 { 0xf } else { ((1 << touch.bytes) - 1) << in_word };
                let value = values.get(word as usize).map_or(0, |value| value << (in_word * 8));
                let (site, warp, lane) = (touch.site, touch.warp as u8, lane as u8);
                let now = Now { site, warp, lane, address, bytes, strong, value };
                match touch.kind {
                    AccessKind::Load => self.read(block, &now),
                    AccessKind::Store => self.write(block, &now, true),
                    AccessKind::Atomic => self.write(block, &now, false),
                }
            }
        });
    }

    fn meet(&mut self, block: &mut Shadow, warp: u32, mask: u32, live: u32) {
        let clock = &mut block.clocks[warp as usize];
        clock.event += 1;
        if mask == live {
            clock.whole = clock.event;
            return;
        }
        let pairs = clock.pairs.get_or_insert_default();
        let mut joined = [0; 32];
        each(mask, |lane| {
            for (joined, known) in joined.iter_mut().zip(&pairs[lane]) {
                *joined = (*joined).max(*known);
            }
        });
        each(mask, |lane| joined[lane] = clock.event);
        each(mask, |lane| pairs[lane] = joined);
    }

    fn barrier(&mut self, block: &mut Shadow, _: u32, arrived: u32, waited: u32) {
        let mut joined = [0; 32];
        let warps = block.clocks.len();
        each(arrived & u32::MAX >> (32 - warps), |warp| {
            let clock = &mut block.clocks[warp];
            clock.event += 1;
            for (joined, known) in joined.iter_mut().zip(&clock.known) {
                *joined = (*joined).max(*known);
            }
            joined[warp] = joined[warp].max(clock.event);
        });
        each(waited & u32::MAX >> (32 - warps), |warp| {
            let clock = &mut block.clocks[warp];
            clock.whole = clock.event;
            for (known, joined) in clock.known.iter_mut().zip(&joined) {
                *known = (*known).max(*joined);
            }
        });
    }

    fn absorb(&mut self, other: Self) {
        for (key, theirs) in other.seen {
            match self.seen.get_mut(&key) {
                None => drop(self.seen.insert(key, theirs)),
                Some(mine) => {
                    let (count, same_value) = (mine.count + theirs.count, mine.same_value && theirs.same_value);
                    if block_order(theirs.block) < block_order(mine.block) {
                        *mine = theirs;
                    }
                    (mine.count, mine.same_value) = (count, same_value);
                }
            }
        }
    }
}

impl Shadow {
    /// Is an access of (warp, lane) at `event` ordered before what (to_warp, to_lane) does now?
    #[inline]
    fn ordered(&self, event: u32, warp: u8, lane: u8, now: &Now) -> bool {
        let clock = &self.clocks[usize::from(now.warp)];
        if warp != now.warp {
            return event < clock.known[usize::from(warp)];
        }
        let pairs = || clock.pairs.as_ref().map_or(0, |pairs| pairs[usize::from(now.lane)][usize::from(lane)]);
        lane == now.lane || event < clock.whole || event < pairs()
    }

    fn event(&self, warp: u8) -> u32 {
        self.clocks[usize::from(warp)].event
    }
}

impl Race {
    #[inline]
    fn read(&mut self, block: &mut Shadow, now: &Now) {
        let at = (now.address >> 2) as usize;
        let Some(&Cell { write, reads: [latest, _] }) = block.cells.get(at) else { return };
        self.against_write(block, &write, now, Hazard::ReadAfterWrite);
        let event = block.event(now.warp);
        let site = (now.site.function, now.site.pc);
        let read = Read { event, site, lanes: 1 << now.lane, warp: now.warp, bytes: now.bytes, strong: now.strong };
        let [newest, older] = &mut block.cells[at].reads;
        if latest.warp == now.warp && latest.event == event {
            newest.lanes |= read.lanes;
            newest.bytes |= read.bytes;
            newest.strong &= read.strong;
        } else {
            if latest.warp != now.warp {
                *older = latest;
            }
            *newest = read;
        }
    }

    #[inline]
    fn write(&mut self, block: &mut Shadow, now: &Now, plain_value: bool) {
        let at = (now.address >> 2) as usize;
        let Some(&Cell { write, reads }) = block.cells.get(at) else { return };
        self.against_write(block, &write, now, Hazard::WriteAfterWrite);
        for read in &reads {
            self.against_reads(block, read, now);
        }
        let event = block.event(now.warp);
        let site = (now.site.function, now.site.pc);
        let cell = &mut block.cells[at];
        cell.write = Write {
            event,
            site,
            value: if plain_value { now.value } else { 0 },
            warp: now.warp,
            lane: now.lane,
            bytes: now.bytes,
            strong: now.strong,
        };
        if now.bytes == 0xf {
            cell.reads = Default::default();
        }
    }

    #[inline]
    fn against_write(&mut self, block: &Shadow, write: &Write, now: &Now, hazard: Hazard) {
        let apart = write.event < block.base || write.bytes & now.bytes == 0 || (write.strong && now.strong);
        if apart || block.ordered(write.event, write.warp, write.lane, now) {
            return;
        }
        let mut overlap = 0;
        for byte in (0..4).filter(|byte| (write.bytes & now.bytes) >> byte & 1 != 0) {
            overlap |= 0xff << (byte * 8);
        }
        let same = hazard == Hazard::WriteAfterWrite && (write.value ^ now.value) & overlap == 0;
        self.report(block, write.site, (write.warp, write.lane), now, hazard, same);
    }

    #[inline]
    fn against_reads(&mut self, block: &Shadow, read: &Read, now: &Now) {
        let apart = read.event < block.base || read.bytes & now.bytes == 0 || (read.strong && now.strong);
        if apart {
            return;
        }
        let mut rest = read.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            if !block.ordered(read.event, read.warp, lane, now) {
                self.report(block, read.site, (read.warp, lane), now, Hazard::WriteAfterRead, false);
                return;
            }
        }
    }

    #[cold]
    fn report(
        &mut self,
        block: &Shadow,
        earlier: (u32, u32),
        (warp, lane): (u8, u8),
        now: &Now,
        hazard: Hazard,
        same_value: bool,
    ) {
        let thread = |warp: u8, lane: u8| {
            let linear = u32::from(warp) * 32 + u32::from(lane);
            let [x, y, _] = block.threads;
            [linear % x, linear / x % y, linear / x / y]
        };
        let new = || Seen {
            block: block.block,
            threads: (thread(warp, lane), thread(now.warp, now.lane)),
            address: now.address,
            same_value,
            count: 0,
        };
        let key = (Site { function: earlier.0, pc: earlier.1 }, now.site, hazard);
        let seen = self.seen.entry(key).or_insert_with(new);
        if block_order(block.block) < block_order(seen.block) {
            *seen = Seen { count: seen.count, same_value: seen.same_value, ..new() };
        }
        seen.count += 1;
        seen.same_value &= same_value;
    }

    /// The findings, by place.
    pub fn finish(self, program: &Program, layout: &Layout, shared_bytes: u64) -> Vec<Finding> {
        let mut seen: Vec<_> = self.seen.into_iter().collect();
        seen.sort_by_key(|(key, _)| *key);
        seen.into_iter().map(|(key, seen)| finding(program, layout, shared_bytes, key, &seen)).collect()
    }
}

fn finding(
    program: &Program,
    layout: &Layout,
    shared_bytes: u64,
    (earlier, later, hazard): (Site, Site, Hazard),
    seen: &Seen,
) -> Finding {
    let (code, first, both, between) = match hazard {
        Hazard::ReadAfterWrite => ("race-raw", "write", "a write and a read", "the write from the read"),
        Hazard::WriteAfterRead => ("race-war", "read", "a read and a write", "the read from the write"),
        Hazard::WriteAfterWrite => ("race-waw", "write", "two writes", "the two writes"),
    };
    let place = |site: Site| Place::of(program, site.function, site.pc);
    let at = layout.describe(program, seen.address & !3, shared_bytes);
    let title = format!("data race on shared memory: {both} that nothing orders, {at}");
    let mut diagnostic = Diagnostic::new(code, title);
    diagnostic.place = Some(place(later));
    diagnostic.thread = Some(Thread { block: seen.block, thread: seen.threads.1 });
    diagnostic.related.push((format!("the earlier {first}, by thread {}:", Triple(seen.threads.0)), place(earlier)));
    if seen.same_value {
        diagnostic.notes.push("every time, both wrote the same value".to_owned());
    }
    diagnostic.help = Some(format!("separate {between} by a barrier that all threads reach"));
    Finding { diagnostic, count: seen.count }
}
