//! Epilogues of products, on the simulator.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use half::bf16;
use rustwarp::backend::View;
use rustwarp::matmul::{self, Batch, Sizes};
use rustwarp::mixed_matmul::{Epilogue, Plan};
use rustwarp::{Device, Error};
use tests::{epilogue, mixed};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

#[test]
fn of_bf16() {
    epilogue::of_bf16(&sim());
}

#[test]
fn of_tf32() {
    epilogue::of_tf32(&sim());
}

#[test]
fn of_f8() {
    epilogue::of_f8(&sim());
}

#[test]
fn of_i8() {
    epilogue::of_i8(&sim());
}

#[test]
fn of_f32() {
    epilogue::of_f32(&sim());
}

#[test]
fn of_f64() {
    epilogue::of_f64(&sim());
}

#[test]
fn of_emulated_f32() {
    epilogue::of_emulated_f32(&sim());
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

/// Products of a batch are added to what is at their own places.
#[test]
fn addends_of_a_batch() {
    let device = sim();
    let sizes = Sizes { m: 3, n: 4, k: 2, ..Sizes::default() };
    let batch = Batch::contiguous(3, sizes).expect("it is small");
    let ones = |n: usize| device.upload(&vec![1.0_f64; n]).expect("memory");
    let old: Vec<f64> = (0..36).map(f64::from).collect();
    let (a, b, addend) = (ones(18), ones(24), device.upload(&old).expect("memory"));
    let epilogue = matmul::Epilogue { beta: -1.0, addend: Some(View::from(&addend)), ..Default::default() };
    let mut c = device.zeros::<f64>(36).expect("memory");
    let plan = matmul::Plan::batched(&device, sizes, batch, None).expect("a plan");
    plan.launch_with([&a, &b], &epilogue, &mut c).expect("products");
    assert_eq!(c.download().expect("elements"), old.iter().map(|x| 2.0 - x).collect::<Vec<_>>());
    let short = matmul::Epilogue { addend: Some(View::from(&a)), ..epilogue };
    assert!(matches!(plan.launch_with([&a, &b], &short, &mut c), Err(Error::Mismatch(_))));
}
