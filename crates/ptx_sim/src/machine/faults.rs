//! Construction of fault reports: each names the access, the thread, the nearest allocation and the source line.

use super::block::Block;
use super::history;
use super::in_flight::Who;
use super::warp::Warp;
use super::worker::Worker;
use crate::memory::address;
use crate::observe::{AccessKind, Blamed, Observer, Scene, Site};
use crate::program::Space;
use crate::stop::{CALLED_HERE, Diagnostic, Place, Stop, StopKind};

/// Position of execution: the instruction and the frame that executes it.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub site: Site,
    pub frame: u32,
}

/// An access that cannot be performed.
#[derive(Clone, Copy, Debug)]
pub struct BadAccess {
    pub kind: AccessKind,
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub lane: usize,
}

impl BadAccess {
    pub fn words(&self) -> String {
        let what = match self.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
        };
        format!("{} {what} of {} bytes at {:#x}", address::name(self.space), self.bytes, self.address)
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Builds a stop at an instruction, attributed to one lane.
    #[cold]
    pub fn stop(
        &self,
        kind: StopKind,
        block: &Block<O::Block>,
        warp: u32,
        lane: usize,
        site: Site,
        diagnostic: Diagnostic,
    ) -> Stop {
        let thread = self.context.thread(block.id, warp, lane);
        let place = Place::of(self.context.program, site.function, site.pc);
        Stop::new(kind, Diagnostic { place: Some(place), thread: Some(thread), ..diagnostic })
    }

    /// Adds the calls that led to a frame, innermost first: a panic is raised deep in Rust's library.
    #[cold]
    pub fn with_callers(&self, mut stop: Stop, warp: &Warp, frame: u32) -> Stop {
        let mut caller = warp.frames.get(frame as usize).and_then(|frame| frame.caller);
        while let Some((parent, pc)) = caller {
            let Some(frame) = warp.frames.get(parent as usize) else { break };
            stop.relate(CALLED_HERE, Place::of(self.context.program, frame.function, pc));
            caller = frame.caller;
        }
        stop
    }

    /// The shadow of undefined values, and the scene of an instruction.
    #[inline(always)]
    pub fn shadow<'s>(
        &'s mut self,
        block: &'s mut Block<O::Block>,
        warp: &'s mut Warp,
        site: Site,
    ) -> (&'s mut O::Shadow, Scene<'s>) {
        let scene = Scene {
            setting: &self.context.setting,
            snapshot: &mut self.snapshot,
            findings: &mut self.findings,
            block: block.id,
            warp: warp.index,
            site,
            states: &mut block.states,
            local: &mut warp.states,
        };
        (self.observer.shadow(), scene)
    }

    /// Builds a stop for a fault of the program.
    #[cold]
    pub fn fault(
        &self,
        block: &Block<O::Block>,
        warp: u32,
        lane: usize,
        site: Site,
        code: &'static str,
        title: impl Into<String>,
    ) -> Stop {
        self.stop(StopKind::Fault, block, warp, lane, site, Diagnostic::new(code, title))
    }

    /// Builds the stop for an address that is not a multiple of the access's size.
    #[cold]
    pub fn misaligned(&self, block: &Block<O::Block>, warp: u32, site: Site, bad: BadAccess) -> Stop {
        let title = format!("{} is misaligned: the address must be a multiple of {}", bad.words(), bad.bytes);
        self.fault(block, warp, bad.lane, site, "misaligned", title)
    }

    /// Builds the stop for an address in global or constant memory that is unallocated, or that does not permit the
    /// access.
    #[cold]
    pub fn bad_global(&self, block: &Block<O::Block>, warp: u32, site: Site, bad: BadAccess) -> Stop {
        let memory = self.context.memory;
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
            history::tell(self.context, &near, &mut diagnostic);
        }
        self.stop(StopKind::Fault, block, warp, bad.lane, site, diagnostic)
    }

    /// Builds the stop for an address outside the block's shared memory.
    #[cold]
    pub fn bad_shared(&self, block: &Block<O::Block>, warp: u32, site: Site, bad: BadAccess) -> Stop {
        let near = self.context.layout.describe(self.context.program, bad.address, self.context.shared_bytes);
        let title = format!("{} is out of bounds: {near}", bad.words());
        let mut diagnostic = Diagnostic::new("out-of-bounds", title);
        diagnostic.notes.push(format!("the block has {} bytes of shared memory", self.context.shared_bytes));
        self.stop(StopKind::Fault, block, warp, bad.lane, site, diagnostic)
    }

    /// Builds the stop for an address outside the memory that `what` names.
    #[cold]
    pub fn bad_range(
        &self,
        block: &Block<O::Block>,
        warp: u32,
        site: Site,
        bad: BadAccess,
        what: &str,
        end: u64,
    ) -> Stop {
        let title = format!("{} is out of bounds: {what} ends at {end:#x}", bad.words());
        self.fault(block, warp, bad.lane, site, "out-of-bounds", title)
    }

    /// Records a finding, which does not end the run. One is kept per instruction, with the text of the first block
    /// that had it.
    #[cold]
    pub fn finding(
        &mut self,
        block: &Block<O::Block>,
        warp: u32,
        lane: usize,
        site: Site,
        code: &'static str,
        describe: impl FnOnce() -> Diagnostic,
    ) {
        self.findings.add(&self.context.setting, Blamed { block: block.id, warp, lane, site }, code, describe);
    }

    /// Builds the stop for an access to the memory of a block that has ended.
    #[cold]
    pub fn ended(&self, who: Who, target: u64) -> Stop {
        let target = crate::stop::Triple(self.context.block_id(target));
        let title = format!("access to the shared memory of block {target}, which has ended");
        let mut diagnostic = Diagnostic::new("block-ended", title);
        diagnostic.help = Some("keep the blocks of a cluster alive with a cluster barrier before they end".to_owned());
        self.stop_of(who, diagnostic)
    }

    /// Builds a stop attributed to a thread of any block.
    #[cold]
    pub fn stop_of(&self, who: Who, diagnostic: Diagnostic) -> Stop {
        let context = self.context;
        let thread = context.thread(context.block_id(who.block), who.warp, who.lane);
        let place = Place::of(context.program, who.site.function, who.site.pc);
        Stop::new(StopKind::Fault, Diagnostic { place: Some(place), thread: Some(thread), ..diagnostic })
    }
}
