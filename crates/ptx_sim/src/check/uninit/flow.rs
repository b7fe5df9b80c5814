//! Propagation of undefined values through instructions on registers, and detection of their effects.

use super::origin::{Birth, COMPUTED, Origin};
use super::plan::{NO_ROW, Plan};
use super::report::Use;
use super::rule::{Rule, Source, ones};
use super::state::Uninit;
use crate::isa::File;
use crate::isa::lift::Meaning;
use crate::lanes::{each, first};
use crate::level::{Host, Level};
use crate::observe::{Meeting, Scene};
use crate::program::{Collective, Inst, Op};
use crate::registers::shadow::{NEVER_WRITTEN, RegisterShadow};
use crate::registers::{Args, LANES, NO_SLOT, Pure, Registers, SOURCES};
use crate::stop::Diagnostic;

impl Uninit {
    /// Inspects an instruction with a possibly undefined operand before it is executed, given the active lanes and
    /// those whose guard holds.
    #[cold]
    #[inline(never)]
    pub fn inspect_undefined(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        inst: &Inst,
        active: u32,
        mask: u32,
    ) {
        let plans = self.plans.clone();
        let Some(plan) = plans.get(scene.site.function as usize) else { return };
        let (Some(step), Some(mut shadow)) = (plan.step(scene.site.pc), registers.shadow.take()) else { return };
        if step.guard != NO_ROW {
            let what = if matches!(inst.op, Op::Branch { .. }) { Use::Branch } else { Use::Guard };
            self.decide(scene, &mut shadow, step.guard, active, what);
        }
        let (reads, writes) = plan.rows(step);
        match &inst.op {
            _ if mask == 0 => {}
            Op::Pure(run, args) => {
                let function = &scene.setting.program.functions[scene.site.function as usize];
                match function.meaning(scene.site.pc) {
                    Some(&meaning) => {
                        let step = Computation { run, args, meaning, rule: step.rule };
                        self.compute(scene, &mut shadow, registers, &step, mask);
                    }
                    // The sources of this instruction are unknown.
                    None => args.d.iter().for_each(|slot| {
                        let rows: Vec<u32> = shadow.any_file(*slot).collect();
                        rows.into_iter().for_each(|row| shadow.define(row, mask));
                    }),
                }
                if step.arithmetic.is_some() {
                    self.watch_overflow(scene, &shadow, registers, inst, plan, mask);
                }
            }
            Op::ConvertAddress { .. } | Op::IsSpace { .. } => {
                if let ([source], [destination]) = (reads, writes) {
                    each(mask, |lane| {
                        let (bits, origin) = self.born(scene, &shadow, *source, lane);
                        let bits = if matches!(inst.op, Op::IsSpace { .. }) && bits != 0 { 1 } else { bits };
                        shadow.set(*destination, lane, bits, origin);
                    });
                }
            }
            op => {
                let what = match op {
                    Op::BranchIndexed { .. } => Use::Branch,
                    Op::Call { .. } => Use::Callee,
                    Op::Barrier { .. } => Use::Barrier,
                    Op::Collective { .. } => Use::Mask,
                    Op::Alloca { .. } => Use::Size,
                    _ => Use::Address,
                };
                for row in reads {
                    self.decide(scene, &mut shadow, *row, mask, what);
                }
                writes.iter().for_each(|row| shadow.define(*row, mask));
            }
        }
        registers.shadow = Some(shadow);
    }

    /// Checks a register that affects the execution: reports the first lane in which it is undefined, and then marks it
    /// as defined.
    pub(super) fn decide(
        &mut self,
        scene: &mut Scene<'_>,
        shadow: &mut RegisterShadow,
        row: u32,
        mask: u32,
        what: Use,
    ) {
        let bad = shadow.undefined(row) & mask;
        if bad != 0 {
            let lane = first(bad);
            let (_, origin) = self.born(scene, shadow, row, lane);
            self.used(scene, lane, what, origin);
            shadow.define(row, bad);
        }
    }

    /// Returns the undefined bits of a lane of a register, and their origin; an uninitialised register gets its origin
    /// here.
    pub(super) fn born(&mut self, scene: &mut Scene<'_>, shadow: &RegisterShadow, row: u32, lane: usize) -> (u64, u32) {
        let (bits, origin) = shadow.get(row, lane);
        if bits == 0 || origin != NEVER_WRITTEN {
            return (bits, origin);
        }
        let new = Origin { site: scene.site, block: scene.block, warp: scene.warp, birth: Birth::Register };
        (bits, self.origins.add(new) | lane as u32)
    }

