//! Scans by persistent blocks with bulk copies, which large inputs get: on the simulator, with all checks, the bits are
//! those of the kernel with a block for each tile, which takes inputs that do not start on 16 bytes.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use kernels_gpu::scan::best::ring::LARGE;
use rustwarp::Device;
use rustwarp::backend::{Checkers, Checks, Choice, Handle, View, open};
use rustwarp::element::Element;
use rustwarp::reduce::{Max, Op, Sum};
use rustwarp::scan::{Kind, Plan};

/// Scans `values` twice by the same plan, with inputs that start on 16 bytes and with others, and compares the bits.
fn same_bits<O: Op<T>, T: Element>(values: &[T], kind: Kind) {
    let (backend, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    let device = Device::new(backend);
    let shifted = device.upload(&[&values[..1], values].concat()).expect("memory");
    let whole = device.upload(values).expect("memory");
    let shifted = shifted.view(1..).expect("a part");
    let plan = Plan::<O, T>::new(&device, values.len(), kind).expect("a plan");
    let scan = |input: View<'_, T>| {
        let mut output = device.uninit::<T>(values.len()).expect("memory");
        let threads = plan.prepare(input, &output).expect("a launch").shape().threads();
        plan.launch(input, &mut output).expect("a run");
        (threads, bytemuck::cast_slice::<T, u8>(&output.download().expect("a scan")).to_vec())
    };
    let (by_tile, expected) = scan(shifted);
    for _ in 0..2 {
        let (persistent, scanned) = scan(whole.view(..).expect("all"));
        assert!(persistent != by_tile, "both are scanned by blocks that give {by_tile} threads");
        assert!(scanned == expected);
    }
    // Each kernel leaves tickets and records as the other one needs them.
    assert!(scan(shifted).1 == expected);
    let findings = device.backend().observed().expect("a simulator").findings;
    assert!(findings.is_empty(), "{}", findings[0].text);
}

fn numbers(n: usize) -> impl Iterator<Item = f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e4 - 400.0)
}

#[test]
fn sums_of_a_large_input_with_a_ragged_end() {
    let values: Vec<f32> = numbers(LARGE as usize / 4 + 12_345).collect();
    same_bits::<Sum, f32>(&values, Kind::Inclusive);
}

#[test]
fn exclusive_maxima_of_wide_elements() {
    let values: Vec<f64> = numbers(LARGE as usize / 8).map(f64::from).collect();
    same_bits::<Max, f64>(&values, Kind::Exclusive);
}
