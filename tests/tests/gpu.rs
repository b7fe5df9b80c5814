//! The same on a GPU. Compiled with `--features gpu` only; then a missing GPU is a failure.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use host::backend::Choice;
use host::{Buffer, kernels::reduce::reduce};
use kernels_gpu::reduce::{Max, Sum};
use tests::matrix::{LENGTHS, bench, every_block, every_variant, special_floats, unaligned_starts};

#[test]
fn every_variant_type_operation_and_length() {
    let lengths = [LENGTHS, &[1 << 16, (1 << 20) + 7, (1 << 22) + 1]].concat();
    assert!(every_variant(&bench(Choice::Gpu(0), "kernels-gpu"), &lengths) > 2000);
}

#[test]
fn infinities_zeros_and_nan() {
    assert!(special_floats(&bench(Choice::Gpu(0), "kernels-gpu")) > 1000);
}

#[test]
fn every_block_size() {
    assert!(every_block(&bench(Choice::Gpu(0), "kernels-gpu")) > 150);
}

#[test]
fn a_slice_that_starts_anywhere() {
    unaligned_starts(&bench(Choice::Gpu(0), "kernels-gpu"));
}

/// Indices beyond 32 bits: every variant must see the elements behind 2^31.
#[test]
fn more_than_two_to_the_31_elements() {
    let bench = bench(Choice::Gpu(0), "kernels-gpu");
    let n = (1 << 31) + 12_345;
    let input = Buffer::<i32>::uninit(&*bench.device, n, "input").expect("9 GB of memory");
    // Every element is 0x01010101; the sum wraps.
    bench.device.fill(input.address(), 1, input.bytes()).expect("a fill");
    let last = input.address() + input.bytes() - 4;
    bench.device.write(last, &0x7654_3210_i32.to_le_bytes()).expect("a write");
    let expected = (0x0101_0101_i128 * (n as i128 - 1) + 0x7654_3210) as i32;
    for variant in (host::kernels::reduce::FAMILY.variants)() {
        let device = &*bench.device;
        let sum = reduce::<Sum, i32>(device, bench.module, &input, n, variant.name).expect("a sum");
        assert_eq!(sum, expected, "sum by {}", variant.name);
        let max = reduce::<Max, i32>(device, bench.module, &input, n, variant.name).expect("a maximum");
        assert_eq!(max, 0x7654_3210, "maximum by {}", variant.name);
    }
}

/// The fixed order of additions: the same bits on every run.
#[test]
fn best_gives_the_same_bits_every_time() {
    let bench = bench(Choice::Gpu(0), "kernels-gpu");
    let values: Vec<f32> = host::input::generate::generate(3_000_001, 11);
    let input = Buffer::from_slice(&*bench.device, &values, "input").expect("memory");
    let run = || reduce::<Sum, f32>(&*bench.device, bench.module, &input, values.len(), "best").expect("a sum").to_bits();
    let first = run();
    assert!((0..50).all(|_| run() == first));
}