    fn compute(
        &mut self,
        scene: &mut Scene<'_>,
        shadow: &mut RegisterShadow,
        registers: &Registers,
        step: &Computation<'_>,
        mask: u32,
    ) {
        let rows: Vec<u32> = step.sources().map(|(file, slot)| shadow.row(file, slot)).collect();
        let bad = rows.iter().fold(0, |bad, row| bad | shadow.undefined(*row)) & mask;
        let moved = match step.rule {
            Rule::Move(data) => Some(step.move_shadow(shadow, registers, data, mask)),
            _ => None,
        };
        let mut results = [[0; LANES]; 4];
        let mut origins = [NEVER_WRITTEN; LANES];
        each(bad, |lane| {
            let mut sources = [Source::default(); SOURCES];
            for (i, ((file, slot), row)) in step.sources().zip(&rows).enumerate().take(SOURCES) {
                let (bits, origin) = self.born(scene, shadow, *row, lane);
                let all = ones(file);
                sources[i] =
                    Source { value: step.value(registers, i, file, slot, lane), undefined: bits & all, ones: all };
                if bits != 0 && origins[lane] == NEVER_WRITTEN {
                    origins[lane] = origin | if step.rule.computes() { COMPUTED } else { 0 };
                }
            }
            for (d, file) in step.meaning.d.iter().enumerate().take(4) {
                let whole = ones(*file);
                results[d][lane] = match (&moved, step.rule) {
                    (Some(moved), Rule::Move(data)) => {
                        let control = (0..SOURCES).any(|i| data >> i & 1 == 0 && sources[i].undefined != 0);
                        if control { whole } else { moved.value(*file, d, lane) }
                    }
                    _ if step.same_source() => 0,
                    (_, rule) => rule.apply(&sources[..step.meaning.s.len().min(SOURCES)], whole),
                };
            }
        });
        for (d, (file, slot)) in step.destinations() {
            let row = shadow.row(file, slot);
            shadow.define(row, mask & !bad);
            each(bad, |lane| shadow.set(row, lane, results[d][lane], origins[lane]));
        }
    }

    /// Propagates through a `*.sync` instruction of the lanes in `mask` that moves values between lanes.
    pub fn meet_shadows(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        Meeting { kind, run, args }: Meeting<'_>,
        mask: u32,
    ) {
        let function = &scene.setting.program.functions[scene.site.function as usize];
        let meaning = function.meaning(scene.site.pc);
        let (Some(&meaning), Some(mut shadow)) = (meaning, registers.shadow.take()) else { return };
        let step = Computation { run, args, meaning, rule: Rule::Any };
        let rows: Vec<u32> = step.sources().map(|(file, slot)| shadow.row(file, slot)).collect();
        let bad = rows.iter().fold(0, |bad, row| bad | shadow.undefined(*row)) & mask;
        if bad == 0 {
            step.destinations().for_each(|(_, (file, slot))| shadow.define(shadow.row(file, slot), mask));
            registers.shadow = Some(shadow);
            return;
        }
        if let (Collective::Shuffle(_), Some(&value)) = (kind, rows.first()) {
            let control = rows[1..].iter().fold(0, |bad, row| bad | shadow.undefined(*row)) & mask;
            let bits = step.move_shadow(&shadow, registers, 1, mask);
            let mut ids = step.scratch(registers);
            each(mask, |lane| ids.0.w32[0][lane] = self.born(scene, &shadow, value, lane).1);
            ids.run(&step, mask);
            for (d, (file, slot)) in step.destinations() {
                let row = shadow.row(file, slot);
                each(mask, |lane| match (file, control >> lane & 1 != 0) {
                    (_, true) => shadow.set(row, lane, ones(file), NEVER_WRITTEN),
                    (File::Pred, false) => shadow.define(row, 1 << lane),
                    (_, false) => shadow.set(row, lane, bits.value(file, d, lane), ids.value(file, d, lane) as u32),
                });
            }
        } else {
            let lane = first(bad);
            let mut origin = NEVER_WRITTEN;
            for row in &rows {
                let (bits, found) = self.born(scene, &shadow, *row, lane);
                origin = if bits != 0 { found | COMPUTED } else { origin };
            }
            let ballot = kind == Collective::Vote;
            for (_, (file, slot)) in step.destinations() {
                let bits = if ballot && file == File::Word { u64::from(bad) } else { ones(file) };
                let row = shadow.row(file, slot);
                each(mask, |lane| shadow.set(row, lane, bits, origin));
            }
        }
        registers.shadow = Some(shadow);
    }

