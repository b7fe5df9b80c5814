//! Descriptors that do not fit the matrices in shared memory that `wgmma` reads by them.
//!
//! - `wgmma-overlap`: two rows of a factor (columns of `b`) are the same bytes at every k, because groups of eight lie
//!   too close. The product would have a row twice. A stride of 0, which repeats a group, is accepted.
//! - `wgmma-swizzle`: the bytes were copied with a swizzle, and the descriptor has another one. Bytes that were copied
//!   without are accepted, since the tensor itself may be stored in a swizzled order.
//! - `wgmma-skipped`: a stride leads past rows of the box that it should lead to, and nothing reads these rows before
//!   they are overwritten or the block ends. A program that leads past rows which others read is correct. One that
//!   copies rows for nothing may be, so this is a warning.
//!
//! What it misses: a stride that is too large for a matrix which no tensor copy has written, one that leads past boxes
//! of other tensors, and the base offset. Rows that something reads for another reason are not reported.

mod boxes;
mod examine;
mod report;

use super::table::Check;
use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Completes, Factor, Observer, Peek, Range, Setting, Site, Touch, Variable,
    no_shadow,
};
use crate::program::{Order, Scope, Space};
use crate::stop::{Finding, block_order};
use boxes::Boxes;
use report::{Defect, Product, TensorCopy};
use std::collections::{BTreeMap, HashMap};

/// The checker of one worker.
#[derive(Debug, Default)]
pub struct Descriptors {
    /// Boxes in the shared memory of resident blocks, by ticket; none of blocks without tensor copies.
    blocks: HashMap<u64, Boxes>,
    /// The defects by instruction, factor and code.
    found: BTreeMap<(Site, bool, &'static str), Found>,
}

/// Occurrences of a defect.
#[derive(Clone, Copy, Debug)]
struct Found {
    product: Product,
    defect: Defect,
    count: u64,
}

/// A resident block.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    ticket: u64,
    /// `%ctaid`.
    id: [u32; 3],
}

impl Descriptors {
    fn record(&mut self, (product, defect): (Product, Defect)) {
        self.merge(Found { product, defect, count: 1 });
    }

    /// Adds occurrences; the one of the first block is kept.
    fn merge(&mut self, other: Found) {
        let key = (other.product.site, other.product.is_b, other.defect.code());
        let mine = self.found.entry(key).or_insert(Found { count: 0, ..other });
        let count = mine.count + other.count;
        if block_order(other.product.block) < block_order(mine.product.block) {
            *mine = other;
        }
        mine.count = count;
    }
}

impl Check for Descriptors {
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        let diagnostic = |found: &Found| report::diagnostic(setting, &found.product, &found.defect);
        self.found.values().map(|found| Finding::new(diagnostic(found), found.count)).collect()
    }
}

impl Observer for Descriptors {
    type Block = Resident;
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> Resident {
        Resident { ticket: shape.ticket, id: shape.block }
    }

    fn end(&mut self, block: Resident) {
        let left = self.blocks.remove(&block.ticket);
        left.into_iter().flat_map(Boxes::end).for_each(|found| self.record(found));
    }

    fn touch(&mut self, _: &mut Resident, touch: &Touch<'_>) {
        if touch.space != Space::Shared || self.blocks.is_empty() {
            return;
        }
        let Some(boxes) = self.blocks.get_mut(&touch.owner) else { return };
        let mut found = Vec::new();
        crate::lanes::each(touch.mask, |lane| {
            let (start, bytes) = (touch.addresses[lane], u64::from(touch.bytes));
            if matches!(touch.kind, AccessKind::Load | AccessKind::Atomic) {
                boxes.read(start, bytes);
            }
            if touch.kind != AccessKind::Load {
                found.extend(boxes.write(start, bytes));
            }
        });
        found.into_iter().for_each(|found| self.record(found));
    }

    fn range(&mut self, _: &mut Resident, range: &Range, _: Peek<'_>) {
        // The reads of products are events of their own.
        if range.space != Space::Shared || matches!(range.completes, Completes::Warpgroup { .. }) {
            return;
        }
        let Some(boxes) = self.blocks.get_mut(&range.owner) else { return };
        match range.kind {
            AccessKind::Load => boxes.read(range.start, range.bytes),
            _ => boxes.write(range.start, range.bytes).into_iter().for_each(|found| self.record(found)),
        }
    }

    fn boxed(&mut self, block: &mut Resident, written: &Boxed<'_>) {
        let Boxed { site, warp, lane, owner, tile } = *written;
        let copy = TensorCopy { site, block: block.id, warp, lane };
        self.blocks.entry(owner).or_default().add(tile, copy);
    }

    fn factor(&mut self, block: &mut Resident, factor: &Factor) {
        let Factor { site, warp, is_b, descriptor, .. } = *factor;
        let product = Product { site, block: block.id, warp, is_b, descriptor };
        let boxes = self.blocks.get_mut(&block.ticket);
        let mut defect = examine::overlap(factor);
        if let Some(boxes) = boxes {
            defect = defect.or_else(|| examine::swizzle(factor, boxes));
            if defect.is_none() {
                examine::skip(factor, product, boxes);
            }
            examine::read(factor, boxes);
        }
        defect.into_iter().for_each(|defect| self.record((product, defect)));
    }

    fn absorb(&mut self, other: Self) {
        other.found.into_values().for_each(|found| self.merge(found));
    }

    fn ran(&mut self, _: &mut Resident, _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, _: &mut Resident, _: &Bypass<'_>) {}

    fn fence(&mut self, _: &mut Resident, _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, _: &mut Resident, _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, _: &mut Resident, _: u32, _: u32) {}

    fn barrier(&mut self, _: &mut Resident, _: u32, _: u32, _: u32) {}

    fn left_out(&mut self, _: &mut Resident, _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, _: &mut Resident, _: u32, _: u32) {}

    fn announce(&mut self, _: &mut Resident, _: &Touch<'_>) {}

    fn issue(&mut self, _: &mut Resident, _: &Range, _: Peek<'_>) {}

    fn release(&mut self, _: &mut Resident, _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, _: &mut Resident, _: u32, _: u32, _: Variable, _: Scope) {}
}
