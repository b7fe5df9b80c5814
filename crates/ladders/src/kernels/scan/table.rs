//! The variants of `scan`, one row each. A new variant is a new row.

use crate::kernels::BlockRule;
use crate::kernels::ladder::{Planned, Rung};
use cuda_std::launch::{Call, PtrMut, Slice, SliceMut};
use kernels_gpu::reduce::Op;
use kernels_gpu::scan::*;
use rustwarp::element::Element;

/// A launcher that takes input, shift, distance of the elements to combine, and output.
pub type Step<T> = for<'a> fn(Slice<'a, T>, usize, usize, SliceMut<'a, T>) -> Call<'a>;
/// A launcher that takes input, 1 for exclusive, output, and the sections' totals.
pub type Section<T> = for<'a> fn(Slice<'a, T>, u32, PtrMut<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes offsets, logarithm of a section's length, length, and output.
pub type Add<T> = for<'a> fn(Slice<'a, T>, u32, usize, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes input and the sections' totals.
pub type Total<T> = for<'a> fn(Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes input, 1 for exclusive, the sections' prefixes, and output.
pub type Continue<T> = for<'a> fn(Slice<'a, T>, u32, Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes input, 1 for exclusive, state, and output.
pub type Pass<T> = for<'a> fn(Slice<'a, T>, u32, PtrMut<'a, u64>, PtrMut<'a, T>) -> Call<'a>;

/// The launches that extend a block's scan to the whole array.
pub enum Scheme<T: 'static> {
    /// A launch for each power of two below the length, from one buffer into another.
    Steps(Step<T>),
    /// Scan sections; scan their totals likewise, exclusively; add each section's prefix to its elements.
    ScanThenAdd {
        /// The scan of a section.
        sections: Sections,
        /// Scans sections and writes their totals.
        scan: Section<T>,
        /// Adds the prefixes.
        add: Add<T>,
        /// Whether this row lists the entry of `add`, which several rows share.
        lists_add: bool,
    },
    /// Sum sections; scan the totals likewise, exclusively; scan each section starting from its prefix.
    ReduceThenScan {
        /// The scan of a section.
        sections: Sections,
        /// Writes the sections' totals.
        total: Total<T>,
        /// Scans sections starting from their prefixes.
        scan: Continue<T>,
    },
    /// One launch, in which blocks read the records that earlier blocks have published. The state of 0 is restored
    /// before each launch.
    OnePass {
        /// Number of words of state for this number of tiles.
        state_words: fn(tiles: u64, bytes: usize) -> u64,
        /// Number of elements of a tile.
        len: fn(block: u32) -> u32,
        /// Largest number of additions from an element to a result in the last of this number of tiles.
        depth: fn(tiles: u64) -> u64,
        /// Scans a tile per block.
        scan: Pass<T>,
    },
}

/// Sections of a scan, for a size of the blocks.
#[derive(Clone, Copy)]
pub struct Sections {
    /// Number of elements of a section: a power of two.
    pub len: fn(block: u32) -> u32,
    /// Number of sections that a block scans.
    pub per_block: fn(block: u32) -> u32,
    /// Dynamic shared memory, in elements of this many bytes.
    pub cache: fn(block: u32, bytes: usize) -> u32,
    /// Largest number of additions in a chain within a section.
    pub depth: fn(block: u32) -> u64,
}

/// Rungs of a binary tree, or of doubling distances, over this many elements.
fn levels(section: u32) -> u64 {
    u64::from(section.next_power_of_two().ilog2())
}

/// Sections of which a block scans one; for the arguments see [`Sections`].
fn one(len: fn(u32) -> u32, cache: fn(u32, usize) -> u32, depth: fn(u32) -> u64) -> Sections {
    Sections { len, per_block: |_| 1, cache, depth }
}

