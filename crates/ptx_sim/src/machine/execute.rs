//! The loop over instructions.

use super::block::Block;
use super::load_store::Carried;
use super::position::At;
use super::step::Step;
use super::warp::{Split, Warp};
use super::wide_atomics;
use super::worker::Worker;
use super::{atomics, barriers, calls, collectives, control, keep_going, matrix, texture, warpgroup};
use crate::lanes;
use crate::level::{Host, Task};
use crate::memory::address;
use crate::observe::{Observer, Shadow, Site};
use crate::program::{BarrierKind, Op, Order, Space};
use crate::registers::Registers;
use crate::stop::Stop;

/// Reason why a split left the loop.
enum Left {
    /// It reached its join.
    Joined,
    /// The slice is used up.
    Fuel,
    /// It reached an instruction at which another split is.
    Meets,
    /// The whole warp arrived together at this barrier, which waits for all warps: the usual case.
    Barrier(u32),
    /// An instruction for the whole warp, or a control instruction, with the lanes whose guard holds.
    Control(u32),
    /// It reached the end of the code.
    End,
}

/// The hot loop and the state that it works on.
struct Straight<'w, 'c, O: Observer> {
    worker: &'w mut Worker<'c, O>,
    block: &'w mut Block<O::Block>,
    warp: &'w mut Warp,
    split: &'w mut Split,
    registers: &'w mut Registers,
    fuel: &'w mut u64,
}

