//! Control flow: branches, returns, exits and traps; and stack allocation.

use super::context::Context;
use super::step::Step;
use super::warp::Split;
use super::{afford, asynchronous, barriers, calls, collectives, discard, matrix, warpgroup};
use crate::isa::special::Special;
use crate::lanes;
use crate::observe::{Observer, Shadow, Site};
use crate::program::flow::NOWHERE;
use crate::program::{Async, Function, Inst, Op, Preset};
use crate::stop::{Diagnostic, Stop, StopKind};

/// Executes a control instruction. Returns the split that continues if the warp stays together.
///
/// # Errors
/// A stop if the instruction faults or ends the kernel.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, mut split: Split, inst: &Inst) -> Result<Option<Split>, Stop> {
    let rest = split.mask & !step.mask;
    match &inst.op {
        Op::Branch { target } => {
            let meeting = meeting(step.context(), step.at.site);
            step.warp.part(split, meeting, [(split.pc + 1, rest), (*target, step.mask)].into_iter());
            return Ok(None);
        }
        Op::BranchIndexed { index, targets } => {
            branch_indexed(step, split, *index, targets)?;
            return Ok(None);
        }
        Op::Trap => {
            let opcode = step.context().program.opcodes.get(inst.opcode as usize);
            let opcode = opcode.map_or("trap", String::as_str);
            let title = format!("the kernel executed `{opcode}`: a panic, or code that should be unreachable");
            let mut diagnostic = Diagnostic::new("trap", title);
            if step.context().workspace == 0 && reads_workspace(&step.context().program.functions, step.at.site) {
                diagnostic.notes.push("the launch is not cooperative, so `grid.sync()` traps".to_owned());
                diagnostic.help = Some(
                    "launch cooperatively: `cudaLaunchCooperativeKernel`, or `--cooperative` on the command line"
                        .to_owned(),
                );
            }
            return Err(step.context().fault(step.who(lanes::first(step.mask)), diagnostic));
        }
        Op::Unsupported(what) => {
            let mut diagnostic = Diagnostic::new("unsupported", what.clone());
            diagnostic.help = Some(
                "the program may be correct: the simulator does not support this \
                instruction"
                    .to_owned(),
            );
            let who = step.who(lanes::first(step.mask));
            return Err(step.context().stop(StopKind::Unsupported, who, diagnostic));
        }
        // Lanes whose guard is false continue with the others: among these instructions only the cluster barrier
        // waits.
        Op::Async(op) if !matches!(**op, Async::ClusterWait { .. }) => {
            let next = asynchronous::execute(step, Split { mask: step.mask, ..split }, op)?;
            return Ok(next.map(|next| Split { mask: split.mask, ..next }));
        }
        // Lanes whose guard is false continue with the others.
        Op::Discard { address, bytes } => {
            discard::execute(step, address, *bytes)?;
            return Ok(Some(Split { pc: split.pc + 1, ..split }));
        }
        Op::Exit | Op::Return => {
            if rest != 0 {
                step.warp.splits.push(Split { pc: split.pc + 1, mask: rest, ..split });
            }
            match inst.op {
                Op::Exit => calls::exit(step.worker, step.warp, &split, step.mask),
                _ => calls::leave(step.worker, step.warp, &split, step.mask),
            }
            return Ok(None);
        }
        _ => {}
    }
    // The remaining instructions may block their lanes: lanes whose guard is false move to the next instruction and
    // wait there.
    if rest != 0 {
        let join = step.warp.open_join(split.frame, split.pc + 1, split.join, split.mask);
        step.warp.arrive(join, rest);
        split = Split { mask: step.mask, join, ..split };
    }
    match &inst.op {
        Op::Barrier { .. } => barriers::execute(step, split).map(|()| None),
        Op::Collective { .. } => collectives::execute(step, split).map(|()| None),
        Op::Matrix(_) => {
            matrix::wait(step, split)?;
            collectives::meet_parked(step.worker, step.block, step.warp).map(|_| None)
        }
        Op::Warpgroup(op) if split.mask == u32::MAX => warpgroup::execute(step, split, op),
        Op::Warpgroup(_) => {
            matrix::wait(step, split)?;
            collectives::meet_parked(step.worker, step.block, step.warp).map(|_| None)
        }
        Op::Call { .. } => calls::execute(step, split),
        Op::Async(op) => asynchronous::execute(step, split, op),
        _ => Ok(Some(Split { pc: split.pc + 1, ..split })),
    }
}

