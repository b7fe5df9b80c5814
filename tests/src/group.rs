//! Every function of a group of devices, against a line of plain Rust each. All ranks call them in the same order, so
//! that they also test groups of many processes.

use rustwarp::group::{Blocks, Grid};
use rustwarp::histogram::Bins;
use rustwarp::reduce::{Max, Sum};
use rustwarp::scan::Kind;
use rustwarp::streamed::Settings;
use rustwarp::{Element, Group, Sharded};
use std::sync::Mutex;

/// Lengths with empty parts, with parts of different lengths, and with several tiles.
const LENGTHS: [usize; 7] = [0, 1, 2, 31, 257, 1003, 20_011];

/// Tests every function.
///
/// # Panics
/// Panics at the first result that is wrong.
pub fn test_all(group: &Group) {
    LENGTHS.into_iter().for_each(|len| reductions(group, len));
    LENGTHS.into_iter().for_each(|len| scans(group, len));
    exact_sums(group);
    histograms(group);
    segments(group);
    collectives(group);
    products(group);
    streams(group);
    group.synchronize().expect("all ranks");
}

/// Integers of both signs, whose sums are exact in `f32` too.
fn numbers(len: usize) -> Vec<i32> {
    (0..len).map(|i| (i * 7 % 31) as i32 - 15).collect()
}

fn sharded<T: Element>(group: &Group, values: &[T]) -> Sharded<T> {
    group.shard(values).expect("memory")
}

fn reductions(group: &Group, len: usize) {
    let values = numbers(len);
    let x = sharded(group, &values);
    assert_eq!(group.sum(&x).expect("a sum"), values.iter().sum::<i32>(), "{len}");
    assert_eq!(group.max(&x).expect("a maximum"), values.iter().copied().max().unwrap_or(i32::MIN), "{len}");
    assert_eq!(group.min(&x).expect("a minimum"), values.iter().copied().min().unwrap_or(i32::MAX), "{len}");
    let floats: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let y = sharded(group, &floats);
    assert_eq!(group.sum(&y).expect("a sum"), floats.iter().sum::<f32>(), "{len}");
    assert_eq!(group.dot(&y, &y).expect("a product"), floats.iter().map(|x| x * x).sum::<f32>(), "{len}");
    let wrapping = sharded(group, &vec![u64::MAX / 2; len]);
    let expected = (0..len).fold(0_u64, |sum, _| sum.wrapping_add(u64::MAX / 2));
    assert_eq!(group.sum(&wrapping).expect("a sum"), expected, "{len}");
    assert_eq!(group.gather(&x).expect("the elements"), values, "{len}");
    let last = group.size() - 1;
    let expected = group.ranks().contains(&last).then_some(values);
    assert_eq!(group.gather_to(&x, last).expect("the elements"), expected, "{len}");
    if len > 2 {
        let mut with_nan = floats;
        with_nan[len - 2] = f32::NAN;
        let z = sharded(group, &with_nan);
        assert!(group.max(&z).expect("NaN").is_nan() && group.min(&z).expect("NaN").is_nan(), "{len}");
        assert!(group.sum(&z).expect("NaN").is_nan(), "{len}");
    }
}

