//! Every variant on the simulator, with every checker on.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use host::backend::Choice;
use tests::matrix::{bench, every_block, every_start, every_variant, special_floats};

#[test]
fn every_variant_type_operation_and_length() {
    assert!(every_variant(&bench(Choice::Sim, "kernels-gpu"), &[]) > 2000);
}

#[test]
fn infinities_zeros_and_nan() {
    assert!(special_floats(&bench(Choice::Sim, "kernels-gpu")) > 1000);
}

#[test]
fn every_block_size() {
    assert!(every_block(&bench(Choice::Sim, "kernels-gpu")) > 150);
}

#[test]
fn every_variant_type_and_operation_off_a_boundary() {
    assert!(every_start(&bench(Choice::Sim, "kernels-gpu")) > 1500);
}

#[test]
fn a_slice_that_starts_anywhere() {
    tests::matrix::parts_of_an_array(&bench(Choice::Sim, "kernels-gpu"));
}
