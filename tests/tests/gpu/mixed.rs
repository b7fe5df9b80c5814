//! Products of narrow types on the tensor cores of a GPU, with epilogues.

use libtest_mimic::Trial;
use rustwarp::Device;
use tests::mixed;

use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("mixed_epilogues_of_bf16", || mixed::epilogues_of_bf16(&gpu())),
        trial("mixed_epilogues_of_tf32", || mixed::epilogues_of_tf32(&gpu())),
        trial("mixed_epilogues_of_f8", || mixed::epilogues_of_f8(&gpu())),
        trial("mixed_epilogues_of_i8", || mixed::epilogues_of_i8(&gpu())),
        trial("mixed_small_integers_are_exact", || mixed::small_integers_are_exact(&gpu())),
    ]
}

fn gpu() -> Device {
    Device::gpu(0).expect("a GPU")
}
