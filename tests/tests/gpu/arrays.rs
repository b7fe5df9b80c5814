//! Large arrays, equal bits, every item of `cuda_std`, what kernels print, and their faults.

use kernels_gpu::reduce::{Max, Sum};
use ladders::kernels::reduce::{FAMILY, has_kernels, reduce};
use libtest_mimic::Trial;
use rustwarp::backend::{Buffer, Choice};
use tests::matrix::{bench, bench_of_tests, parts_of_an_array};

use crate::{again, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_slice_that_starts_anywhere", a_slice_that_starts_anywhere),
        trial("more_than_two_to_the_31_elements", more_than_two_to_the_31_elements),
        trial("best_gives_the_same_bits_every_time", best_gives_the_same_bits_every_time),
        trial("every_item_of_cuda_std", every_item_of_cuda_std),
        trial("printing", printing),
        trial("faults_are_errors", faults_are_errors),
    ]
}

fn a_slice_that_starts_anywhere() {
    parts_of_an_array(&bench(Choice::Gpu(0), "reduce"));
}

/// Indices beyond 32 bits: every variant must include the elements after 2^31.
fn more_than_two_to_the_31_elements() {
    let bench = bench(Choice::Gpu(0), "reduce");
    let n = (1 << 31) + 12_345;
    let input = Buffer::<i32>::uninit(&*bench.device, n, "input").expect("9 GB of memory");
    // Every element is 0x01010101; the sum wraps.
    input.fill(1).expect("a fill");
    let last = input.address() + input.bytes() - 4;
    // SAFETY: these are the last four bytes of the input.
    unsafe { bench.device.write(last, &0x7654_3210_i32.to_le_bytes()) }.expect("a write");
    let expected = (0x0101_0101_i128 * (n as i128 - 1) + 0x7654_3210) as i32;
    let rungs: Vec<_> = FAMILY.rungs().into_iter().filter(|rung| has_kernels::<Sum, i32>(*rung)).collect();
    assert!(rungs.len() > 15, "{} rungs", rungs.len());
    for rung in rungs {
        let device = &*bench.device;
        let sum = reduce::<Sum, i32>(device, bench.module, &input, n, rung).expect("a sum");
        assert_eq!(sum, expected, "sum by {}", rung.name);
        let max = reduce::<Max, i32>(device, bench.module, &input, n, rung).expect("a maximum");
        assert_eq!(max, 0x7654_3210, "maximum by {}", rung.name);
    }
}

/// Additions in a fixed order give the same bits in every run.
fn best_gives_the_same_bits_every_time() {
    let bench = bench(Choice::Gpu(0), "reduce");
    let values: Vec<f32> = ladders::input::generate::generate(3_000_001, 11);
    let input = Buffer::from_slice(&*bench.device, &values, "input").expect("memory");
    let best = FAMILY.select("best").expect("a rung")[0];
    let run = || reduce::<Sum, f32>(&*bench.device, bench.module, &input, values.len(), best).expect("a sum").to_bits();
    let first = run();
    assert!((0..50).all(|_| run() == first));
}

fn every_item_of_cuda_std() {
    let bench = bench_of_tests(Choice::Gpu(0));
    let cases = test_kernels::all::cases();
    let mut wrong = Vec::new();
    for case in &cases {
        wrong.extend(tests::cases::launch(&*bench.device, bench.module, case).err());
        // After a fault every call fails, so only the first failure is reported.
        if bench.device.synchronize().is_err() {
            break;
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases failed:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// The driver itself writes what kernels print, so the test captures the output of a child process.
fn printing() {
    const CHILD: &str = "RUSTWARP_TEST_PRINTING";
    let cases: Vec<_> = test_kernels::all::cases().into_iter().filter(|case| !case.printed.is_empty()).collect();
    if std::env::var_os(CHILD).is_some() {
        let bench = bench_of_tests(Choice::Gpu(0));
        cases.iter().for_each(|case| tests::cases::launch(&*bench.device, bench.module, case).expect("a launch"));
        return;
    }
    let child = again("printing").env(CHILD, "1").output().expect("a child");
    let printed = String::from_utf8(child.stdout).expect("text");
    for line in cases.iter().flat_map(|case| &case.printed) {
        assert!(printed.lines().any(|have| have == line), "'{line}' is missing in\n{printed}");
    }
}

/// On a GPU a planted fault ends the process's context, so each bug runs in a child process, which must report a fault
/// and no result.
fn faults_are_errors() {
    const CHILD: &str = "RUSTWARP_TEST_FAULT";
    let panics = || test_kernels::planted::all().into_iter().filter(|p| p.bug == test_kernels::planted::Bug::Panic);
    if let Ok(name) = std::env::var(CHILD) {
        let bench = bench_of_tests(Choice::Gpu(0));
        let planted = panics().find(|planted| planted.case.name == name).expect("a planted bug of this name");
        let error = tests::cases::launch(&*bench.device, bench.module, &planted.case).expect_err("a fault");
        println!("{error}");
        return;
    }
    assert!(panics().count() >= 3);
    for planted in panics() {
        let child = again("faults_are_errors").env(CHILD, &planted.case.name).output().expect("a child");
        let printed = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{}:\n{printed}", planted.case.name);
        for part in planted.printed {
            assert!(printed.contains(part), "'{part}' is missing in\n{printed}");
        }
    }
}
