//! Scans by persistent blocks with bulk copies, which large inputs get: on the simulator, with all checks, the bits are
//! those of the kernel with a block for each tile, which takes inputs that do not start on 16 bytes. And scans by key
//! of many tiles, and of memory that begins anywhere.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use kernels_gpu::scan::best::ring::LARGE;
use kernels_gpu::scan_by_key::best;
use rustwarp::element::Element;
use rustwarp::reduce::{Max, Op, Sum};
use rustwarp::scan::{Kind, Plan};
use rustwarp::scan_by_key::{self, Key};
use rustwarp::{Buffer, Device, Error, Result};
use tests::checked::{device, require_no_finding};

/// Scans `values` by one plan, which has persistent blocks if they start on 16 bytes, in any order.
fn scans<O: Op<T>, T: Element>(values: &[T], kind: Kind) {
    let device = &device();
    let memory = device.upload(&[&values[..1], values].concat()).expect("memory");
    let whole = device.upload(values).expect("memory");
    let plan = Plan::<O, T>::new(device, values.len(), kind).expect("a plan");
    let scan = |shifted: bool| {
        let input = if shifted { memory.view(1..) } else { whole.view(..) }.expect("a part");
        let mut output = device.uninit::<T>(values.len()).expect("memory");
        let threads = plan.prepare(input, &output).expect("a launch").shape().threads();
        plan.launch(input, &mut output).expect("a run");
        (threads, output.download().expect("a scan"))
    };
    let bytes = |values: &[T]| bytemuck::cast_slice::<T, u8>(values).to_vec();
    let (by_tile, expected) = scan(true);
    for _ in 0..2 {
        let (persistent, scanned) = scan(false);
        assert!(persistent != by_tile, "both are scanned by blocks that give {by_tile} threads");
        assert!(bytes(&scanned) == bytes(&expected));
    }
    // Each kernel leaves tickets and records as the other one needs them.
    assert!(bytes(&scan(true).1) == bytes(&expected));
    require_no_finding(device, "scans by both kernels");
}

/// Scans `values` by one plan in the runs of `keys`, which start on 16 bytes or do not, and compares the sums with
/// those of a loop: within their bound, or without any error if they are `exact`.
fn sums_by_key<K: Key + PartialEq, T: Element>(keys: &[K], values: &[T], kind: Kind, exact: bool) {
    let device = &device();
    let memory = device.upload(&[&keys[..1], keys].concat()).expect("memory");
    let whole = device.upload(keys).expect("memory");
    let values_of = device.upload(values).expect("memory");
    let plan = scan_by_key::Plan::<Sum, K, T>::new(device, values.len(), kind).expect("a plan");
    let scan = |shifted: bool| {
        let keys = if shifted { memory.view(1..) } else { whole.view(..) }.expect("a part");
        let mut output = device.uninit::<T>(values.len()).expect("memory");
        plan.launch(keys, &values_of, &mut output).expect("a run");
        output.download().expect("a scan")
    };
    let scanned = scan(false);
    assert!(bytemuck::cast_slice::<T, u8>(&scan(true)) == bytemuck::cast_slice::<T, u8>(&scanned));
    require_no_finding(device, "scans by key");
    let epsilon = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let (mut sum, mut magnitude) = (0.0, 0.0);
    for (i, (value, scanned)) in values.iter().zip(scanned).enumerate() {
        if i > 0 && keys[i] != keys[i - 1] {
            (sum, magnitude) = (0.0, 0.0);
        }
        let before = sum;
        sum += value.to_f64();
        magnitude += value.to_f64().abs();
        let expected = if kind == Kind::Inclusive { sum } else { before };
        let bound = if exact { 0.0 } else { plan.depth() as f64 * epsilon * magnitude };
        assert!((scanned.to_f64() - expected).abs() <= bound, "element {i}: {scanned:?}, not {expected}");
    }
}

/// Elements of a tile of a scan by key of these values.
const fn tile<T>() -> usize {
    best::tile(best::rows(size_of::<T>()), size_of::<T>()) as usize
}

const _: () = assert!(300 * tile::<f32>() as u64 * 4 > best::SMALL);

/// Elements where runs begin: groups of 32 tiles that end with a run's start or begin with one, one that has a start in
/// its midst, several without any, and then any number of tiles apart.
fn heads(n: usize, tile: usize) -> Vec<bool> {
    let mut heads = vec![false; n];
    for at in [31 * tile, 32 * tile, 63 * tile, 64 * tile - 1, 95 * tile + 2000] {
        heads[at] = true;
    }
    let (mut at, mut random) = (200 * tile, 1_u64);
    while at < n {
        heads[at] = true;
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Short runs, and others of up to 70 tiles.
        at += 1 + (random >> 33) as usize % if random >> 63 == 0 { 5000 } else { 70 * tile };
    }
    heads
}

/// Keys of these runs: 0 and 1 in turn, times `unit`.
fn keys<K>(heads: &[bool], unit: impl Fn(u32) -> K) -> Vec<K> {
    let runs = heads.iter().scan(0, |run, &head| {
        *run ^= u32::from(head);
        Some(*run)
    });
    runs.map(unit).collect()
}

fn numbers(n: usize) -> impl Iterator<Item = f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e4 - 400.0)
}

#[test]
fn sums_of_a_large_input_with_a_ragged_end() {
    let values: Vec<f32> = numbers(LARGE as usize / 4 + 12_345).collect();
    scans::<Sum, f32>(&values, Kind::Inclusive);
}