/// The table.
pub(super) fn rungs<O: Op<T>, T: Element>() -> Vec<Rung<Planned<Scheme<T>>>> {
    let add: Add<T> = three_phase::scan_three_phase_add::<O, T>;
    let then_add =
        |sections, scan: Section<T>| Planned::Here(Scheme::ScanThenAdd { sections, scan, add, lists_add: false });
    // The chain runs within a thread, over a warp's lanes, over the block's warps, and from there to the element.
    let by_shuffles: fn(u32) -> u64 = |_| 2 * three_phase::ITEMS as u64 + 5 + 5 + 2;
    vec![
        Rung {
            name: "quadratic",
            idea: quadratic::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: quadratic::BLOCK },
            kernel: then_add(one(quadratic::section, |block, _| block, u64::from), quadratic::scan_quadratic::<O, T>),
        },
        Rung {
            name: "serial_per_thread",
            idea: serial_per_thread::IDEA,
            block: BlockRule::Any { default: serial_per_thread::BLOCK },
            kernel: then_add(
                Sections {
                    len: |_| serial_per_thread::RUN,
                    per_block: |block| block,
                    cache: |_, _| 0,
                    depth: |_| serial_per_thread::RUN.into(),
                },
                serial_per_thread::scan_serial_per_thread::<O, T>,
            ),
        },
        Rung {
            name: "naive",
            idea: naive::IDEA,
            block: BlockRule::Any { default: naive::BLOCK },
            kernel: Planned::Here(Scheme::Steps(|input, shift, step, output| {
                naive::scan_naive::<O, T>(input, shift, step, output).into()
            })),
        },
        Rung {
            name: "kogge_stone",
            idea: kogge_stone::IDEA,
            block: BlockRule::PowerOfTwo { min: 2, default: kogge_stone::BLOCK },
            kernel: then_add(
                one(kogge_stone::section, |block, _| 2 * block, |block| levels(kogge_stone::section(block))),
                kogge_stone::scan_kogge_stone::<O, T>,
            ),
        },
        Rung {
            name: "brent_kung",
            idea: brent_kung::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: brent_kung::BLOCK },
            kernel: then_add(
                one(
                    brent_kung::section,
                    |block, _| brent_kung::section(block),
                    |block| 2 * levels(brent_kung::section(block)),
                ),
                brent_kung::scan_brent_kung::<O, T>,
            ),
        },
        Rung {
            name: "blelloch",
            idea: blelloch::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: blelloch::BLOCK },
            kernel: then_add(
                one(
                    blelloch::section,
                    |block, _| blelloch::section(block),
                    |block| 2 * levels(blelloch::section(block)) + 1,
                ),
                blelloch::scan_blelloch::<O, T>,
            ),
        },
        Rung {
            name: "blelloch_padded",
            idea: blelloch_padded::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: blelloch_padded::BLOCK },
            kernel: then_add(
                one(
                    blelloch_padded::section,
                    |block, bytes| blelloch_padded::slots(blelloch_padded::section(block), bytes),
                    |block| 2 * levels(blelloch_padded::section(block)) + 1,
                ),
                blelloch_padded::scan_blelloch_padded::<O, T>,
            ),
        },
        Rung {
            name: "three_phase",
            idea: three_phase::IDEA,
            block: BlockRule::PowerOfTwo { min: 32, default: three_phase::BLOCK },
            kernel: Planned::Here(Scheme::ScanThenAdd {
                sections: one(three_phase::section, |_, _| 0, by_shuffles),
                scan: three_phase::scan_three_phase::<O, T>,
                add,
                lists_add: true,
            }),
        },
        Rung {
            name: "reduce_then_scan",
            idea: reduce_then_scan::IDEA,
            block: BlockRule::PowerOfTwo { min: 32, default: reduce_then_scan::BLOCK },
            kernel: Planned::Here(Scheme::ReduceThenScan {
                sections: one(reduce_then_scan::section, |_, _| 0, by_shuffles),
                total: reduce_then_scan::scan_reduce_then_scan_totals::<O, T>,
                scan: reduce_then_scan::scan_reduce_then_scan::<O, T>,
            }),
        },
        Rung {
            name: "look_back",
            idea: look_back::IDEA,
            block: BlockRule::WholeWarps { default: look_back::BLOCK },
            kernel: Planned::Here(Scheme::OnePass {
                state_words: look_back::state_words,
                len: look_back::section,
                // At worst every tile continues the prefix of the one before.
                depth: |tiles| 2 * three_phase::ITEMS as u64 + 5 + 5 + 3 + tiles,
                scan: look_back::scan_look_back::<O, T>,
            }),
        },
        Rung {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
            kernel: Planned::ByLibrary,
        },
    ]
}
