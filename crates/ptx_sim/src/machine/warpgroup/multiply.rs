//! Issue and completion of a warpgroup's products.

use super::group::{Issued, WARPS};
use super::{differs, variable, warp_of};
use crate::isa::matrix::{CHUNK, Descriptor, extent, multiply_group};
use crate::lanes;
use crate::machine::faults::BadAccess;
use crate::machine::position::Who;
use crate::machine::step::Step;
use crate::observe::{self, AccessKind, Completes, Observer, Peek, Range, Shadow};
use crate::program::{Factor, Form, Matrix, MatrixKind, Op, Product, Scope, Space, Warpgroup};
use crate::registers::{LANES, Registers, Slot};
use crate::stop::Stop;

/// Records that a warp executes a product; the fourth warp starts it.
///
/// # Errors
/// A stop if the warps of the group differ, or a descriptor leads out of bounds.
pub fn issue<O: Observer>(step: &mut Step<'_, '_, O>, product: &Product) -> Result<(), Stop> {
    let operands = operands(step, product)?;
    inspect(step, product, operands.2);
    let (index, who, frame) = (step.warp.index as usize, step.who(0), step.at.frame);
    let group = step.block.groups.of(index);
    let number = group.issued[index % WARPS];
    let at = (number - group.first) as usize;
    if at == group.products.len() {
        let frames = [frame; WARPS];
        group.products.push_back(Issued {
            who,
            frames,
            came: 0,
            operands,
            ranges: Vec::new(),
            complete: false,
            reported: false,
        });
    }
    let issued = &mut group.products[at];
    if issued.who.site != who.site {
        let other = issued.who.site;
        return Err(differs(
            step.worker,
            who,
            other,
            "different instructions together, where all must execute the same",
        ));
    }
    if issued.operands != operands {
        let other = issued.who.site;
        return Err(differs(step.worker, who, other, "a `wgmma` with different descriptors or scales"));
    }
    issued.frames[index % WARPS] = frame;
    issued.came |= 1 << (index % WARPS);
    let started = issued.came == 0b1111;
    group.issued[index % WARPS] += 1;
    step.release(u32::MAX, variable(step.block.ticket, index, number), Scope::Cta);
    let ranges = ranges(step, product, operands)?;
    for &part in &ranges {
        let range = read(who, (index, number), part);
        let peek = Peek { shared: &step.block.shared, snapshot: &step.worker.snapshot, stored: None };
        step.worker.observer.issue(&mut step.block.observed, &range, peek);
    }
    if !started {
        return Ok(());
    }
    show_factors(step, product, operands);
    let shared_bytes = step.context().shared_bytes;
    for &(start, bytes) in &ranges {
        step.block.in_flight.marking += 1;
        let mark = |mark: &mut crate::machine::in_flight::Mark| mark.reads = mark.reads.saturating_add(1);
        step.block.in_flight.mark(shared_bytes, start, bytes, mark);
    }
    step.block.groups.of(index).products[at].ranges = ranges;
    Ok(())
}

/// Returns the read of a part of shared memory by the product with a number, of the group of a warp.
fn read(who: Who, (index, number): (usize, u64), (start, bytes): (u64, u32)) -> Range {
    Range {
        site: who.site,
        warp: who.warp,
        lane: 0,
        kind: AccessKind::Load,
        space: Space::Shared,
        owner: who.block,
        start,
        bytes: u64::from(bytes),
        reduces: false,
        completes: Completes::Warpgroup { group: (index / WARPS) as u32, number },
    }
}

/// Returns the operands that all threads of the group have in common.
fn operands<O: Observer>(step: &mut Step<'_, '_, O>, product: &Product) -> Result<(u64, u64, bool), Stop> {
    let mut descriptors = [0; 2];
    for (bits, slot) in descriptors.iter_mut().zip(product.descriptors()) {
        let Some(slot) = slot else { continue };
        let row = step.registers().w64[slot as usize];
        *bits = row[0];
        let other = lanes::select(u32::MAX, |lane| row[lane] != row[0]);
        if other != 0 {
            let title = "the lanes of a warp execute `wgmma` with different descriptors";
            return Err(step.fault(lanes::first(other), "warpgroup", title));
        }
    }
    let (slot, negated) = product.adds;
    let adds = step.registers().pred[slot as usize];
    if adds != 0 && adds != u32::MAX {
        let title = "the lanes of a warp execute `wgmma` with different predicates `scale-d`";
        return Err(step.fault(lanes::first(!adds), "warpgroup", title));
    }
    Ok((descriptors[0], descriptors[1], (adds != 0) != negated))
}

/// Propagates undefined values as `mma` does.
fn inspect<O: Observer>(step: &mut Step<'_, '_, O>, product: &Product, adds: bool) {
    if !O::Shadow::ON {
        return;
    }
    let sums = |wanted: bool| if wanted { product.d.clone() } else { Vec::new() };
    let matrix = Matrix {
        kind: MatrixKind::Multiply(product.shape),
        metadata: None,
        d: product.d.clone(),
        a: product.fragments().to_vec(),
        b: Vec::new(),
        c: sums(adds),
        address: None,
        space: Space::Shared,
        stride: None,
    };
    let mut registers = std::mem::take(step.registers());
    let (shadow, mut scene) = step.shadow();
    shadow.matrix(&mut scene, &mut registers, &matrix);
    *step.registers() = registers;
}