fn scans(group: &Group, len: usize) {
    let values: Vec<i64> = numbers(len).into_iter().map(i64::from).collect();
    let x = sharded(group, &values);
    let running = |combine: fn(i64, i64) -> i64, first: i64| {
        let mut sum = first;
        let next = |&x: &i64| {
            sum = combine(sum, x);
            sum
        };
        let inclusive: Vec<i64> = values.iter().map(next).collect();
        let exclusive: Vec<i64> = [first].into_iter().chain(inclusive.iter().copied()).take(len).collect();
        [inclusive, exclusive]
    };
    let [inclusive, exclusive] = running(|a, b| a + b, 0);
    let sums = group.inclusive_scan(&x).expect("a scan");
    assert_eq!(group.gather(&sums).expect("sums"), inclusive, "{len}");
    assert_eq!(group.gather(&group.exclusive_scan(&x).expect("a scan")).expect("sums"), exclusive, "{len}");
    let [inclusive, exclusive] = running(i64::max, i64::MIN);
    let maxima = group.scan_maxima(&x, Kind::Inclusive).expect("a scan");
    assert_eq!(group.gather(&maxima).expect("maxima"), inclusive, "{len}");
    let maxima = group.scan_maxima(&x, Kind::Exclusive).expect("a scan");
    assert_eq!(group.gather(&maxima).expect("maxima"), exclusive, "{len}");
    let [inclusive, _] = running(i64::min, i64::MAX);
    let minima = group.scan_minima(&x, Kind::Inclusive).expect("a scan");
    assert_eq!(group.gather(&minima).expect("minima"), inclusive, "{len}");
    // A scan of a scan, and of elements of 4 bytes: four stand in front of a part.
    let bytes: Vec<u32> = values.iter().map(|x| x.unsigned_abs() as u32).collect();
    let twice = group.inclusive_scan(&sharded(group, &bytes)).and_then(|once| group.inclusive_scan(&once));
    let mut sums = [0_u32; 2];
    let expected: Vec<u32> = bytes
        .iter()
        .map(|x| {
            sums[0] += x;
            sums[1] += sums[0];
            sums[1]
        })
        .collect();
    assert_eq!(group.gather(&twice.expect("two scans")).expect("sums"), expected, "{len}");
}

fn exact_sums(group: &Group) {
    // Without rounding, the large numbers cancel.
    let values: Vec<f64> = (0..3001).map(|i| [1e300, 1e-300, -1e300, f64::from(i)][i as usize % 4]).collect();
    let expected = rustwarp::exact_sum::on_cpu(&values);
    let found = group.exact_sum(&sharded(group, &values)).expect("a sum");
    assert_eq!(found.to_bits(), expected.to_bits(), "{found}, not {expected}");
    let narrow: Vec<f32> = values.iter().map(|&x| (x.clamp(-1e30, 1e30) * 1e-3) as f32).collect();
    let expected = rustwarp::exact_sum::on_cpu(&narrow);
    assert_eq!(group.exact_sum(&sharded(group, &narrow)).expect("a sum").to_bits(), expected.to_bits());
    let sum = |values: &[f32]| group.exact_sum(&sharded(group, values)).expect("a sum");
    assert_eq!(sum(&[]).to_bits(), 0);
    assert_eq!(sum(&[-0.0; 5]).to_bits(), 0);
    assert_eq!(sum(&[1.0, f32::INFINITY, 2.0]), f32::INFINITY);
    assert!(sum(&[f32::NEG_INFINITY, 1.0, 2.0, f32::INFINITY]).is_nan() && sum(&[f32::NAN, 1.0]).is_nan());
    assert_eq!(sum(&[f32::MAX, f32::MAX, -f32::MAX]), f32::MAX);
}

fn histograms(group: &Group) {
    let keys: Vec<u8> = (0..5003_u32).map(|i| (i * i % 251) as u8).collect();
    let mut expected = vec![0; 200];
    keys.iter().filter(|&&key| key < 200).for_each(|&key| expected[usize::from(key)] += 1);
    let x = group.shard(&keys).expect("memory");
    assert_eq!(group.histogram(&x, 200).expect("counts"), expected);
    // The memory of a call is used again, with other elements and other numbers of bins, few and many.
    for (bins, step) in [(200, 1), (200, 3), (3000, 1), (3000, 7), (200, 5), (5000, 3)] {
        let keys: Vec<u32> = (0..5003_u32).map(|i| i * i * step % 3001).collect();
        let mut expected = vec![0; bins];
        keys.iter().filter(|&&key| (key as usize) < bins).for_each(|&key| expected[key as usize] += 1);
        let x = group.shard(&keys).expect("memory");
        assert_eq!(group.histogram(&x, bins as u32).expect("counts"), expected, "{bins} bins");
    }
    let text = b"The quick brown fox jumps over the lazy dog".as_slice();
    let mut expected = [0; 7];
    let letters = text.iter().filter(|letter| letter.is_ascii_alphabetic());
    letters.for_each(|letter| expected[usize::from(letter.to_ascii_lowercase() - b'a') / 4] += 1);
    let text = group.shard(text).expect("memory");
    assert_eq!(group.histogram_of_letters(&text).expect("counts"), expected);
    let floats = sharded(group, &(0..1000).map(|i| i as f32 / 1000.0).collect::<Vec<_>>());
    let counts = group.histogram_of_range(&floats, 4, 0.0..1.0).expect("counts");
    assert_eq!(counts, [250; 4]);
    assert!(group.histogram_of_range(&floats, 4, 1.0..0.0).is_err());
}

