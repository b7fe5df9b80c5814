//! Every variant of every family: a test for each, from the list of families.

use libtest_mimic::Trial;
use rustwarp::backend::Choice;

pub fn trials() -> Vec<Trial> {
    tests::matrix::trials(Choice::Gpu(0), &[1 << 16, (1 << 20) + 7], Some((1 << 22) + 1))
}
