//! Every variant on a GPU. The tests are compiled with `--features gpu` only; then a missing GPU is a failure.

use libtest_mimic::Arguments;
use rustwarp::backend::Choice;
use tests::matrix::trials;

fn main() {
    let tests = trials(Choice::Gpu(0), &[1 << 16, (1 << 20) + 7, (1 << 22) + 1]);
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
