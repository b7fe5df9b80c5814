//! Control flow: branches, returns, exits and traps; and stack allocation.

use super::block::Block;
use super::faults::At;
use super::frame::Frame;
use super::warp::{Split, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Shadow, Site};
use crate::program::flow::NOWHERE;
use crate::program::{Async, Inst, Op};
use crate::stop::{Diagnostic, Stop, StopKind};

impl<O: Observer> Worker<'_, O> {
    /// Executes a control instruction. Returns the split that continues if the warp stays together.
    ///
    /// # Errors
    /// A stop if the instruction faults or ends the kernel.
    pub fn control(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        mut split: Split,
        inst: &Inst,
        mask: u32,
        site: Site,
    ) -> Result<Option<Split>, Stop> {
        let rest = split.mask & !mask;
        match &inst.op {
            Op::Branch { target } => {
                let meeting = self.meeting(site);
                warp.part(split, meeting, [(split.pc + 1, rest), (*target, mask)].into_iter());
                return Ok(None);
            }
            Op::BranchIndexed { index, targets } => {
                self.branch_indexed(block, warp, split, *index, targets, mask, site)?;
                return Ok(None);
            }
            Op::Trap => {
                let opcode = self.context.program.opcodes.get(inst.opcode as usize);
                let opcode = opcode.map_or("trap", String::as_str);
                let title = format!("the kernel executed `{opcode}`: a panic, or code that should be unreachable");
                return Err(self.fault(block, warp.index, lanes::first(mask), site, "trap", title));
            }
            Op::Unsupported(what) => {
                let mut diagnostic = Diagnostic::new("unsupported", what.clone());
                diagnostic.help = Some(
                    "the program may be correct: the simulator does not support this \
                    instruction"
                        .to_owned(),
                );
                let stop = self.stop(StopKind::Unsupported, block, warp.index, lanes::first(mask), site, diagnostic);
                return Err(stop);
            }
            // Lanes whose guard is false continue with the others: among these instructions only the cluster barrier
            // waits.
            Op::Async(op) if !matches!(**op, Async::ClusterWait { .. }) => {
                let next = self.asynchronous(block, warp, Split { mask, ..split }, op, site)?;
                return Ok(next.map(|next| Split { mask: split.mask, ..next }));
            }
            Op::Exit | Op::Return => {
                if rest != 0 {
                    warp.splits.push(Split { pc: split.pc + 1, mask: rest, ..split });
                }
                match inst.op {
                    Op::Exit => self.exit(warp, &split, mask),
                    _ => self.leave_function(warp, &split, mask),
                }
                return Ok(None);
            }
            _ => {}
        }
        // The remaining instructions may block their lanes: lanes whose guard is false move to the next instruction and
        // wait there.
        if rest != 0 {
            let join = warp.open_join(split.frame, split.pc + 1, split.join, split.mask);
            warp.arrive(join, rest);
            split = Split { mask, join, ..split };
        }
        match &inst.op {
            Op::Barrier { .. } => self.barrier(block, warp, split, site).map(|()| None),
            Op::Collective { .. } => self.collective(block, warp, split, site).map(|()| None),
            Op::Matrix(_) => self.matrix_waits(block, warp, split, site).map(|()| None),
            Op::Call { .. } => self.call(block, warp, split, site),
            Op::Async(op) => self.asynchronous(block, warp, split, op, site),
            _ => Ok(Some(Split { pc: split.pc + 1, ..split })),
        }
    }

    fn meeting(&self, site: Site) -> Option<u32> {
        let meeting = self.context.flows[site.function as usize].meeting[site.pc as usize];
        (meeting != NOWHERE).then_some(meeting)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn branch_indexed(
        &mut self,
        block: &Block<O::Block>,
        warp: &mut Warp,
        split: Split,
        index: u32,
        targets: &[u32],
        mask: u32,
        site: Site,
    ) -> Result<(), Stop> {
        let row = warp.frames[split.frame as usize].registers.w32[index as usize];
        let wild = lanes::select(mask, |lane| row[lane] as usize >= targets.len());
        if wild != 0 {
            let lane = lanes::first(wild);
            let title = format!("branch index {} is not one of the {} targets", row[lane], targets.len());
            return Err(self.fault(block, warp.index, lane, site, "branch-index", title));
        }
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let rest = split.mask & !mask;
        if rest != 0 {
            groups.push((split.pc + 1, rest));
        }
        lanes::each(mask, |lane| {
            let target = targets[row[lane] as usize];
            match groups.iter_mut().find(|(pc, _)| *pc == target) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((target, 1 << lane)),
            }
        });
        self.observer.branch(site, groups.len() > 1);
        match groups.as_slice() {
            [(pc, lanes)] => warp.splits.push(Split { pc: *pc, mask: *lanes, ..split }),
            _ => warp.part(split, self.meeting(site), groups.into_iter()),
        }
        Ok(())
    }

    /// Ends lanes: joins and frames no longer wait for them.
    pub fn exit(&mut self, warp: &mut Warp, split: &Split, mask: u32) {
        let pool = self.pool();
        warp.exit(split, mask, |frame: &mut Frame| Self::recycle(pool, frame));
    }

    /// Allocates stack memory for `alloca`.
    ///
    /// # Errors
    /// A stop if the instruction faults or ends the kernel.
    pub fn grow_stack(
        &mut self,
        block: &Block<O::Block>,
        warp: &mut Warp,
        bytes: u64,
        align: u64,
        mask: u32,
        at: At,
    ) -> Result<u64, Stop> {
        let limit = self.context.setup.profile.stack_bytes;
        let frame = &mut warp.frames[at.frame as usize];
        let start = frame.top.next_multiple_of(align.clamp(1, 1 << 20));
        let top = start.saturating_add(bytes);
        if top > limit {
            let title = format!("the stack of {limit} bytes per thread has no room for {bytes} more bytes");
            return Err(self.fault(block, warp.index, lanes::first(mask), at.site, "stack-overflow", title));
        }
        frame.top = top;
        let function = frame.function;
        if !self.affords_frame(warp, function, top) {
            let title = format!("no host memory for {bytes} more bytes of stack: see `Config::host_bytes`");
            return Err(self.fault(block, warp.index, lanes::first(mask), at.site, "out-of-memory", title));
        }
        self.reserve_stack(warp, top.next_multiple_of(8));
        if O::Shadow::ON {
            self.observer.shadow().fresh_stack(&mut warp.states, start, top, mask);
        }
        Ok(start)
    }
}
