//! Findings of the machine and of checkers that inspect every lane, one per instruction and code.

use super::{Setting, Site};
use crate::stop::{Diagnostic, Finding, Place, block_order};
use std::collections::HashMap;

/// The lane to which a finding is attributed.
#[derive(Clone, Copy, Debug)]
pub struct Blamed {
    /// `%ctaid`.
    pub block: [u32; 3],
    /// Index of the warp in the block.
    pub warp: u32,
    pub lane: usize,
    pub site: Site,
}

/// Findings by instruction and code.
#[derive(Debug, Default)]
pub struct Findings(HashMap<(Site, &'static str), Finding>);

impl Findings {
    /// Adds a finding, which does not end the run. One is kept per instruction, with the text of the first block that
    /// had it.
    #[cold]
    pub fn add(
        &mut self,
        setting: &Setting<'_>,
        blamed: Blamed,
        code: &'static str,
        describe: impl FnOnce() -> Diagnostic,
    ) {
        let Blamed { block, warp, lane, site } = blamed;
        if let Some(seen) = self.0.get_mut(&(site, code)) {
            let first = seen.diagnostic.thread.is_some_and(|seen| block_order(seen.block) <= block_order(block));
            if first {
                seen.count += 1;
                return;
            }
        }
        let place = Some(Place::of(setting.program, site.function, site.pc));
        let thread = Some(setting.thread(block, warp, lane));
        let finding = Finding::new(Diagnostic { place, thread, ..describe() }, 1);
        self.merge((site, code), finding);
    }

    /// Merges the findings of another worker.
    pub fn absorb(&mut self, other: Self) {
        other.0.into_iter().for_each(|(key, finding)| self.merge(key, finding));
    }

    /// Returns the findings in program order.
    pub fn finish(self) -> Vec<Finding> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, finding)| finding).collect()
    }

    fn merge(&mut self, key: (Site, &'static str), finding: Finding) {
        match self.0.get_mut(&key) {
            Some(seen) => seen.absorb(finding),
            None => drop(self.0.insert(key, finding)),
        }
    }
}
