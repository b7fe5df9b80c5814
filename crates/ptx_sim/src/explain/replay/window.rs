//! The order of instructions in machine code. ptxas moves loads to the front of a stretch of code without jumps, so
//! that their latencies overlap, interleaves chains of arithmetic, and unrolls short loops over a counter by four; a
//! warp's recorded instructions are in the order of the PTX.

use super::class::Classes;
use crate::program::{Function, Op, Order, Space};
use crate::registers::File;
use crate::trace::Step;
use std::collections::HashMap;
use std::rc::Rc;

/// Iterations of a loop that are one stretch, and the most loads and instructions of one.
const ITERATIONS: u32 = 4;
const LOADS: usize = 16;
const LENGTH: usize = 512;
/// Instructions among which the next one is chosen, and the cycles that loads are scheduled for. Fitted to the rungs:
/// with 64 instructions, chains overlap that ptxas leaves apart.
const AHEAD: usize = 12;
const LOADED: f64 = 30.0;
/// Mark of an instruction that is part of the one before it, in an order.
pub(super) const MERGED: u16 = 1 << 15;
/// 32-bit registers for values that are loaded early.
const REGISTERS: u32 = 64;

/// The orders that were computed so far, by the instructions of a stretch.
#[derive(Debug, Default)]
pub(super) struct Windows {
    known: HashMap<Vec<u32>, Rc<[u16]>>,
    pcs: Vec<u32>,
}

impl Windows {
    /// Returns the order of the next stretch of a warp's steps, as offsets.
    pub fn next(&mut self, function: &Function, classes: &Classes, steps: &[Step]) -> Rc<[u16]> {
        let length = length(function, classes, steps);
        self.pcs.clear();
        self.pcs.push(steps[0].function);
        self.pcs.extend(steps[..length].iter().map(|step| step.pc));
        if let Some(known) = self.known.get(&self.pcs) {
            return Rc::clone(known);
        }
        let order: Rc<[u16]> = order(function, classes, &self.pcs[1..]).into();
        self.known.insert(self.pcs.clone(), Rc::clone(&order));
        order
    }
}

/// Returns the number of steps up to the next jump; a loop's jump to its start continues the stretch a few times.
fn length(function: &Function, classes: &Classes, steps: &[Step]) -> usize {
    let first = steps[0];
    let (mut iterations, mut loads, mut plain) = (1, 0, true);
    for (at, step) in steps.iter().enumerate() {
        if step.function != first.function {
            return at.max(1);
        }
        let pc = step.pc as usize;
        let Some(inst) = function.code.get(pc) else { return at + 1 };
        loads += usize::from(width(&inst.op).is_some());
        match inst.op {
            Op::Branch { target } if classes.bodies[pc].is_none() => {
                let next = steps.get(at + 1).map(|next| next.pc);
                let again = plain
                    && classes.counted[pc]
                    && target == first.pc
                    && next == Some(target)
                    && iterations < ITERATIONS;
                if !again || loads + loads / iterations as usize > LOADS {
                    return at + 1;
                }
                iterations += 1;
            }
            Op::Pure(..) | Op::Load(_) | Op::Store(_) | Op::ConvertAddress { .. } | Op::Nothing | Op::Branch { .. } => {
            }
            // Loops with these are not unrolled, but the instructions do not end a stretch.
            Op::Collective { .. } | Op::Matrix(_) | Op::Atomic(_) => plain = false,
            _ => return at + 1,
        }
        if at + 1 == LENGTH {
            return LENGTH;
        }
    }
    steps.len()
}

/// 32-bit registers that a load fills; `None` for other instructions, and for loads that keep their place.
fn width(op: &Op) -> Option<u32> {
    match op {
        Op::Load(access) if access.order == Order::Weak && access.space != Space::Param => {
            let bytes = u32::from(access.bytes) * access.registers.len() as u32;
            Some(bytes.div_ceil(4))
        }
        _ => None,
    }
}

