//! Stores to global memory that fill only parts of the sectors that they access.
//!
//! Memory moves in sectors of 32 bytes. A warp whose lanes store four bytes each, 64 bytes apart, touches 32 sectors to
//! write what would fit in four. An instruction is reported when its executions, taken together, leave at least half of
//! the bytes of their sectors unwritten.
//!
//! What it misses: stores that complete each other's sectors in the level-2 cache before these are written back count
//! as partial all the same, so a finding is a place to look at. Executions that touch one sector are left out, as those
//! of one thread that stores a result are, and so are atomics and asynchronous copies.

use super::table::Check;
use crate::count::sectors::{different_bytes, sectors};
use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Setting, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Scope, Space};
use crate::stop::{Diagnostic, Finding, Place};
use std::collections::BTreeMap;

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// The stores of one worker, by instruction.
#[derive(Debug, Default)]
pub struct PartialStores {
    stores: BTreeMap<Site, Stores>,
}

/// Executions of one store that touch more than one sector.
#[derive(Clone, Copy, Debug)]
struct Stores {
    executions: u64,
    sectors: u64,
    /// Different bytes that each execution writes, summed.
    bytes: u64,
    /// `%ctaid`, warp and lane of the first execution.
    first: ([u32; 3], u32, usize),
}

impl Check for PartialStores {
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        let partial = self.stores.into_iter().filter(|(_, stores)| 2 * stores.bytes <= SECTOR * stores.sectors);
        partial.map(|(site, stores)| finding(setting, site, stores)).collect()
    }
}

fn finding(setting: &Setting<'_>, site: Site, stores: Stores) -> Finding {
    let Stores { executions, sectors, bytes, first: (block, warp, lane) } = stores;
    let title = format!(
        "this store writes {:.1} of the {SECTOR} bytes of each sector that it touches, on average",
        bytes as f64 / sectors as f64
    );
    let mut diagnostic = Diagnostic::new("partial-sectors", title);
    diagnostic.place = Some(Place::of(setting.program, site.function, site.pc));
    diagnostic.thread = Some(setting.thread(block, warp, lane));
    diagnostic
        .notes
        .push(format!("its {bytes} bytes lie in {sectors} sectors, and would fit in {}", bytes.div_ceil(SECTOR)));
    diagnostic.help = Some(
        "let neighbouring lanes store neighbouring elements: exchange them through shared memory, or split an array of \
         structures into arrays"
            .to_owned(),
    );
    Finding::new(diagnostic, executions)
}

impl Observer for PartialStores {
    /// `%ctaid`.
    type Block = [u32; 3];
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> [u32; 3] {
        shape.block
    }

    fn touch(&mut self, block: &mut [u32; 3], touch: &Touch<'_>) {
        if (touch.kind, touch.space) != (AccessKind::Store, Space::Global) {
            return;
        }
        let touched = u64::from(sectors(touch.addresses, touch.mask, touch.bytes, *touch.spread));
        if touched < 2 {
            return;
        }
        let first = (*block, touch.warp, touch.mask.trailing_zeros() as usize);
        let none = Stores { executions: 0, sectors: 0, bytes: 0, first };
        let stores = self.stores.entry(touch.site).or_insert(none);
        stores.executions += 1;
        stores.sectors += touched;
        stores.bytes += different_bytes(touch.addresses, touch.mask, touch.bytes, *touch.spread);
    }

    fn absorb(&mut self, other: Self) {
        for (site, theirs) in other.stores {
            let mine = self.stores.entry(site).or_insert(Stores { executions: 0, sectors: 0, bytes: 0, ..theirs });
            mine.executions += theirs.executions;
            mine.sectors += theirs.sectors;
            mine.bytes += theirs.bytes;
            mine.first = mine.first.min(theirs.first);
        }
    }
    fn end(&mut self, _: [u32; 3]) {}

    fn ran(&mut self, _: &mut [u32; 3], _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, _: &mut [u32; 3], _: &Bypass<'_>) {}

    fn fence(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, _: &mut [u32; 3], _: u32, _: u32) {}

    fn barrier(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: u32) {}

    fn left_out(&mut self, _: &mut [u32; 3], _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, _: &mut [u32; 3], _: u32, _: u32) {}

    fn announce(&mut self, _: &mut [u32; 3], _: &Touch<'_>) {}

    fn issue(&mut self, _: &mut [u32; 3], _: &Range, _: Peek<'_>) {}

    fn range(&mut self, _: &mut [u32; 3], _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, _: &mut [u32; 3], _: &Boxed<'_>) {}

    fn factor(&mut self, _: &mut [u32; 3], _: &Factor) {}

    fn release(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Variable, _: Scope) {}
}
