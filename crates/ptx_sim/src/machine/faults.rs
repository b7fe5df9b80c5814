//! Construction of fault reports: each names the access, the thread, the nearest allocation and the source line.

use super::context::Context;
use super::history;
use super::position::Who;
use super::warp::{State, Warp};
use crate::lanes;
use crate::memory::address;
use crate::observe::{AccessKind, Site};
use crate::program::Space;
use crate::stop::{CALLED_HERE, Diagnostic, Place, Stop, StopKind, Triple};

/// An access that cannot be performed.
#[derive(Clone, Copy, Debug)]
pub struct BadAccess {
    pub who: Who,
    pub kind: AccessKind,
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
}

impl BadAccess {
    /// Returns the start of a title: what was accessed, and how.
    pub fn words(&self) -> String {
        let what = match self.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
            AccessKind::Discard => "discard",
        };
        format!("{} {what} of {} bytes at {:#x}", address::name(self.space), self.bytes, self.address)
    }
}

impl Context<'_> {
    /// Builds a stop at an instruction, attributed to one thread.
    #[cold]
    pub fn stop(&self, kind: StopKind, who: Who, diagnostic: Diagnostic) -> Stop {
        let thread = self.thread(self.block_id(who.block), who.warp, who.lane);
        let place = Place::of(self.program, who.site.function, who.site.pc);
        Stop::new(kind, Diagnostic { place: Some(place), thread: Some(thread), ..diagnostic }).by_lane(who.lane)
    }

    /// Builds a stop for a fault of the program.
    #[cold]
    pub fn fault(&self, who: Who, diagnostic: Diagnostic) -> Stop {
        self.stop(StopKind::Fault, who, diagnostic)
    }

    /// Adds the calls that led to a frame, innermost first: a panic is raised deep in Rust's library.
    #[cold]
    pub fn with_callers(&self, mut stop: Stop, warp: &Warp, frame: u32) -> Stop {
        let mut caller = warp.frames.get(frame as usize).and_then(|frame| frame.caller);
        while let Some((parent, pc)) = caller {
            let Some(frame) = warp.frames.get(parent as usize) else { break };
            stop.relate(CALLED_HERE, Place::of(self.program, frame.function, pc));
            caller = frame.caller;
        }
        stop
    }

    /// Builds the stop for an address that is not a multiple of the access's size.
    #[cold]
    pub fn misaligned(&self, bad: BadAccess) -> Stop {
        let title = format!("{} is misaligned: the address must be a multiple of {}", bad.words(), bad.bytes);
        self.fault(bad.who, Diagnostic::new("misaligned", title))
    }

    /// Builds the stop for an address in global or constant memory that is unallocated, or that does not permit the
    /// access.
    #[cold]
    pub fn bad_global(&self, bad: BadAccess) -> Stop {
        let memory = self.memory;
        let words = bad.words();
        let lies_in = address::space_of(bad.address);
        let (code, title) = if bad.address < address::NULL_PAGE {
            ("null-pointer", format!("{words} through a null pointer"))
        } else if lies_in != Space::Global && lies_in != bad.space {
            let name = address::name(lies_in);
            ("wrong-space", format!("{words}, but that address is in {name} memory"))
        } else if bad.space == Space::Const && bad.kind != AccessKind::Load {
            ("read-only", format!("{words}: constant memory cannot be written by a kernel"))
        } else if let Some(allocation) = memory.freed_at(bad.address) {
            ("use-after-free", format!("{words}, in `{}`, which was freed", allocation.name))
        } else {
            ("out-of-bounds", format!("{words} is out of bounds: {}", memory.describe(bad.address)))
        };
        let mut diagnostic = Diagnostic::new(code, title);
        if code == "use-after-free" {
            diagnostic.notes.push(format!("the address is {}", memory.describe(bad.address)));
        }
        if matches!(code, "use-after-free" | "out-of-bounds")
            && let Some(near) = memory.nearest(bad.address)
        {
            history::describe(self, &near, &mut diagnostic);
        }
        self.fault(bad.who, diagnostic)
    }

    /// Builds the stop for an address outside the block's shared memory.
    #[cold]
    pub fn bad_shared(&self, bad: BadAccess) -> Stop {
        let near = self.layout.describe(self.program, bad.address, self.shared_bytes);
        let title = format!("{} is out of bounds: {near}", bad.words());
        let mut diagnostic = Diagnostic::new("out-of-bounds", title);
        diagnostic.notes.push(format!("the block has {} bytes of shared memory", self.counted_shared()));
        self.fault(bad.who, diagnostic)
    }

    /// Builds the stop for an address outside the memory that `what` names.
    #[cold]
    pub fn bad_range(&self, bad: BadAccess, what: &str, end: u64) -> Stop {
        let title = format!("{} is out of bounds: {what} ends at {end:#x}", bad.words());
        self.fault(bad.who, Diagnostic::new("out-of-bounds", title))
    }

    /// Builds the stop for an access to the memory of a block that has ended.
    #[cold]
    pub fn ended(&self, who: Who, target: u64) -> Stop {
        let title = format!("access to the shared memory of block {}, which has ended", Triple(self.block_id(target)));
        let mut diagnostic = Diagnostic::new("block-ended", title);
        diagnostic.help = Some("keep the blocks of a cluster alive with a cluster barrier before they end".to_owned());
        self.fault(who, diagnostic)
    }

    /// Describes the positions of the lanes in a mask, for reports.
    pub fn whereabouts(&self, warp: &Warp, mask: u32) -> Vec<(String, Place)> {
        let place = |site: Site| Place::of(self.program, site.function, site.pc);
        let mut found = Vec::new();
        for split in warp.splits.iter().filter(|split| split.mask & mask != 0) {
            let what = match split.state {
                State::Ready => "running, here or after this place".to_owned(),
                State::Barrier { id } => format!("at barrier {id}"),
                State::ClusterBarrier => "at the cluster barrier".to_owned(),
                State::Warpgroup { .. } => "waiting for the other warps of its warpgroup".to_owned(),
                State::Collective { mask, .. } => format!("waiting for {}", lanes::describe(mask & warp.live)),
            };
            let who = lanes::describe(split.mask & mask);
            found.push((format!("{who} of warp {}: {what}", warp.index), place(warp.site(split))));
        }
        for join in warp.joins.iter().filter(|join| join.arrived & mask != 0) {
            let function = warp.frames[join.frame as usize].function;
            let who = lanes::describe(join.arrived & mask);
            let what = format!("{who} of warp {}: past the branch, at the reconvergence point", warp.index);
            found.push((what, place(Site { function, pc: join.pc })));
        }
        found
    }
}