/// Inputs that are read in chunks: each rank reads a range.
fn streams(group: &Group) {
    let settings = Settings { chunk: Some(1 << 10), ..Settings::default() };
    for len in [0, 1, 5, 3001] {
        let values: Vec<i64> = numbers(len).into_iter().map(i64::from).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let n = len as u64;
        let total = group.reduce_streamed::<Sum, i64>(&bytes, n, &settings).expect("a sum");
        assert_eq!(total.value, values.iter().sum::<i64>(), "{len}");
        let total = group.reduce_streamed::<Max, i64>(&bytes, n, &settings).expect("a maximum");
        assert_eq!(total.value, values.iter().copied().max().unwrap_or(i64::MIN), "{len}");
        let floats: Vec<f64> = values.iter().map(|&x| x as f64).collect();
        let of_floats: &[u8] = bytemuck::cast_slice(&floats);
        let total = group.dot_streamed::<f64>([&of_floats, &of_floats], n, &settings).expect("a product");
        assert_eq!(total.value, floats.iter().map(|x| x * x).sum::<f64>(), "{len}");
        let keys: Vec<u8> = values.iter().map(|x| x.unsigned_abs() as u8).collect();
        let mut expected = vec![0; 16];
        keys.iter().for_each(|&key| expected[usize::from(key)] += 1);
        let counts = group.histogram_streamed(&&keys[..], n, Bins::<u8>::keys(16), &settings).expect("counts");
        assert_eq!(counts, expected, "{len}");
        let results = Mutex::new(vec![0_u8; 8 * len]);
        group.scan_streamed::<Sum, i64>(&bytes, n, Kind::Inclusive, &results, &settings).expect("a scan");
        let results: Vec<i64> = bytemuck::pod_collect_to_vec(&results.into_inner().expect("no panic"));
        let mut sum = 0;
        let expected: Vec<i64> = values
            .iter()
            .map(|x| {
                sum += x;
                sum
            })
            .collect();
        for rank in group.ranks() {
            let range = rank * len / group.size()..(rank + 1) * len / group.size();
            assert_eq!(results[range.clone()], expected[range], "{len}, rank {rank}");
        }
    }
}

fn segments(group: &Group) {
    let values = numbers(1003);
    let x = sharded(group, &values);
    let lists: [&[u64]; 6] = [
        &[0, 1003],
        &[0, 0, 5, 5, 900, 1003, 1003],
        &[17, 18, 800, 801],
        &[0],
        &[1003, 1003, 1003],
        &[0, 250, 501, 752, 1003],
    ];
    for offsets in lists {
        let part = |k: usize| &values[offsets[k] as usize..offsets[k + 1] as usize];
        let segments = 0..offsets.len() - 1;
        let sums: Vec<i32> = segments.clone().map(|k| part(k).iter().sum()).collect();
        let found = group.segmented_sum(&x, offsets).expect("sums");
        assert_eq!(group.gather(&found).expect("sums"), sums, "{offsets:?}");
        let maxima: Vec<i32> = segments.clone().map(|k| part(k).iter().copied().max().unwrap_or(i32::MIN)).collect();
        let found = group.segmented_max(&x, offsets).expect("maxima");
        assert_eq!(group.gather(&found).expect("maxima"), maxima, "{offsets:?}");
        let minima: Vec<i32> = segments.map(|k| part(k).iter().copied().min().unwrap_or(i32::MAX)).collect();
        let found = group.segmented_min(&x, offsets).expect("minima");
        assert_eq!(group.gather(&found).expect("minima"), minima, "{offsets:?}");
    }
    assert!(group.segmented_sum(&x, &[3, 2]).is_err() && group.segmented_sum(&x, &[0, 1004]).is_err());
}