/// Whether the function of an instruction reads the address of the workspace of a cooperative launch.
fn reads_workspace(functions: &[Function], site: Site) -> bool {
    let reads = |preset: &Preset| {
        let special = match preset {
            Preset::Special32(_, special) | Preset::Special64(_, special) => *special,
            _ => return false,
        };
        matches!(special, Special::Envreg(1 | 2))
    };
    functions.get(site.function as usize).is_some_and(|function| function.preset.iter().any(reads))
}

fn meeting(context: &Context<'_>, site: Site) -> Option<u32> {
    let meeting = context.flows[site.function as usize].meeting[site.pc as usize];
    (meeting != NOWHERE).then_some(meeting)
}

fn branch_indexed<O: Observer>(
    step: &mut Step<'_, '_, O>,
    split: Split,
    index: u32,
    targets: &[u32],
) -> Result<(), Stop> {
    let row = step.warp.frames[split.frame as usize].registers.w32[index as usize];
    let wild = lanes::select(step.mask, |lane| row[lane] as usize >= targets.len());
    if wild != 0 {
        let lane = lanes::first(wild);
        let title = format!("branch index {} is not one of the {} targets", row[lane], targets.len());
        return Err(step.fault(lane, "branch-index", title));
    }
    let mut groups: Vec<(u32, u32)> = Vec::new();
    let rest = split.mask & !step.mask;
    if rest != 0 {
        groups.push((split.pc + 1, rest));
    }
    lanes::each(step.mask, |lane| {
        let target = targets[row[lane] as usize];
        match groups.iter_mut().find(|(pc, _)| *pc == target) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => groups.push((target, 1 << lane)),
        }
    });
    step.worker.observer.branch(step.at.site, groups.len() > 1);
    match groups.as_slice() {
        [(pc, lanes)] => step.warp.splits.push(Split { pc: *pc, mask: *lanes, ..split }),
        _ => step.warp.part(split, meeting(step.context(), step.at.site), groups.into_iter()),
    }
    Ok(())
}

/// Allocates stack memory for `alloca`.
///
/// # Errors
/// A stop if the instruction faults or ends the kernel.
pub fn grow_stack<O: Observer>(step: &mut Step<'_, '_, O>, bytes: u64, align: u64) -> Result<u64, Stop> {
    let limit = step.context().setup.profile.stack_bytes;
    let start = step.warp.frames[step.at.frame as usize].top.next_multiple_of(align.clamp(1, 1 << 20));
    let top = start.saturating_add(bytes);
    if top - step.warp.frames[step.at.frame as usize].added > limit {
        let title = format!("the stack of {limit} bytes per thread has no room for {bytes} more bytes");
        return Err(step.fault(lanes::first(step.mask), "stack-overflow", title));
    }
    let frame = &mut step.warp.frames[step.at.frame as usize];
    frame.top = top;
    let function = frame.function;
    if !afford::affords_frame(step.worker, step.warp, function, top) {
        let title = format!("no host memory for {bytes} more bytes of stack: see `Config::host_bytes`");
        return Err(step.fault(lanes::first(step.mask), "out-of-memory", title));
    }
    afford::reserve_stack(step.context(), step.warp, top.next_multiple_of(8));
    if O::Shadow::ON {
        step.worker.observer.shadow().fresh_stack(&mut step.warp.states, start, top, step.mask);
    }
    Ok(start)
}
