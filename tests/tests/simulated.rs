//! Every variant on the simulator, with every checker on.

use libtest_mimic::{Arguments, Trial};
use rustwarp::backend::Choice;
use tests::matrix::{bench, parts_of_an_array, trials};

fn main() {
    let mut tests = trials(Choice::Sim, &[], None);
    tests.push(Trial::test("reduce::a_slice_that_starts_anywhere", || {
        parts_of_an_array(&bench(Choice::Sim, "reduce"));
        Ok(())
    }));
    tests.push(Trial::test("scan::the_same_bits_in_any_order", || {
        tests::order::scan_gives_the_same_bits();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