/// Returns the order of a stretch: first the loads that need no other load, with what they need; then those that need
/// these; then the rest.
fn order(function: &Function, classes: &Classes, pcs: &[u32]) -> Vec<u16> {
    let mut writer: HashMap<u32, usize> = HashMap::new();
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(pcs.len());
    let mut level = vec![0_u32; pcs.len()];
    let mut stored = [false; 2];
    // For each load, the instruction that sets its base address.
    let mut writers: Vec<Option<usize>> = Vec::with_capacity(pcs.len());
    let mut candidates: Vec<Option<u32>> = Vec::with_capacity(pcs.len());
    for (at, &pc) in pcs.iter().enumerate() {
        let uses = &classes.uses[pc as usize];
        let op = &function.code[pc as usize].op;
        let mut own: Vec<usize> = uses.reads.iter().filter_map(|register| writer.get(register).copied()).collect();
        // ptxas unrolls a loop with predicated loads, but leaves them behind the stores of the rounds before.
        let kept = classes.predicated[pc as usize] && stored != [false; 2] && pcs[..at].contains(&pc);
        let free = match op {
            Op::Load(_) if kept => false,
            Op::Load(access) => match access.space {
                Space::Global => access.non_coherent || !stored[0],
                Space::Generic => !stored[0] && !stored[1],
                _ => !stored[1],
            },
            _ => false,
        };
        if free && (classes.predicated[pc as usize] || function.code[pc as usize].guard.is_some()) {
            // A value for lanes that do not load is there before the load, whose result it would replace.
            let others = uses.sets.iter().filter_map(|register| writer.get(register).copied());
            own.extend(others.filter(|&other| !matches!(function.code[pcs[other] as usize].op, Op::Load(_))));
        }
        let above = own.iter().map(|&need| level[need] + u32::from(candidates[need].is_some())).max();
        level[at] = above.unwrap_or(0);
        candidates.push(width(op).filter(|_| free));
        match op {
            Op::Store(access) => match access.space {
                Space::Global => stored[0] = true,
                Space::Shared => stored[1] = true,
                _ => stored = [true; 2],
            },
            Op::Atomic(_) | Op::Matrix(_) => stored = [true; 2],
            Op::Collective { .. } => {}
            Op::Load(access) if access.order != Order::Weak => stored = [true; 2],
            _ => {}
        }
        writers.push(match op {
            Op::Load(access) => {
                let file = if access.address.narrow { File::Word } else { File::Long };
                writer.get(&function.rows.number(file, access.address.base)).copied()
            }
            _ => None,
        });
        writer.extend(uses.sets.iter().map(|&register| (register, at)));
        needs.push(own);
    }
    let merged = merged(function, pcs, &candidates, &writers);
    let mut emitted = vec![false; pcs.len()];
    let mut order = Vec::with_capacity(pcs.len());
    let deepest = level.iter().copied().max().unwrap_or(0);
    let mut registers = 0;
    for depth in 0..=deepest {
        for at in 0..pcs.len() {
            let Some(width) = candidates[at].filter(|_| level[at] == depth && !emitted[at]) else { continue };
            registers += width;
            if registers > REGISTERS {
                break;
            }
            emit(at, &needs, &mut emitted, &mut order);
            let others = merged.get(&at).into_iter().flatten();
            for &other in others {
                if !emitted[other] && needs[other].iter().all(|&need| emitted[need]) {
                    emitted[other] = true;
                    order.push(other as u16 | MERGED);
                    registers += candidates[other].unwrap_or(1);
                }
            }
        }
    }
    interleave(function, classes, pcs, &needs, &emitted, &mut order);
    order
}

/// Finds loads of neighbouring words of shared memory, which ptxas joins to one of 8 or 16 bytes: by the first one, the
/// others.
fn merged(
    function: &Function,
    pcs: &[u32],
    candidates: &[Option<u32>],
    writers: &[Option<usize>],
) -> HashMap<usize, Vec<usize>> {
    // By base address, the instruction that sets it, bytes of a word, and offset.
    let mut places = HashMap::new();
    let plain = |at: usize| candidates[at].is_some() && function.code[pcs[at] as usize].guard.is_none();
    let word = |at: usize| match &function.code[pcs[at] as usize].op {
        Op::Load(access) if plain(at) && access.space == Space::Shared && access.registers.len() == 1 => {
            Some(((access.address.base, writers[at], access.bytes), access.address.offset))
        }
        _ => None,
    };
    for at in 0..pcs.len() {
        if let Some(place) = word(at) {
            places.entry(place).or_insert(at);
        }
    }
    let mut found = HashMap::new();
    for at in 0..pcs.len() {
        let Some((kind, offset)) = word(at) else { continue };
        let next = |step: i64| places.get(&(kind, offset + step)).copied();
        let group: Vec<usize> = match (kind.2, offset % 16, offset % 8) {
            (4, 0, _) => (1..4).map_while(|word| next(4 * word)).collect(),
            (4, _, 0) if next(-8).is_none() || next(-4).is_none() => next(4).into_iter().collect(),
            (8, 0, _) => next(8).into_iter().collect(),
            _ => continue,
        };
        // Two or four words, not three.
        let count = if group.len() == 2 { 1 } else { group.len() };
        if count > 0 {
            found.insert(at, group[..count].to_vec());
        }
    }
    found
}

