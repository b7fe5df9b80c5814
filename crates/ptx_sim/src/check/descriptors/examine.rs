//! The rules for a factor of a product: see the checker's text.

use super::boxes::{At, Boxes, Skip};
use super::report::{Defect, Field, Offset, Product};
use crate::isa::matrix::{CHUNK, Form};
use crate::observe::Factor;
use std::collections::HashMap;

/// Rows or columns of a group, which the swizzle permutes together.
const GROUP: u64 = 8;

/// Returns the first two lines of a factor that are the same bytes at every k.
pub fn overlap(factor: &Factor) -> Option<Defect> {
    let row = row_bytes(factor);
    let [outer, inner] = factor.extent();
    // Lines of a chunk, and the bytes that the offset between groups of lines leads over.
    let (field, per_unit, group) = match (factor.form, factor.descriptor.width) {
        (Form::K, _) => (Field::Stride, 1, GROUP * row),
        // The lines of a chunk lie beside those of the next k.
        (Form::Mn, 1) => return None,
        (Form::Mn, _) => (Field::Leading, CHUNK / factor.bytes as u64, row),
    };
    let given = field.of(&factor.descriptor);
    if given == 0 || given >= group {
        return None;
    }
    let units = if factor.form == Form::K { outer } else { inner };
    let mut seen = HashMap::new();
    for unit in 0..units {
        let place: Vec<u64> = match factor.form {
            Form::K => (0..inner).map(|i| factor.chunk(unit, i)).collect(),
            Form::Mn => (0..outer).map(|o| factor.chunk(o, unit)).collect(),
        };
        if let Some(other) = seen.insert(place, unit) {
            let needed = if factor.form == Form::K { group } else { outer * row };
            let lines = [other, unit].map(|unit| unit * per_unit);
            return Some(Defect::Overlap { lines, offset: Offset { field, given, needed } });
        }
    }
    None
}

/// Returns the first box with another swizzle than the descriptor's.
pub fn swizzle(factor: &Factor, boxes: &Boxes) -> Option<Defect> {
    chunks(factor).find_map(|address| {
        let (_, written) = boxes.at(address)?;
        let copied = written.tile.map.swizzle;
        let differs = copied > 1 && copied != factor.descriptor.width;
        differs.then_some(Defect::Swizzle { copied, copy: written.copy })
    })
}

/// Records which rows of boxes the descriptor's offsets lead past.
pub fn skip(factor: &Factor, product: Product, boxes: &mut Boxes) {
    let [outer, inner] = factor.extent();
    let width = factor.descriptor.width;
    // The offset from eight rows of a box to the next, and the one to the box beside it.
    let (down, across) = match (factor.form, width) {
        (Form::Mn, 1) => (Field::Leading, Some(Field::Stride)),
        (Form::K, 1) | (Form::Mn, _) => (Field::Stride, Some(Field::Leading)),
        (Form::K, _) => (Field::Stride, None),
    };
    for group in 0..(outer / GROUP).saturating_sub(1) {
        let places = [factor.chunk(GROUP * group, 0), factor.chunk(GROUP * (group + 1), 0)];
        skip_rows(factor, product, boxes, down, places);
    }
    let Some(across) = across else { return };
    for part in 0..inner.div_ceil(width).saturating_sub(1) {
        let places = [factor.chunk(0, width * part), factor.chunk(0, width * (part + 1))];
        skip_box(factor, product, boxes, across, places);
    }
}

/// Marks the rows of a factor as read.
pub fn read(factor: &Factor, boxes: &mut Boxes) {
    chunks(factor).for_each(|address| boxes.read(address, CHUNK));
}

/// Compares the distance of two groups of rows with that of eight rows of the box.
fn skip_rows(factor: &Factor, product: Product, boxes: &mut Boxes, field: Field, [here, next]: [u64; 2]) {
    let Some((At { index, row, chunk }, written)) = boxes.at(here) else { return };
    let tile = written.tile;
    let (first, rows) = (row + GROUP, tile.row_count());
    if tile.map.pitch() != row_bytes(factor) || first >= rows || tile.address(first, chunk) == next {
        return;
    }
    let offset = Offset { field, given: field.of(&factor.descriptor), needed: GROUP * row_bytes(factor) };
    boxes.skip(index, Skip { first, end: rows.min(first + GROUP), product, offset });
}

/// Compares the distance of two parts with that of two boxes that are neighbours in the tensor.
fn skip_box(factor: &Factor, product: Product, boxes: &mut Boxes, field: Field, [here, next]: [u64; 2]) {
    let Some((At { row, .. }, written)) = boxes.at(here) else { return };
    let tile = written.tile;
    if tile.map.pitch() != row_bytes(factor) {
        return;
    }
    let elements = row_bytes(factor) / tile.map.element.bytes();
    let beside = || boxes.beside(tile, elements).filter(|(_, other)| other.has(row));
    if beside().any(|(_, other)| other.tile.address(row, 0) == next) {
        return;
    }
    let behind = |(index, other): (usize, &super::boxes::Written)| {
        other.tile.shared.checked_sub(tile.shared).map(|distance| (distance, index))
    };
    let Some((needed, index)) = beside().filter_map(behind).min() else { return };
    let offset = Offset { field, given: field.of(&factor.descriptor), needed };
    let [outer, _] = factor.extent();
    boxes.skip(index, Skip { first: row, end: row + outer, product, offset });
}

/// The offset of each chunk of a factor.
fn chunks(factor: &Factor) -> impl Iterator<Item = u64> {
    let [outer, inner] = factor.extent();
    (0..outer).flat_map(move |o| (0..inner).map(move |i| factor.chunk(o, i)))
}

/// Bytes of a row of the swizzle's pattern: of a chunk without one.
fn row_bytes(factor: &Factor) -> u64 {
    factor.descriptor.width * CHUNK
}