fn collectives(group: &Group) {
    let size = group.size();
    let mut values = group.replicate(&[0_i64; 6]).expect("memory");
    let put = |values: &mut rustwarp::Replicated<i64>| {
        for rank in group.ranks() {
            let own: Vec<i64> = (0..6).map(|i| (rank as i64 + 1) * 10_i64.pow(i)).collect();
            values.of_mut(rank).and_then(|mut own_values| own_values.write(&own)).expect("a copy");
        }
    };
    let of_all = |values: &rustwarp::Replicated<i64>, expected: &[i64]| {
        for rank in group.ranks() {
            let found = values.of(rank).and_then(|values| values.download()).expect("values");
            assert_eq!(found, expected, "rank {rank}");
        }
    };
    let times = |factor: usize| (0..6).map(|i| factor as i64 * 10_i64.pow(i)).collect::<Vec<_>>();
    put(&mut values);
    group.all_reduce_sum(&mut values).expect("sums");
    of_all(&values, &times(size * (size + 1) / 2));
    put(&mut values);
    group.all_reduce_max(&mut values).expect("maxima");
    of_all(&values, &times(size));
    put(&mut values);
    group.all_reduce_min(&mut values).expect("minima");
    of_all(&values, &times(1));
    put(&mut values);
    group.broadcast(&mut values, size - 1).expect("a copy");
    of_all(&values, &times(size));
    assert!(group.broadcast(&mut values, size).is_err());
    let own: Vec<i64> = (0..2 * size as i64).collect();
    let parts = group.reduce_scatter_sum(&group.replicate(&own).expect("memory")).expect("sums");
    let expected: Vec<i64> = own.iter().map(|x| x * size as i64).collect();
    assert_eq!(group.gather(&parts).expect("sums"), expected);
    for len in [0, 2 * size, 2 * size + 1] {
        let own: Vec<i64> = (0..len as i64).collect();
        of_all(&group.all_gathered(&sharded(group, &own)).expect("copies"), &own);
    }
}

/// A matrix of small whole numbers, whose products are exact in `f32`.
fn matrix(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    (0..rows * columns).map(|i| ((i * 13 + seed * 7) % 17) as f32 - 8.0).collect()
}

fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..k).map(|t| a[i * k + t] * b[t * n + j]).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

fn products(group: &Group) {
    for [m, n, k] in [[1, 1, 1], [7, 5, 3], [64, 33, 70], [3, 4100, 5], [0, 4, 4], [4, 0, 4], [4, 4, 0]] {
        let (a, b) = (matrix(m, k, 1), matrix(k, n, 2));
        let expected = product(&a, &b, [m, n, k]);
        let rows = |values: &[f32], columns| group.shard_rows(values, columns).expect("memory");
        let by_rows = group.matmul(&rows(&a, k), &rows(&b, n), [m, n, k]).expect("a product");
        assert_eq!(group.gather(&by_rows).expect("elements"), expected, "{m}x{n}x{k}");
        let grid = Grid::of(group.size());
        let blocks =
            |values: &[f32], shape| -> Blocks<f32> { group.shard_blocks(values, shape, grid).expect("memory") };
        let (left, right) = (blocks(&a, [m, k]), blocks(&b, [k, n]));
        let found = group.matmul_blocks(&left, &right).expect("a product");
        assert_eq!(group.gather_blocks(&left).expect("elements"), a, "{m}x{n}x{k}");
        assert_eq!(group.gather_blocks(&found).expect("elements"), expected, "{m}x{n}x{k}");
    }
    let a = group.shard(&[1.0_f32; 6]).expect("memory");
    assert!(group.matmul(&a, &a, [2, 2, 3]).is_err(), "elements are no rows");
}