/// Appends the instructions that are left as list scheduling orders them: of the next ones the first whose operands are
/// there, so that independent chains overlap. Accesses, exchanges and jumps keep their order.
fn interleave(
    function: &Function,
    classes: &Classes,
    pcs: &[u32],
    needs: &[Vec<usize>],
    emitted: &[bool],
    order: &mut Vec<u16>,
) {
    let op = |at: usize| &function.code[pcs[at] as usize].op;
    let class = |at: usize| classes.classes[pcs[at] as usize];
    let latency = |at: usize| if width(op(at)).is_some() { LOADED } else { class(at).latency };
    let moves = |at: usize| matches!(op(at), Op::Pure(..) | Op::ConvertAddress { .. } | Op::Nothing);
    let mut done: Vec<Option<f64>> = (0..pcs.len()).map(|at| emitted[at].then(|| latency(at))).collect();
    let mut left: Vec<usize> = (0..pcs.len()).filter(|&at| !emitted[at]).collect();
    let mut now = 0.0_f64;
    while !left.is_empty() {
        // The first one needs only what stands before it.
        let (mut place, mut ready, mut kept) = (0, f64::INFINITY, false);
        for (candidate, &at) in left.iter().enumerate().take(AHEAD) {
            // The last one ends the stretch.
            let may = (moves(at) || !kept) && (candidate == 0 || at + 1 < pcs.len());
            kept |= !moves(at);
            let operands = needs[at].iter().try_fold(0.0_f64, |latest, &need| Some(latest.max(done[need]?)));
            if let Some(operands) = operands.filter(|&operands| may && operands < ready) {
                (place, ready) = (candidate, operands);
                if operands <= now {
                    break;
                }
            }
        }
        let at = left.remove(place);
        now = if ready.is_finite() { now.max(ready) } else { now };
        done[at] = Some(now + latency(at));
        now += class(at).slots;
        order.push(at as u16);
    }
}

