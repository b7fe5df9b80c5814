//! Scans, and scans by key, by persistent blocks with bulk copies, which large inputs get: on the simulator, with all
//! checks, the bits are those of the kernel with a block for each tile, which takes inputs that do not start on 16
//! bytes.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use kernels_gpu::scan::best::ring::LARGE;
use rustwarp::Device;
use rustwarp::backend::{Checkers, Checks, Choice, Handle, open};
use rustwarp::element::Element;
use rustwarp::reduce::{Max, Op, Sum};
use rustwarp::scan::{Kind, Plan};
use rustwarp::scan_by_key::{self, Key};

/// The simulator with every checker on.
fn device() -> Device {
    let (backend, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    Device::new(backend)
}

/// Fails unless scans of values that start on 16 bytes (`false`) and of others (`true`), which return their block and
/// their result, have the same bits from different kernels, in any order.
fn same_bits<T: Element>(device: &Device, scan: impl Fn(bool) -> (u64, Vec<T>)) -> Vec<T> {
    let bytes = |values: &[T]| bytemuck::cast_slice::<T, u8>(values).to_vec();
    let (by_tile, expected) = scan(true);
    for _ in 0..2 {
        let (persistent, scanned) = scan(false);
        assert!(persistent != by_tile, "both are scanned by blocks that give {by_tile} threads");
        assert!(bytes(&scanned) == bytes(&expected));
    }
    // Each kernel leaves tickets and records as the other one needs them.
    assert!(bytes(&scan(true).1) == bytes(&expected));
    let findings = device.backend().observed().expect("a simulator").findings;
    assert!(findings.is_empty(), "{}", findings[0].text);
    expected
}

/// Scans `values` by one plan.
fn scans<O: Op<T>, T: Element>(values: &[T], kind: Kind) {
    let device = &device();
    let memory = device.upload(&[&values[..1], values].concat()).expect("memory");
    let whole = device.upload(values).expect("memory");
    let plan = Plan::<O, T>::new(device, values.len(), kind).expect("a plan");
    same_bits(device, |shifted| {
        let input = if shifted { memory.view(1..) } else { whole.view(..) }.expect("a part");
        let mut output = device.uninit::<T>(values.len()).expect("memory");
        let threads = plan.prepare(input, &output).expect("a launch").shape().threads();
        plan.launch(input, &mut output).expect("a run");
        (threads, output.download().expect("a scan"))
    });
}

/// Scans `values` by one plan in the runs of `keys`, and compares with a loop.
fn scans_by_key<K: Key + PartialEq>(keys: &[K], values: &[u64]) {
    let device = &device();
    let memory = device.upload(&[&keys[..1], keys].concat()).expect("memory");
    let whole = device.upload(keys).expect("memory");
    let values_of = device.upload(values).expect("memory");
    let plan = scan_by_key::Plan::<Sum, K, u64>::new(device, values.len(), Kind::Inclusive).expect("a plan");
    let scanned = same_bits(device, |shifted| {
        let keys = if shifted { memory.view(1..) } else { whole.view(..) }.expect("a part");
        let mut output = device.uninit::<u64>(values.len()).expect("memory");
        let threads = plan.prepare(keys, &values_of, &output).expect("a launch").shape().threads();
        plan.launch(keys, &values_of, &mut output).expect("a run");
        (threads, output.download().expect("a scan"))
    });
    let mut sum = 0_u64;
    for (i, (&value, scanned)) in values.iter().zip(scanned).enumerate() {
        sum = if i > 0 && keys[i] == keys[i - 1] { sum.wrapping_add(value) } else { value };
        assert_eq!(scanned, sum, "element {i}");
    }
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

/// Runs that end anywhere in tiles, one over several groups of tiles, and a ragged end.
#[test]
fn runs_of_all_lengths_by_short_and_long_keys() {
    let n = scan_by_key::LARGE as usize / 8 + 12_345;
    let values: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3).collect();
    let keys: Vec<i32> = (0..n).map(|i| if i < n / 2 { (2 * i).isqrt() as i32 % 3 - 1 } else { 7 }).collect();
    scans_by_key(&keys, &values);
    let long: Vec<u64> = keys.iter().map(|&key| (key as u64) << 32).collect();
    scans_by_key(&long, &values);
}
