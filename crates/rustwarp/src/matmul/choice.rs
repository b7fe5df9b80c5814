//! Which tile computes a product, and how many blocks divide the depth of each.

use super::batch::Batch;
use super::sizes::Sizes;
use super::tile::{Real, Tile, Times};
use kernels_gpu::matmul::best;

/// A tile, and how the blocks divide the depth.
pub(super) struct Division<'v, T: 'static> {
    pub tile: &'v Tile<T>,
    /// The first tiles of all products, which have a block each; those of several rounds.
    pub whole: u32,
    /// Depth of the part of another tile that a block computes: the whole depth, or a multiple of [`STEP`].
    pub depth: u32,
}

/// Parts are multiples of this depth, which is that of the deepest stage, so that only the last one has an odd stage.
const STEP: usize = 64;

/// Most parts of a tile: the last block reads the sums of all.
const MOST: usize = 64;

/// Most bytes of sums of parts: few tiles are divided, so that more would not be faster.
const MOST_BYTES: usize = 64 << 20;

/// Nanoseconds that the last block of a tile takes for its ticket, and at least for each round in which its slices read
/// sums.
const JOIN: [f64; 2] = [2000.0, 500.0];
/// Bytes of sums that a multiprocessor writes or reads in a nanosecond, and those where others do so all the time:
/// between rounds of parts.
const SUMS_BYTES: [f64; 2] = [120.0, 30.0];

/// The number of parts of this depth; one for a product without depth.
pub(super) fn parts(sizes: &Sizes, depth: u32) -> u32 {
    (sizes.k as u32).div_ceil(depth.max(1)).max(1)
}

/// The tile and the parts with which the busiest multiprocessor is expected to finish first; `None` without tiles.
pub(super) fn fastest<'v, T: Real>(
    allowed: impl Iterator<Item = &'v Tile<T>>,
    sizes: &Sizes,
    batch: &Batch,
    multiprocessors: u32,
) -> Option<Division<'v, T>> {
    let mut fastest: Option<(f64, Division<'v, T>)> = None;
    for tile in allowed {
        let best::Tile { rows, columns, .. } = tile.size();
        let tiles =
            sizes.m.div_ceil(rows as usize) as f64 * sizes.n.div_ceil(columns as usize) as f64 * batch.count as f64;
        let turned = match sizes.transposed {
            [_, true] => tile.times().turned,
            [true, false] => tile.times().straight,
            [false, false] => 1.0,
        };
        let slowdown = if is_fast(tile, sizes, batch) { turned } else { tile.times().plain };
        for (rounds, depth) in divisions(tile, sizes, tiles, multiprocessors) {
            let whole = rounds * f64::from(multiprocessors);
            let work = Work {
                rounds,
                deep: slowdown * sizes.k as f64,
                left: (tiles - whole) / f64::from(multiprocessors),
                parts: parts(sizes, depth as u32).into(),
                depth: slowdown * depth as f64,
            };
            let time = work.time(tile);
            if fastest.as_ref().is_none_or(|&(least, _)| time < least) {
                fastest = Some((time, Division { tile, whole: whole as u32, depth: depth as u32 }));
            }
        }
    }
    fastest.map(|(_, division)| division)
}

/// The ways to divide this many tiles: rounds of whole ones, and the depth of the parts of the others. None is divided,
/// or all are, or those that are left after as many rounds as there are.
fn divisions<T>(tile: &Tile<T>, sizes: &Sizes, tiles: f64, multiprocessors: u32) -> Vec<(f64, usize)> {
    let best::Tile { rows, columns, divides, .. } = tile.size();
    let mut divisions = vec![(0.0, sizes.k)];
    if !divides {
        return divisions;
    }
    let after = |rounds: f64| {
        let left = tiles - rounds * f64::from(multiprocessors);
        let room = MOST_BYTES as f64 / (left * f64::from(rows * columns) * size_of::<T>() as f64);
        (2..=MOST.min(room as usize).min(sizes.k.div_ceil(STEP)))
            .map(move |count| (rounds, sizes.k.div_ceil(count).next_multiple_of(STEP)))
    };
    divisions.extend(after(0.0));
    let rounds = (tiles / f64::from(multiprocessors)).floor();
    if rounds > 0.0 {
        divisions.extend(after(rounds));
    }
    divisions
}

/// What the busiest multiprocessor does.
struct Work {
    /// Whole tiles.
    rounds: f64,
    /// Their depth, in steps of a pipeline.
    deep: f64,
    /// Tiles that are divided.
    left: f64,
    /// Their parts.
    parts: f64,
    /// The depth of a part, in the same steps.
    depth: f64,
}

