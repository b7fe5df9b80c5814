//! State of a block's warpgroups: the products that were executed and not waited for.

use crate::machine::position::Who;
use crate::observe::Site;
use std::collections::{BTreeMap, VecDeque};

/// Number of warps of a warpgroup.
pub const WARPS: usize = 4;

/// The warpgroups of a block that have executed `wgmma`, by index.
#[derive(Debug, Default)]
pub struct Groups(BTreeMap<usize, Group>);

/// State of one warpgroup.
#[derive(Debug, Default)]
pub struct Group {
    /// Products that some warp has not waited for; the first has the number `first`.
    pub products: VecDeque<Issued>,
    pub first: u64,
    /// Number of products that each warp has executed.
    pub issued: [u64; WARPS],
    /// That number at each `commit_group`, by warp.
    pub commits: [Vec<u64>; WARPS],
    /// Number of products that each warp has waited for.
    pub waited: [u64; WARPS],
}

/// A product that at least one warp has executed.
#[derive(Debug)]
pub struct Issued {
    /// The first warp that executed it.
    pub who: Who,
    /// Frame of its registers, by warp.
    pub frames: [u32; WARPS],
    /// Mask of the warps that have executed it.
    pub came: u8,
    /// The descriptors of `a` (0 if it is in registers) and `b`, and whether sums are added.
    pub operands: (u64, u64, bool),
    /// Words of shared memory that it reads: start and bytes.
    pub ranges: Vec<(u64, u32)>,
    /// Whether the sums were written.
    pub complete: bool,
    /// Whether an early access to its registers was reported.
    pub reported: bool,
}

/// A product whose registers a warp may not access yet.
#[derive(Clone, Copy, Debug)]
pub struct Owed {
    pub number: u64,
    pub site: Site,
    pub frame: u32,
}

impl Groups {
    /// Returns the group of a warp.
    pub fn of(&mut self, warp: usize) -> &mut Group {
        self.0.entry(warp / WARPS).or_default()
    }

    /// Returns the group of a warp if it has executed `wgmma`.
    pub fn get(&self, warp: usize) -> Option<&Group> {
        self.0.get(&(warp / WARPS))
    }

    /// Returns the product that reads a word among those that all warps have executed.
    pub fn reader(&self, start: u64, end: u64) -> Option<Who> {
        let overlaps = |(first, bytes): &(u64, u32)| *first < end && start < first + u64::from(*bytes);
        let running = |issued: &&Issued| !issued.complete && issued.ranges.iter().any(overlaps);
        self.0.values().flat_map(|group| &group.products).find(running).map(|issued| issued.who)
    }

    /// Returns the products that a warp has executed and not waited for, the newest first, without those whose
    /// registers were found to be accessed too early.
    pub fn owed(&self, warp: usize) -> impl Iterator<Item = Owed> {
        let index = warp % WARPS;
        self.get(warp).into_iter().flat_map(move |group| {
            let numbers = group.waited[index]..group.issued[index];
            numbers.rev().filter_map(move |number| {
                let issued = group.products.get(number.checked_sub(group.first)? as usize)?;
                if issued.reported {
                    return None;
                }
                Some(Owed { number, site: issued.who.site, frame: issued.frames[index] })
            })
        })
    }
}

impl Group {
    /// Records that an early access to a product's registers was reported.
    pub fn report(&mut self, number: u64) {
        if let Some(issued) = self.products.get_mut((number - self.first) as usize) {
            issued.reported = true;
        }
    }

    /// Whether all warps have executed the products below a number.
    pub fn all_came(&self, until: u64) -> bool {
        self.issued.iter().all(|issued| *issued >= until)
    }

    /// Returns the warps that have executed the products below a number.
    pub fn first_missing(&self, until: u64) -> u32 {
        (0..WARPS).filter(|&warp| self.issued[warp] >= until).fold(0, |mask, warp| mask | 1 << warp)
    }

    /// Drops the products that all warps have waited for.
    pub fn drop_waited(&mut self) {
        let least = self.waited.iter().copied().min().unwrap_or(0);
        while self.first < least && self.products.pop_front().is_some() {
            self.first += 1;
        }
    }
}