    fn watch_overflow(
        &mut self,
        scene: &mut Scene<'_>,
        shadow: &RegisterShadow,
        registers: &Registers,
        inst: &Inst,
        plan: &Plan,
        mask: u32,
    ) {
        let (Op::Pure(_, args), Some(step)) = (&inst.op, plan.step(scene.site.pc)) else { return };
        let Some(arithmetic) = step.arithmetic else { return };
        let wide = arithmetic.file() == File::Long;
        let value = |slot: u32, lane: usize| match wide {
            true => registers.w64.get(slot as usize).map_or(0, |row| row[lane]),
            false => registers.w32.get(slot as usize).map_or(0, |row| u64::from(row[lane])),
        };
        let bad = plan.rows(step).0.iter().fold(0, |bad, row| bad | shadow.undefined(*row));
        let mut rest = mask & !bad;
        while rest != 0 {
            let lane = first(rest);
            rest &= rest - 1;
            let sources = [0, 1, 2].map(|i| value(args.s[i], lane));
            if let Some(words) = arithmetic.overflow(sources) {
                scene.finding(lane, "overflow", || {
                    let mut diagnostic = Diagnostic::new("overflow", format!("signed integer overflow: {words}"));
                    diagnostic.notes.push(
                        "PTX arithmetic wraps, and compilers write `.s32` for unsigned additions too: this may be \
                        intended"
                            .to_owned(),
                    );
                    diagnostic
                });
                return;
            }
        }
    }
}

/// An instruction that only computes on registers.
struct Computation<'a> {
    run: &'a Pure,
    args: &'a Args,
    meaning: Meaning,
    rule: Rule,
}

/// Scratch registers for one instruction: source `i` is row `i` of its file, destination `i` row `4 + i`.
struct Scratch(Registers);

impl Computation<'_> {
    fn sources(&self) -> impl Iterator<Item = (File, u32)> {
        self.meaning.s.iter().copied().zip(self.args.s.iter().copied())
    }

    /// Iterates over the destinations that are kept, with their indices.
    fn destinations(&self) -> impl Iterator<Item = (usize, (File, u32))> {
        let all = self.meaning.d.iter().copied().zip(self.args.d.iter().copied()).enumerate();
        all.filter(|(_, (_, slot))| *slot != NO_SLOT)
    }

    /// Whether the result is constant: `x ^ x` and `x - x` are 0.
    fn same_source(&self) -> bool {
        let two = self.meaning.s.len() == 2 && self.meaning.s[0] == self.meaning.s[1];
        let opposite = self.rule == Rule::Xor;
        two && opposite && self.args.s[0] == self.args.s[1] && self.args.negated == 0
    }

    fn value(&self, registers: &Registers, i: usize, file: File, slot: u32, lane: usize) -> u64 {
        let slot = slot as usize;
        match file {
            File::Pred => {
                let bits = registers.pred.get(slot).copied().unwrap_or(0);
                u64::from((bits >> lane & 1) ^ u32::from(self.args.negated >> i & 1))
            }
            File::Long | File::Double => registers.w64.get(slot).map_or(0, |row| row[lane]),
            _ => registers.w32.get(slot).map_or(0, |row| u64::from(row[lane])),
        }
    }

    /// Copies the sources' values to scratch registers.
    fn scratch(&self, registers: &Registers) -> Scratch {
        let mut scratch =
            Registers { w32: vec![[0; LANES]; 8], w64: vec![[0; LANES]; 8], pred: vec![0; 8], shadow: None };
        for (i, (file, slot)) in self.sources().enumerate() {
            let slot = slot as usize;
            match file {
                File::Pred => scratch.pred[i] = registers.pred.get(slot).copied().unwrap_or(0),
                File::Long | File::Double => scratch.w64[i] = registers.w64.get(slot).copied().unwrap_or([0; LANES]),
                _ => scratch.w32[i] = registers.w32.get(slot).copied().unwrap_or([0; LANES]),
            }
        }
        Scratch(scratch)
    }

    /// Executes the same move on the undefined bits of the operands in `data`.
    fn move_shadow(&self, shadow: &RegisterShadow, registers: &Registers, data: u8, mask: u32) -> Scratch {
        let mut scratch = self.scratch(registers);
        for (i, (file, slot)) in self.sources().enumerate().filter(|(i, _)| data >> i & 1 != 0) {
            let row = shadow.row(file, slot);
            for lane in 0..LANES {
                let bits = shadow.get(row, lane).0 & ones(file);
                match file {
                    File::Pred => {}
                    File::Long | File::Double => scratch.0.w64[i][lane] = bits,
                    _ => scratch.0.w32[i][lane] = bits as u32,
                }
            }
        }
        scratch.run(self, mask);
        scratch
    }
}

impl Scratch {
    fn run(&mut self, step: &Computation<'_>, mask: u32) {
        let d = [0, 1, 2, 3].map(|i| if step.args.d[i as usize] == NO_SLOT { NO_SLOT } else { 4 + i });
        let args = Args { d, s: [0, 1, 2, 3, NO_SLOT], ..*step.args };
        Level::BASELINE.run(step.run, &mut self.0, mask, &args);
    }

    fn value(&self, file: File, d: usize, lane: usize) -> u64 {
        match file {
            File::Pred => u64::from(self.0.pred[4 + d] >> lane & 1),
            File::Long | File::Double => self.0.w64[4 + d][lane],
            _ => u64::from(self.0.w32[4 + d][lane]),
        }
    }
}