/// Emits an instruction after those that it needs.
fn emit(at: usize, needs: &[Vec<usize>], emitted: &mut [bool], order: &mut Vec<u16>) {
    if std::mem::replace(&mut emitted[at], true) {
        return;
    }
    needs[at].iter().for_each(|&need| emit(need, needs, emitted, order));
    order.push(at as u16);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Costs;
    use crate::program::Program;

    /// The order of a stretch of code, as the numbers of its statements.
    fn ordered(body: &str) -> Vec<u16> {
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 \
             %r<9>;\n.reg .b64 %rd<4>;\n.reg .f32 %f<9>;\n{body}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let function = &program.functions[0];
        let pcs: Vec<u32> = (0..function.code.len() as u32 - 1).collect();
        order(function, &Classes::of(function, &Costs::default()), &pcs)
    }

    #[test]
    fn loads_move_to_the_front_with_what_they_need() {
        let load = |k: u32| format!("ld.global.nc.f32 %f{k}, [%rd1+{}];\nst.global.f32 [%rd2], %f{k};\n", 4 * k);
        let pairs: String = (0..3).map(load).collect();
        assert_eq!(ordered(&pairs), [0, 2, 4, 1, 3, 5]);
        // A load that may read what was stored keeps its place.
        assert_eq!(ordered(&pairs.replace(".nc", "")), [0, 1, 2, 3, 4, 5]);
        let address = "st.shared.f32 [%r1], %f0;\nadd.s64 %rd3, %rd1, 4;\nld.global.f32 %f1, [%rd3];";
        assert_eq!(ordered(address), [1, 2, 0]);
    }

    #[test]
    fn a_value_for_lanes_that_do_not_load_stands_before_the_load() {
        let body = "mov.b32 %r3, 0;\n@%p1 bra END;\nadd.s64 %rd3, %rd1, 4;\nld.global.nc.b32 %r3, [%rd3];\nEND:\nst\
            .shared.b32 [%r2], %r3;";
        let order = ordered(body);
        let place = |number: u16| order.iter().position(|&at| at == number);
        assert!(place(0) < place(3) && place(3) < place(4), "{order:?}");
        // What an earlier round left in the register is no such value: ptxas gives each load a register of its own.
        let load = "ld.global.nc.b32 %r3, [%rd1];\nst.shared.b32 [%r2], %r3;\n";
        assert_eq!(ordered(&load.repeat(2)), [0, 2, 1, 3]);
        let sum = load.replace("\nst", "\nadd.s32 %r3, %r3, 1;\nst");
        assert_eq!(ordered(&sum.repeat(2))[..2], [0, 3]);
        let guarded = body.replace("@%p1 bra END;\n", "").replace("ld.global", "@%p1 ld.global");
        let order = ordered(&guarded);
        assert!(order.iter().position(|&at| at == 0) < order.iter().position(|&at| at == 2), "{order:?}");
    }

    #[test]
    fn predicated_loads_of_a_loop_stay_in_their_round() {
        let load = |end: &str| {
            format!(
                "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra {end};\nld.global.nc.f32 %f1, \
                 [%rd1];\n{end}:\nst.shared.f32 [%r2], %f1;\n"
            )
        };
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 \
             %r<9>;\n.reg .b64 %rd<4>;\n.reg .f32 %f<9>;\n{}{}ret;\n}}\n",
            load("A"),
            load("B").replace("%f1", "%f2")
        );
        let program = Program::parse(&text).expect("PTX");
        let function = &program.functions[0];
        let place = |pcs: &[u32], at: u16| {
            let order = order(function, &Classes::of(function, &Costs::default()), pcs);
            order.iter().position(|&number| number == at)
        };
        // Two loads in straight code, and two rounds of the first one: the second load against the first store.
        let (straight, rounds) = ([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 0, 1, 2, 3]);
        assert!(place(&straight, 6) < place(&straight, 3));
        assert!(place(&rounds, 6) > place(&rounds, 3));
    }

    #[test]
    fn independent_chains_are_interleaved() {
        let chain = |k: u32| format!("add.f32 %f{k}, %f{k}, %f8;\n").repeat(3);
        assert_eq!(ordered(&format!("{}{}", chain(1), chain(2))), [0, 3, 1, 4, 2, 5]);
        // Stores keep their order, whatever they wait for.
        let stores = "add.f32 %f1, %f1, %f8;\nst.global.f32 [%rd1], %f1;\nst.global.f32 [%rd1+4], %f2;";
        assert_eq!(ordered(stores), [0, 1, 2]);
        // What is near is chosen, not the whole stretch.
        let far = format!("{}{}", "add.f32 %f1, %f1, %f8;\n".repeat(40), chain(2));
        assert_eq!(ordered(&far)[..4], [0, 1, 2, 3]);
    }

    #[test]
    fn neighbouring_words_of_shared_memory_are_one_load() {
        let load = |k: u32| format!("ld.shared.f32 %f{k}, [%r1+{}];\n", 4 * k);
        let forwards: String = (0..4).map(load).collect();
        assert_eq!(ordered(&forwards), [0, 1 | MERGED, 2 | MERGED, 3 | MERGED]);
        // In another order too, and each instruction stands once.
        let backwards: String = (0..4).rev().map(load).collect();
        let mut found: Vec<u16> = ordered(&backwards).iter().map(|at| at & !MERGED).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3]);
        let apart = "ld.shared.f32 %f1, [%r1];\nld.shared.f32 %f2, [%r1+64];";
        assert_eq!(ordered(apart), [0, 1]);
        // Words of 8 bytes are joined in pairs.
        let long: String = (1..4).map(|k| format!("ld.shared.b64 %rd{k}, [%r1+{}];\n", 8 * k)).collect();
        assert_eq!(ordered(&long), [0, 1, 2 | MERGED]);
    }
}
