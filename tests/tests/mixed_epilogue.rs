//! Epilogues of products on tensor cores, on the simulator.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use half::bf16;
use rustwarp::backend::View;
use rustwarp::matmul::Sizes;
use rustwarp::mixed_matmul::{Epilogue, Plan};
use rustwarp::{Device, Error};
use tests::mixed;

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

#[test]
fn of_bf16() {
    mixed::epilogues_of_bf16(&sim());
}

#[test]
fn of_tf32() {
    mixed::epilogues_of_tf32(&sim());
}

#[test]
fn of_f8() {
    mixed::epilogues_of_f8(&sim());
}

#[test]
fn of_i8() {
    mixed::epilogues_of_i8(&sim());
}

#[test]
fn small_integers_are_exact() {
    mixed::small_integers_are_exact(&sim());
}

#[test]
fn sums_of_integers_have_none_and_lengths_must_fit() {
    let device = Device::sim().expect("the simulator");
    let sizes = Sizes { m: 2, n: 2, k: 2, ..Sizes::default() };
    let a = device.zeros::<i8>(4).expect("memory");
    let bias = device.zeros::<f32>(3).expect("memory");
    let with = |bias| Epilogue { bias: Some(View::from(bias)), ..Epilogue::default() };
    let mut sums = device.zeros::<i32>(4).expect("memory");
    let plan = Plan::<i8, i32>::new(&device, sizes).expect("a plan");
    let scaled = Epilogue { alpha: 2.0, ..Epilogue::default() };
    assert!(matches!(plan.launch_with([&a, &a], &scaled, &mut sums), Err(Error::Argument(_))));
    let mut floats = device.zeros::<f32>(4).expect("memory");
    let plan = Plan::<i8, f32>::new(&device, sizes).expect("a plan");
    assert!(matches!(plan.launch_with([&a, &a], &with(&bias), &mut floats), Err(Error::Mismatch(_))));
}

#[test]
fn the_old_product_can_be_the_addend() {
    let device = Device::sim().expect("the simulator");
    let sizes = Sizes { m: 33, n: 40, k: 16, ..Sizes::default() };
    let ones = |n: usize| device.upload(&vec![bf16::ONE; n]).expect("memory");
    let (a, b, mut c) = (ones(33 * 16), ones(16 * 40), ones(33 * 40));
    let plan = Plan::<bf16, bf16>::new(&device, sizes).expect("a plan");
    plan.launch_with([&a, &b], &Epilogue { beta: 2.0, ..Epilogue::default() }, &mut c).expect("a product");
    assert!(c.download().expect("elements").iter().all(|x| x.to_f32() == 18.0));
}