/// The factors in shared memory: descriptor, form, and number of rows (of `b`: columns).
fn factors(product: &Product, operands: (u64, u64, bool)) -> impl Iterator<Item = (Descriptor, Form, usize)> {
    let a = match product.a {
        Factor::Registers(_) => None,
        Factor::Shared(_) => Some((Descriptor::of(operands.0), product.forms[0], 16 * WARPS)),
    };
    let b = (Descriptor::of(operands.1), product.forms[1], product.shape.n);
    a.into_iter().chain([b])
}

/// Reports the factors in shared memory to the observers.
fn show_factors<O: Observer>(step: &mut Step<'_, '_, O>, product: &Product, operands: (u64, u64, bool)) {
    let (site, warp) = (step.at.site, step.warp.index);
    let (depth, bytes) = (product.shape.k, product.shape.a.bits() / 8);
    let is_alone = product.descriptors()[0].is_none();
    for (index, (descriptor, form, lines)) in factors(product, operands).enumerate() {
        let is_b = is_alone || index == 1;
        let factor = observe::Factor { site, warp, is_b, descriptor, form, lines, depth, bytes };
        step.worker.observer.factor(&mut step.block.observed, &factor);
    }
}

/// Returns the ranges of shared memory that the factors occupy, after a check of their bounds.
fn ranges<O: Observer>(
    step: &mut Step<'_, '_, O>,
    product: &Product,
    operands: (u64, u64, bool),
) -> Result<Vec<(u64, u32)>, Stop> {
    let bytes = product.shape.a.bits() / 8;
    let mut chunks = Vec::new();
    for (descriptor, form, rows) in factors(product, operands) {
        let [outer, inner] = extent(form, rows, product.shape.k, bytes);
        chunks.extend((0..outer).flat_map(|o| (0..inner).map(move |i| descriptor.chunk(form, o, i))));
    }
    let context = step.context();
    let outside = |&address: &u64| {
        address + CHUNK > context.shared_bytes || context.in_gap(&[address; LANES], 1, CHUNK).is_some()
    };
    if let Some(address) = chunks.iter().copied().find(outside) {
        let who = step.who(0);
        let bad = BadAccess { who, kind: AccessKind::Load, space: Space::Shared, address, bytes: CHUNK as u32 };
        return Err(context.bad_shared(bad));
    }
    chunks.sort_unstable();
    chunks.dedup();
    let mut ranges: Vec<(u64, u32)> = Vec::new();
    for chunk in chunks {
        match ranges.last_mut() {
            Some((start, bytes)) if *start + u64::from(*bytes) == chunk => *bytes += CHUNK as u32,
            _ => ranges.push((chunk, CHUNK as u32)),
        }
    }
    Ok(ranges)
}

/// Completes a group's products below a number, in order.
///
/// # Errors
/// A stop if a product's instruction is not one.
pub fn complete<O: Observer>(step: &mut Step<'_, '_, O>, warp: usize, until: u64) -> Result<(), Stop> {
    let group = step.block.groups.of(warp);
    let (first, count) = (group.first, group.products.len());
    for at in (0..count).take_while(|at| first + (*at as u64) < until) {
        let issued = &mut step.block.groups.of(warp).products[at];
        if std::mem::replace(&mut issued.complete, true) {
            continue;
        }
        let (who, frames, operands) = (issued.who, issued.frames, issued.operands);
        let site = who.site;
        let ranges = std::mem::take(&mut issued.ranges);
        let code = &step.context().program.functions[site.function as usize].code;
        if let Some(Op::Warpgroup(Warpgroup::Multiply(product))) = code.get(site.pc as usize).map(|inst| &inst.op) {
            perform(step, warp / WARPS * WARPS, product, frames, operands);
        }
        let shared_bytes = step.context().shared_bytes;
        for (start, bytes) in ranges {
            let range = read(who, (warp, first + at as u64), (start, bytes));
            let peek = Peek { shared: &step.block.shared, snapshot: &step.worker.snapshot, stored: None };
            step.worker.observer.range(&mut step.block.observed, &range, peek);
            step.block.in_flight.marking -= 1;
            step.block.in_flight.mark(shared_bytes, start, bytes, |mark| mark.reads = mark.reads.saturating_sub(1));
        }
        step.worker.acted = true;
    }
    Ok(())
}

/// Computes the sums of the four warps from `first` on.
fn perform<O: Observer>(
    step: &mut Step<'_, '_, O>,
    first: usize,
    product: &Product,
    frames: [u32; WARPS],
    operands: (u64, u64, bool),
) {
    let shape = &product.shape;
    let bytes = shape.a.bits() / 8;
    let load = |at: u64| {
        let half = |at: u64| u128::from(lanes::load_words(&step.block.shared, at, 8));
        half(at) | half(at + 8) << 64
    };
    let mut found: Vec<Vec<u64>> =
        factors(product, operands).map(|(d, form, rows)| d.read(form, rows, shape.k, bytes, load)).collect();
    let Some(b) = found.pop() else { return };
    let a = found.pop();
    for part in 0..WARPS {
        let a: Result<&[u64], &[Slot]> = match &a {
            Some(matrix) => Ok(&matrix[part * 16 * shape.k..][..16 * shape.k]),
            None => Err(product.fragments()),
        };
        let warp = warp_of(step, first + part);
        // A warp that has ended has no frames.
        let Some(frame) = warp.frames.get_mut(frames[part] as usize) else { continue };
        let registers: &mut Registers = &mut frame.registers;
        multiply_group(registers, &product.d, a, &b, shape, (operands.2, product.negated));
    }
}