impl<O: Observer> Task for Straight<'_, '_, O> {
    type Output = Result<Left, Stop>;
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) -> Self::Output {
        let Self { worker, block, warp, split, registers, fuel } = self;
        worker.straight(host, block, warp, split, registers, fuel)
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Runs one split until it ends, waits or diverges, or the slice is used up (`true`).
    pub fn run_split(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        mut split: Split,
        fuel: &mut u64,
    ) -> Result<bool, Stop> {
        let program = self.context.program;
        let function = warp.frames[split.frame as usize].function;
        let code = program.functions[function as usize].code.as_slice();
        loop {
            // The registers are taken out, so that instructions can modify registers and the warp independently.
            let mut registers = std::mem::take(&mut warp.frames[split.frame as usize].registers);
            let before = *fuel;
            let level = self.context.setup.level;
            let left = level.perform(&mut Straight {
                worker: self,
                block,
                warp,
                split: &mut split,
                registers: &mut registers,
                fuel,
            });
            self.clock += before - *fuel;
            warp.frames[split.frame as usize].registers = registers;
            let frame = split.frame;
            match left.map_err(|stop| self.context.with_callers(stop, warp, frame))? {
                Left::Joined => {
                    warp.arrive(split.join, split.mask);
                    return Ok(false);
                }
                Left::Meets => warp.absorb(&mut split),
                Left::Fuel => {
                    warp.splits.push(split);
                    return Ok(true);
                }
                Left::End => {
                    calls::leave(self, warp, &split, split.mask);
                    return Ok(false);
                }
                Left::Barrier(id) => {
                    barriers::wait(self, block, warp, split, id);
                    return Ok(false);
                }
                Left::Control(mask) => {
                    let at = At { site: Site { function, pc: split.pc }, frame };
                    let step = &mut Step { worker: &mut *self, block: &mut *block, warp: &mut *warp, mask, at };
                    let next = control::execute(step, split, &code[split.pc as usize]);
                    match next.map_err(|stop| self.context.with_callers(stop, warp, frame))? {
                        Some(next) => split = next,
                        None => return Ok(false),
                    }
                    if std::mem::take(&mut self.pause) {
                        *fuel = 0;
                    }
                }
            }
        }
    }

    /// The hot loop: all instructions that keep the lanes together. What it changes are arguments and not the parts of
    /// one value, so that it stays in registers of the host.
    #[inline(always)]
    fn straight<H: Host>(
        &mut self,
        host: H,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: &mut Split,
        registers: &mut Registers,
        fuel: &mut u64,
    ) -> Result<Left, Stop> {
        let (frame, active) = (split.frame, split.mask);
        let function = warp.frames[frame as usize].function;
        let code = self.context.program.functions[function as usize].code.as_slice();
        let join_pc = warp.join_pc(split);
        let mut pc = split.pc;
        // Start of the current run of consecutive instructions.
        let mut first = pc;
        let started = self.clock + *fuel;
        let site = |pc: u32| Site { function, pc };
        let flow = &self.context.flows[function as usize];
        let left = loop {
            if pc == join_pc {
                break Left::Joined;
            }
            if *fuel == 0 {
                break Left::Fuel;
            }
            let Some(inst) = code.get(pc as usize) else { break Left::End };
            let plain = flow.plain[pc as usize];
            if plain != 0 {
                let end = pc + plain.min(u32::try_from(*fuel).unwrap_or(u32::MAX));
                *fuel -= u64::from(end - pc);
                for inst in &code[pc as usize..end as usize] {
                    if O::Shadow::ON && !self.observer.shadow().passes(site(pc), registers, active, active) {
                        let (shadow, mut scene) = self.shadow(block, warp, site(pc));
                        shadow.inspect(&mut scene, registers, inst, active, active);
                    }
                    if let Op::Pure(pure, args) = &inst.op {
                        host.run(pure, registers, active, args);
                    }
                    pc += 1;
                }
                continue;
            }
            *fuel -= 1;
            let mask = match inst.guard {
                None => active,
                Some(guard) => {
                    let lanes = registers.pred[guard.pred as usize];
                    let mask = active & if guard.negated { !lanes } else { lanes };
                    if mask != active {
                        self.observer.guarded(Site { function, pc }, active & !mask);
                    }
                    mask
                }
            };
            if O::Shadow::ON && !self.observer.shadow().passes(site(pc), registers, active, mask) {
                let (shadow, mut scene) = self.shadow(block, warp, site(pc));
                shadow.inspect(&mut scene, registers, inst, active, mask);
            }
            // The step of an instruction exists only while the instruction is executed: the loop's values stay in
            // registers of the host.
            macro_rules! step {
                ($mask:expr) => {
                    Step {
                        worker: &mut *self,
                        block: &mut *block,
                        warp: &mut *warp,
                        mask: $mask,
                        at: At { site: site(pc), frame },
                    }
                };
            }
            if let Some(rows) = flow.touches(pc).filter(|_| mask != 0) {
                warpgroup::touch(&mut step!(mask), rows);
            }
            match &inst.op {
                Op::Branch { target } => {
                    if inst.guard.is_some() {
                        let divergent = mask != 0 && mask != active;
                        self.observer.branch(Site { function, pc }, divergent);
                        if divergent {
                            break Left::Control(mask);
                        }
                    }
                    if mask == 0 {
                        pc += 1;
                        continue;
                    }
                    self.observer.ran(&mut block.observed, warp.index, Site { function, pc: first }, pc + 1, active);
                    let backwards = *target <= pc;
                    pc = *target;
                    first = pc;
                    if !warp.splits.is_empty() && warp.meets(frame, pc) {
                        break Left::Meets;
                    }
                    if backwards && *fuel <= warp.patience && warp.polled {
                        if warp.waits() {
                            break Left::Fuel;
                        }
                        // The next iteration is judged by itself.
                        self.note_changes(warp);
                        (warp.polled, warp.wrote, warp.stored) = (false, false, false);
                    }
                    continue;
                }
                _ if mask == 0 => {}
                Op::Pure(pure, args) => host.run(pure, registers, mask, args),
                Op::Load(access) => {
                    let mut mask = mask;
                    while mask != 0 {
                        let (step, rows) = (step!(mask), &mut *registers);
                        let done = host.perform(&mut Carried { step, registers: rows, access });
                        mask &= !done.or_else(|stop| step!(mask).load_without(stop, registers, access))?;
                    }
                    if access.order != Order::Weak && self.schedule.preempts() {
                        pc += 1;
                        break Left::Fuel;
                    }
                }
                Op::Store(access) => {
                    let mut mask = mask;
                    while mask != 0 {
                        let (step, registers) = (step!(mask), &*registers);
                        let done = host.perform(&mut Carried { step, registers, access });
                        mask &= !done.or_else(|stop| step!(mask).store_without(stop))?;
                    }
                    if access.order != Order::Weak && self.schedule.preempts() {
                        pc += 1;
                        break Left::Fuel;
                    }
                }
                Op::Atomic(atomic) => {
                    keep_going::atomic(&mut step!(mask), registers, atomic)?;
                    if self.schedule.preempts() {
                        pc += 1;
                        break Left::Fuel;
                    }
                }
                Op::Matrix(matrix) => {
                    if mask != u32::MAX {
                        break Left::Control(mask);
                    }
                    matrix::execute(&mut step!(mask), registers, matrix)?;
                }
                Op::Barrier { id, count: None, kind: BarrierKind::Sync, .. } => {
                    let id = registers.w32[*id as usize][lanes::first(mask)];
                    if mask != warp.live || !block.waits_for_all(id) {
                        break Left::Control(mask);
                    }
                    break Left::Barrier(id);
                }
                Op::Texture(access) => texture::execute(&mut step!(mask), registers, access)?,
                Op::AtomicVector(parts) => atomics::execute_vector(&mut step!(mask), registers, parts)?,
                Op::AtomicWide(halves) => {
                    wide_atomics::execute(&mut step!(mask), registers, halves)?;
                    if self.schedule.preempts() {
                        pc += 1;
                        break Left::Fuel;
                    }
                }
                Op::Collective { .. } => {
                    if !collectives::execute_together(&mut step!(mask), registers, &inst.op)? {
                        break Left::Control(mask);
                    }
                }
                Op::ConvertAddress { space, from_generic, destination, source } => {
                    let window = address::window(*space);
                    let added = if *from_generic { window.wrapping_neg() } else { window };
                    let values = registers.w64[*source as usize];
                    let row = &mut registers.w64[*destination as usize];
                    lanes::each(mask, |lane| row[lane] = values[lane].wrapping_add(added));
                }
                Op::IsSpace { space, destination, source } => {
                    let values = &registers.w64[*source as usize];
                    let inside = lanes::select(mask, |lane| lies_in(values[lane], *space));
                    let row = &mut registers.pred[*destination as usize];
                    *row = *row & !mask | inside;
                }
                Op::ReadTimer { timer, destination, wide } => {
                    let now = started - *fuel;
                    let value = timer.value(now);
                    warp.polled = true;
                    self.acted = true;
                    match *wide {
                        true => lanes::each(mask, |lane| registers.w64[*destination as usize][lane] = value),
                        false => lanes::each(mask, |lane| registers.w32[*destination as usize][lane] = value as u32),
                    }
                }
                Op::Fence(order, scope) => self.observer.fence(&mut block.observed, warp.index, mask, *order, *scope),
                Op::Nanosleep => warp.polled = true,
                Op::Nothing => {}
                Op::Alloca { destination, size, wide, align } => {
                    let wanted = |lane: usize| match *wide {
                        true => registers.w64[*size as usize][lane],
                        false => u64::from(registers.w32[*size as usize][lane]),
                    };
                    let mut bytes = 0;
                    lanes::each(mask, |lane| bytes = bytes.max(wanted(lane)));
                    let start = control::grow_stack(&mut step!(mask), bytes, *align)?;
                    lanes::each(mask, |lane| registers.w64[*destination as usize][lane] = start);
                }
                Op::StackSave(destination) => {
                    let top = warp.frames[frame as usize].top;
                    lanes::each(mask, |lane| registers.w64[*destination as usize][lane] = top);
                }
                Op::StackRestore(source) => {
                    let entry = &mut warp.frames[frame as usize];
                    // Memory is known to be unused only when all lanes of the frame release it.
                    if mask == entry.lanes {
                        let mut top = 0;
                        lanes::each(mask, |lane| top = top.max(registers.w64[*source as usize][lane]));
                        entry.top = top.clamp(entry.base, entry.top);
                    }
                }
                _ => break Left::Control(mask),
            }
            pc += 1;
        };
        let end = pc + u32::from(matches!(left, Left::Control(_) | Left::Barrier(_)));
        if end > first {
            self.observer.ran(&mut block.observed, warp.index, Site { function, pc: first }, end, active);
        }
        split.pc = pc;
        Ok(left)
    }
}

fn lies_in(address: u64, space: Space) -> bool {
    let found = address::space_of(address);
    match space {
        Space::Frame => found == Space::Local,
        Space::Generic => true,
        space => found == space,
    }
}