#[test]
fn exclusive_maxima_of_wide_elements() {
    let values: Vec<f64> = numbers(LARGE as usize / 8).map(f64::from).collect();
    scans::<Max, f64>(&values, Kind::Exclusive);
}

/// Scans the runs of [`heads()`] in 300 tiles and some more elements.
fn runs<K: Key + PartialEq, T: Element>(more: usize, kind: Kind, key: impl Fn(u32) -> K, value: impl Fn(f32) -> T) {
    let n = 300 * tile::<T>() + more;
    let keys = keys(&heads(n, tile::<T>()), key);
    // Sums of small whole numbers are exact in any order; the bits of others tell whether the order is the same.
    sums_by_key(&keys, &numbers(n).map(|x| value((x / 64.0).round())).collect::<Vec<T>>(), kind, true);
    sums_by_key(&keys, &numbers(n).map(value).collect::<Vec<T>>(), kind, false);
}

#[test]
fn runs_of_narrow_values_by_short_keys() {
    runs(12_345, Kind::Inclusive, |run| run as i32, |x| x);
}

#[test]
fn runs_of_narrow_values_by_long_keys() {
    runs(0, Kind::Exclusive, |run| u64::from(run) << 32, |x| x);
}

#[test]
fn runs_of_wide_values_by_short_keys() {
    runs(12_345, Kind::Inclusive, |run| run, f64::from);
}

#[test]
fn runs_of_wide_values_by_long_keys() {
    runs(1, Kind::Exclusive, |run| u64::from(run) << 32, f64::from);
}

/// Keys, values and results that begin on any element, in tiles of one row and of several, and in a part of one.
#[test]
fn scans_by_key() {
    let device = device();
    for n in [0_usize, 1, 1009, 5000, 140_001] {
        let keys: Vec<u64> = (0..n as u64 + 1).map(|i| (2 * i).isqrt() % 3).collect();
        let values: Vec<f32> = (0..n as u64 + 1).map(|i| (i * i % 97) as f32).collect();
        let (x, y) = (device.upload(&keys).expect("memory"), device.upload(&values).expect("memory"));
        let mut output = device.uninit::<f32>(n + 1).expect("memory");
        for offsets in 0..8 {
            let [of_keys, of_values, of_output] = [0, 1, 2].map(|bit| offsets >> bit & 1);
            let (keys, values) = (&keys[of_keys..of_keys + n], &values[of_values..of_values + n]);
            let mut sum = 0.0;
            let before = (0..n).map(|i| {
                sum = if i > 0 && keys[i] == keys[i - 1] { sum + values[i - 1] } else { 0.0 };
                sum
            });
            let before: Vec<f32> = before.collect();
            let (part_of_keys, part) = (x.view(of_keys..of_keys + n), y.view(of_values..of_values + n));
            let to = output.view_mut(of_output..of_output + n).expect("a part");
            scan_by_key::sums_into(part_of_keys.expect("a part"), part.expect("a part"), Kind::Exclusive, to)
                .expect("a launch");
            let found = output.view(of_output..of_output + n).and_then(|sums| sums.download()).expect("sums");
            assert!(found == before, "{n} elements, offsets {of_keys} {of_values} {of_output}");
        }
    }
    let keys = device.upload(&[1_i32, 1, -1, -1, 1]).expect("memory");
    let x = device.upload(&[3, 1, 4, 9, 5]).expect("memory");
    let of = |y: Result<Buffer<i32>>| y.and_then(|y| y.download()).expect("a scan");
    assert_eq!(of(device.inclusive_scan_by_key(&keys, &x)), [3, 4, 4, 13, 5]);
    assert_eq!(of(device.scan_maxima_by_key(&keys, &x, Kind::Inclusive)), [3, 3, 4, 9, 5]);
    assert_eq!(of(device.scan_minima_by_key(&keys, &x, Kind::Exclusive)), [i32::MAX, 3, i32::MAX, 4, i32::MAX]);

    // What is not a number, or infinite, ends with its run.
    let special = device.upload(&[f32::NAN, 1.0, 2.0, f32::INFINITY, 4.0]).expect("memory");
    let found = device.inclusive_scan_by_key(&keys, &special).and_then(|y| y.download()).expect("sums");
    assert!(found[..2].iter().all(|x| x.is_nan()) && found[2..] == [2.0, f32::INFINITY, 4.0], "{found:?}");

    let short = device.upload(&[1_i32]).expect("memory");
    assert!(matches!(device.inclusive_scan_by_key(&short, &x), Err(Error::Mismatch(_))));
    let plan = scan_by_key::Plan::<Sum, i32, i32>::new(&device, 5, Kind::Inclusive).expect("a plan");
    assert!(matches!(plan.prepare(&keys, &x, &keys), Err(Error::Mismatch(_))), "the output is the keys");
    let elsewhere = Device::sim().and_then(|other| other.upload(&[1_i32; 5])).expect("memory");
    assert!(matches!(device.inclusive_scan_by_key(&elsewhere, &x), Err(Error::OtherDevice { .. })));
    assert!(matches!(device.exclusive_scan_by_key(&keys, &elsewhere), Err(Error::OtherDevice { .. })));
    require_no_finding(&device, "scans by key that are refused");
    let none = scan_by_key::Plan::<Sum, u32, f32>::new(&device, 0, Kind::Inclusive).expect("a plan");
    assert_eq!(none.depth(), 0);
}
