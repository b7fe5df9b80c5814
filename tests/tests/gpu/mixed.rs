//! Products of matrices that are parts of larger ones, and of narrow types on the tensor cores, with epilogues.

use libtest_mimic::Trial;
use rustwarp::Device;
use tests::{accuracy, epilogue, gemm, ieee, mixed};

use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("accuracy_within_the_bounds", || accuracy::within_the_bounds(&gpu())),
        trial("accuracy_many_products", || accuracy::many_products(&gpu())),
        trial("accuracy_empty_products", || accuracy::empty_products(&gpu())),
        trial("accuracy_infinities_and_nan", || accuracy::infinities_and_nan(&gpu())),
        trial("accuracy_large_batches", || accuracy::large_batches(&gpu())),
        trial("accuracy_tf32_is_outside_of_the_other_bounds", || accuracy::tf32_is_outside_of_the_other_bounds(&gpu())),
        trial("gemm_every_tile_of_f32", || gemm::every_tile_of_f32(&gpu())),
        trial("gemm_every_tile_of_f64", || gemm::every_tile_of_f64(&gpu())),
        trial("gemm_products_of_16_bits", || gemm::products_of_16_bits(&gpu())),
        trial("gemm_products_of_tf32", || gemm::products_of_tf32(&gpu())),
        trial("gemm_products_of_8_bits", || gemm::products_of_8_bits(&gpu())),
        trial("gemm_matrices_times_vectors", || gemm::matrices_times_vectors(&gpu())),
        trial("gemm_emulated_products", || gemm::emulated_products(&gpu())),
        trial("epilogues_of_bf16", || epilogue::of_bf16(&gpu())),
        trial("epilogues_of_tf32", || epilogue::of_tf32(&gpu())),
        trial("epilogues_of_f8", || epilogue::of_f8(&gpu())),
        trial("epilogues_of_i8", || epilogue::of_i8(&gpu())),
        trial("epilogues_of_f32", || epilogue::of_f32(&gpu())),
        trial("epilogues_of_f64", || epilogue::of_f64(&gpu())),
        trial("epilogues_of_emulated_f32", || epilogue::of_emulated_f32(&gpu())),
        trial("ieee_narrow_products", || ieee::narrow_products(&gpu())),
        trial("ieee_products", || ieee::products(&gpu())),
        trial("mixed_small_integers_are_exact", || mixed::small_integers_are_exact(&gpu())),
        trial("mixed_every_tile_in_parts", || mixed::every_tile_in_parts(&gpu())),
        trial("mixed_parts_in_a_graph", || mixed::parts_in_a_graph(&gpu())),
    ]
}

fn gpu() -> Device {
    Device::gpu(0).expect("a GPU")
}