impl Work {
    /// Estimated nanoseconds until it has finished.
    fn time<T: Real>(&self, tile: &Tile<T>) -> f64 {
        let &Self { rounds: whole, deep, left, parts, depth } = self;
        let Times { alone, among_others, start_alone, start, lag, .. } = tile.times();
        let best::Tile { rows, columns, slices, .. } = tile.size();
        let bytes = f64::from(rows * columns) * size_of::<T>() as f64;
        let rounds = (left * parts).ceil();
        let (mut join, mut sums) = (0.0, 0.0);
        if parts > 1.0 {
            join = JOIN[0] + (parts / f64::from(slices)).ceil() * JOIN[1].max(bytes / SUMS_BYTES[0]);
            sums = rounds * bytes / SUMS_BYTES[0] + (rounds - 1.0).max(0.0) * bytes / SUMS_BYTES[1];
        }
        let first = if whole > 0.0 { deep } else { depth };
        // Several blocks take at least as long as one.
        let one = (whole + rounds).min(1.0) * (first * alone + start_alone);
        let all = if whole + rounds > 1.0 {
            (whole * deep + rounds * depth) * among_others + (whole + rounds) * start + first * lag
        } else {
            0.0
        };
        one.max(all) + left.ceil() * join + sums
    }
}

/// Whether the kernel copies the factors asynchronously, which depends on the sizes and on where rows start.
fn is_fast<T: Real>(tile: &Tile<T>, sizes: &Sizes, batch: &Batch) -> bool {
    let Sizes { m, n, transposed, leading_dimensions, .. } = *sizes;
    // Only factors that are not turned are copied in runs.
    let step = |factor: usize| if batch.count > 1 { batch.steps[factor] } else { 0 };
    let off = |length: usize, factor: usize| {
        ![length, leading_dimensions[factor], step(factor)].iter().all(|n| n.is_multiple_of(T::WIDTH))
    };
    let odd = transposed[0] && off(m, 0) || !transposed[1] && off(n, 1);
    tile.size().is_pipelined([m, n], [!transposed[0], transposed[1]]) && (tile.size().any || !odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tile and the number of parts on an H200.
    fn chosen<T: Real>(sizes: Sizes, batch: Batch) -> (String, u32) {
        let tiles = T::tiles();
        let Division { tile, depth, .. } = fastest(tiles.iter(), &sizes, &batch, 132).expect("a tile");
        assert!(depth as usize == sizes.k || (depth as usize).is_multiple_of(STEP), "{sizes:?}: {depth}");
        (tile.name().to_owned(), parts(&sizes, depth))
    }

    fn cube(side: usize) -> Sizes {
        Sizes { m: side, n: side, k: side, ..Sizes::default() }
    }

    #[test]
    fn the_tile_is_chosen_for_the_blocks_of_all_products() {
        let single = |sizes| chosen::<f32>(sizes, Batch::SINGLE);
        for (side, tile) in
            [(0, "large"), (1, "single"), (32, "mini"), (64, "mini"), (256, "mini"), (512, "short"), (2048, "large")]
        {
            assert_eq!(single(cube(side)), (tile.to_owned(), 1), "{side}");
        }
        let sizes = Sizes { k: 64, ..cube(256) };
        assert_eq!(chosen::<f32>(sizes, Batch::contiguous(660, sizes).expect("it is small")).0, "large");
        // Many small products share a multiprocessor.
        let many =
            |count, side| chosen::<f32>(cube(side), Batch::contiguous(count, cube(side)).expect("it is small")).0;
        let batches = [(4096, 32), (1024, 64), (256, 128), (64, 256)].map(|(count, side)| many(count, side));
        assert_eq!(batches, ["single", "pair", "pair", "large"].map(str::to_owned));
        let doubles =
            [8, 16, 32].map(|side| Batch::contiguous(4096, cube(side)).map(|batch| chosen::<f64>(cube(side), batch).0));
        assert_eq!(doubles.map(|tile| tile.expect("it is small")), ["pair", "pair", "pair"].map(str::to_owned));
        assert_eq!(chosen::<f64>(cube(64), Batch::SINGLE), ("mini".to_owned(), 1));
    }

    #[test]
    fn more_tiles_take_no_less_time() {
        fn all<T: Real>() {
            for tile in &T::tiles() {
                for depth in [8.0, 32.0, 128.0, 1024.0] {
                    let work = |tiles: u32| Work { rounds: 0.0, deep: depth, left: tiles.into(), parts: 1.0, depth };
                    let times: Vec<f64> = (0..40).map(|tiles| work(tiles).time(tile)).collect();
                    assert!(times.is_sorted(), "{} of {}: {times:?}", tile.name(), T::DTYPE);
                }
            }
        }
        all::<f32>();
        all::<f64>();
        // Two blocks of one warp on a multiprocessor take as long as one.
        assert_eq!(chosen::<f32>(Sizes { k: 128, ..cube(512) }, Batch::SINGLE), ("short".to_owned(), 1));
        let sizes = Sizes { k: 128, ..cube(32) };
        assert_eq!(chosen::<f32>(sizes, Batch::contiguous(256, sizes).expect("it is small")).0, "mini");
    }

    #[test]
    fn rows_off_16_byte_boundaries_exclude_the_largest_tile() {
        let chosen = |n, k| chosen::<f32>(Sizes { k, n, ..cube(4096) }, Batch::SINGLE).0;
        assert_eq!(
            [chosen(4096, 16), chosen(4096, 64), chosen(4095, 64)],
            ["large", "large", "pair"].map(str::to_owned)
        );
    }

    #[test]
    fn the_sums_of_parts_have_bounded_memory() {
        for sizes in
            [Sizes { m: 1792, n: 2432, k: 65536, ..cube(0) }, Sizes { m: 9544, n: 13571, k: 212626, ..cube(0) }]
        {
            let tiles = f64::tiles();
            let Division { tile, whole, depth } = fastest(tiles.iter(), &sizes, &Batch::SINGLE, 132).expect("a tile");
            let [rows, columns] = [tile.size().rows, tile.size().columns].map(|side| side as usize);
            let left = sizes.m.div_ceil(rows) * sizes.n.div_ceil(columns) - whole as usize;
            let parts = parts(&sizes, depth) as usize;
            assert!(parts == 1 || parts * left * rows * columns * 8 <= MOST_BYTES, "{sizes:?}: {parts} parts");
        }
    }

    #[test]
    fn few_tiles_divide_their_depth() {
        let deep = Sizes { k: 16384, ..cube(64) };
        let (tile, parts) = chosen::<f32>(deep, Batch::SINGLE);
        assert!(tile == "mini" && (16..=MOST as u32).contains(&parts), "{tile} in {parts} parts");
        // A batch of two rounds has blocks enough.
        let batch = Batch::contiguous(264, deep).expect("it is small");
        assert_eq!(chosen::<f32>(deep, batch).1, 1);
        let (_, parts) = chosen::<f64>(Sizes { k: 4096, ..cube(128) }, Batch::SINGLE);
        assert!(parts > 1, "{parts}");
    }

    #[test]
    fn tiles_that_are_left_after_whole_rounds_are_divided() {
        let tiles = f32::tiles();
        let divided = |side| {
            let Division { tile, whole, depth } =
                fastest(tiles.iter(), &cube(side), &Batch::SINGLE, 132).expect("a tile");
            (tile.name(), whole, parts(&cube(side), depth))
        };
        // 128 tiles are less than a round of 132.
        assert_eq!(divided(1024), ("small", 0, 1));
        // 162 tiles are a round and 30, which four blocks each compute in a quarter of a round.
        assert_eq!(divided(1152), ("small", 132, 4));
    }

    /// Those that were faster (`docs/results/h200/2026-11-30-brief.txt`).
    #[test]
    fn small_tiles_gain_where_no_factor_is_turned() {
        let tile = |side, transposed| chosen::<f64>(Sizes { transposed, ..cube(side) }, Batch::SINGLE).0;
        assert_eq!([1024, 1280, 1600].map(|side| tile(side, [true, false])), ["small"; 3]);
        assert_eq!([1408, 1792, 2048].map(|side| tile(side, [true, false])), ["large"; 3]);
        assert_eq!([1024, 1280, 1600].map(|side| tile(side, [false, false])), ["large"; 3]);
    }

    #[test]
    fn matrices_off_16_byte_boundaries_exclude_the_tiles_that_need_them() {
        let sizes = Sizes { k: 65, ..cube(256) };
        let tile = |batch| chosen::<f32>(sizes, batch).0;
        assert_eq!(tile(Batch::new(660, [1 << 15, (1 << 15) + 1, 1 << 16])), "pair");
        // A is turned on its way, element by element.
        assert_eq!(tile(Batch::new(660, [(1 << 15) + 1, 1 << 15, 1 << 16])), "large");
        assert_eq!(tile(Batch::new(1, [0, 1, 0])), tile(Batch::SINGLE));
    }
}
