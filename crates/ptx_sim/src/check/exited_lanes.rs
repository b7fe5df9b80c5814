//! Block barriers that some lanes of a warp leave out by ending: `if (threadIdx.x % 2 == 0) __syncthreads();` at a
//! kernel's end.
//!
//! A barrier waits only for threads that have not ended, so a run goes on, but the program probably means a barrier for
//! all threads. Warps that have ended as a whole are not reported: that is the usual early return. A warp some of whose
//! lanes have returned early, as the last one of `if (i >= n) return;`, is reported, since in machine code and in PTX
//! it cannot be distinguished from a barrier in a branch.

use super::table::Check;
use crate::observe::{
    BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Setting, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Scope};
use crate::stop::{Diagnostic, Finding, Place};
use std::collections::BTreeMap;

/// Barriers that lanes have left out, by instruction.
#[derive(Debug, Default)]
pub struct ExitedLanes {
    barriers: BTreeMap<Site, LeftOut>,
}

/// Executions of one barrier by warps with exited lanes.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    executions: u64,
    /// `%ctaid`, warp and exited lanes of the first execution.
    first: ([u32; 3], u32, u32),
}

impl Check for ExitedLanes {
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        self.barriers.into_iter().map(|(site, left_out)| finding(setting, site, left_out)).collect()
    }
}

fn finding(setting: &Setting<'_>, site: Site, left_out: LeftOut) -> Finding {
    let (block, warp, exited) = left_out.first;
    let title = format!(
        "{} of warp {warp} ended instead of reaching this barrier, where other lanes of the warp waited",
        crate::lanes::describe(exited)
    );
    let mut diagnostic = Diagnostic::new("barrier-exited", title);
    diagnostic.place = Some(Place::of(setting.program, site.function, site.pc));
    diagnostic.thread = Some(setting.thread(block, warp, exited.trailing_zeros() as usize));
    diagnostic.notes.push("the barrier waits only for threads that have not ended".to_owned());
    diagnostic.help = Some(
        "move the barrier out of the branch, or guard the work instead of returning, so that all threads of the warp \
         reach it"
            .to_owned(),
    );
    Finding::new(diagnostic, left_out.executions)
}

impl Observer for ExitedLanes {
    /// `%ctaid`.
    type Block = [u32; 3];
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> [u32; 3] {
        shape.block
    }

    fn left_out(&mut self, block: &mut [u32; 3], warp: u32, site: Site, exited: u32) {
        let first = (*block, warp, exited);
        self.barriers.entry(site).or_insert(LeftOut { executions: 0, first }).executions += 1;
    }

    fn absorb(&mut self, other: Self) {
        for (site, theirs) in other.barriers {
            let mine = self.barriers.entry(site).or_insert(LeftOut { executions: 0, ..theirs });
            mine.executions += theirs.executions;
            mine.first = mine.first.min(theirs.first);
        }
    }

    fn touch(&mut self, _: &mut [u32; 3], _: &Touch<'_>) {}

    fn end(&mut self, _: [u32; 3]) {}

    fn ran(&mut self, _: &mut [u32; 3], _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, _: &mut [u32; 3], _: &Bypass<'_>) {}

    fn fence(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, _: &mut [u32; 3], _: u32, _: u32) {}

    fn barrier(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: u32) {}

    fn proxy_fence(&mut self, _: &mut [u32; 3], _: u32, _: u32) {}

    fn announce(&mut self, _: &mut [u32; 3], _: &Touch<'_>) {}

    fn issue(&mut self, _: &mut [u32; 3], _: &Range, _: Peek<'_>) {}

    fn range(&mut self, _: &mut [u32; 3], _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, _: &mut [u32; 3], _: &Boxed<'_>) {}

    fn factor(&mut self, _: &mut [u32; 3], _: &Factor) {}

    fn release(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, _: &mut [u32; 3], _: u32, _: u32, _: Variable, _: Scope) {}
}
