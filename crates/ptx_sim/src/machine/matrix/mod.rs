//! `mma`, `ldmatrix`, `stmatrix`, `movmatrix` and `wmma`: the whole warp executes them together.
//!
//! Lanes that arrive first wait for the others of their warp as at a `*.sync` instruction; all must arrive at the same
//! instruction.

mod fragments;
mod rows;

use super::block::Block;
use super::part::{Part, Shape};
use super::step::Step;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::isa::matrix::{Invalid, multiply};
use crate::lanes;
use crate::observe::{AccessKind, Observer, Shadow, Site};
use crate::program::{Access, Address, Collective, Matrix, MatrixKind, Order, Scope};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop::{Diagnostic, Stop};

/// Executes a matrix instruction with all lanes.
///
/// # Errors
/// A stop if lanes are missing, or an address faults.
#[inline(never)]
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    matrix: &Matrix,
) -> Result<(), Stop> {
    if O::Shadow::ON {
        let (shadow, mut scene) = step.shadow();
        shadow.matrix(&mut scene, registers, matrix);
    }
    match &matrix.kind {
        MatrixKind::Multiply(shape) => {
            let rows = [matrix.d.as_slice(), &matrix.a, &matrix.b, &matrix.c];
            multiply(registers, rows, matrix.metadata, shape).map_err(|invalid| no_metadata(step, invalid))?;
        }
        MatrixKind::Transpose => {
            if let (&[d], &[a]) = (matrix.d.as_slice(), matrix.a.as_slice()) {
                let rows = registers.w32[a as usize];
                set(registers, d, transpose(&rows));
            }
        }
        MatrixKind::Load { transposed, format } => rows::load(step, registers, matrix, *transposed, *format)?,
        MatrixKind::Store { transposed } => rows::store(step, registers, matrix, *transposed)?,
        MatrixKind::LoadFragment(fragment) => fragments::load(step, registers, matrix, fragment)?,
        MatrixKind::StoreFragment(fragment) => fragments::store(step, registers, matrix, fragment)?,
    }
    Ok(())
}

/// Lets some lanes wait for the others.
///
/// # Errors
/// A stop if lanes are missing, or an address faults.
pub fn wait<O: Observer>(step: &mut Step<'_, '_, O>, split: Split) -> Result<(), Stop> {
    if step.warp.live != u32::MAX {
        return Err(missing_lanes(step.worker, step.block, step.warp, split.mask, step.at.site));
    }
    let state = State::Collective { mask: u32::MAX, kind: Collective::Matrix };
    step.warp.splits.push(Split { state, ..split });
    Ok(())
}

/// Called when all live lanes wait at a matrix instruction: if it is the same one, they become one split and
/// execute it.
///
/// # Errors
/// A stop if lanes are missing, or an address faults.
pub fn meet<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
    group: &[Split],
    came: u32,
) -> Result<(), Stop> {
    let Some(first) = group.first() else { return Ok(()) };
    let site = Site { function: warp.frames[first.frame as usize].function, pc: first.pc };
    if came != u32::MAX {
        return Err(missing_lanes(worker, block, warp, came, site));
    }
    if let Some(other) = group.iter().find(|split| (split.frame, split.pc) != (first.frame, first.pc)) {
        let line = worker.context.program.functions[warp.frames[other.frame as usize].function as usize]
            .code
            .get(other.pc as usize)
            .map_or(0, |inst| inst.line);
        let title = format!(
            "{} execute this `.aligned` instruction, {} the one in line {line}",
            lanes::describe(first.mask),
            lanes::describe(other.mask)
        );
        return Err(worker
            .context
            .fault(block.who(warp, lanes::first(first.mask), site), Diagnostic::new("not-aligned", title)));
    }
    for split in group {
        warp.splits.push(Split { state: State::Ready, ..*split });
    }
    if let Some(mut split) = warp.pick() {
        warp.absorb(&mut split);
        warp.splits.push(split);
    }
    Ok(())
}

fn missing_lanes<O: Observer>(
    worker: &Worker<'_, O>,
    block: &Block<O::Block>,
    warp: &Warp,
    came: u32,
    site: Site,
) -> Stop {
    let title = format!(
        "a matrix instruction needs all 32 lanes of the warp, but only {} have not exited",
        lanes::describe(came & warp.live)
    );
    worker.context.fault(block.who(warp, lanes::first(came), site), Diagnostic::new("missing-lanes", title))
}

#[cold]
fn no_metadata<O: Observer>(step: &Step<'_, '_, O>, Invalid { lane, bits }: Invalid) -> Stop {
    let title = format!("the metadata of a sparse matrix contains {bits:#06b}, which PTX leaves undefined");
    step.fault(lane, "sparse-metadata", title)
}

/// Returns the equivalent ordinary store of these registers, for the observers.
fn stored(matrix: &Matrix, bytes: u8, registers: Vec<u32>) -> Access {
    Access {
        space: matrix.space,
        order: Order::Weak,
        scope: Scope::Sys,
        bytes,
        wide: false,
        sign_extend: 0,
        registers,
        address: matrix.address.unwrap_or(Address { base: 0, narrow: false, offset: 0 }),
        non_coherent: false,
        used_bytes: u64::MAX,
    }
}

fn set(registers: &mut Registers, slot: u32, row: [u32; LANES]) {
    if slot != NO_SLOT {
        registers.w32[slot as usize] = row;
    }
}

/// Transposes an 8x8 matrix of 16-bit elements: lane `4 r + c` holds elements `2 c` and `2 c + 1` of row `r`.
fn transpose(held: &[u32; LANES]) -> [u32; LANES] {
    let element = |row: usize, column: usize| held[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        element(column, row) | element(column + 1, row) << 16
    })
}

/// Marks the bytes that each lane writes as defined.
fn defines<O: Observer>(step: &mut Step<'_, '_, O>, part: Part<'_>, bytes: u32) {
    if O::Shadow::ON {
        let (shadow, mut scene) = step.shadow();
        let Part { space, addresses, mask } = part;
        lanes::each(mask, |lane| shadow.writes(&mut scene, space, lane, addresses[lane], u64::from(bytes)));
    }
}

fn weak(kind: AccessKind, bytes: u32, matrix_rows: bool) -> Shape {
    Shape { kind, order: Order::Weak, scope: Scope::Sys, bytes, matrix_rows }
}
