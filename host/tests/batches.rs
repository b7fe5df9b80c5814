//! Batches of products on the command line: files of three axes, and `--shape` with four numbers.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use program::{object, refused_in_a_line, rows};
use rustwarp::Tensor;
use rustwarp::element::Array;

/// Small integers, whose products are exact.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * 7 % 11) as f64 - 5.0).collect()
}

/// A folder with batches of 3 and of 2 matrices of 2x4, and a batch of 3 and a matrix of 4x5.
fn files() -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, shape) in [("a", &[3, 2, 4][..]), ("two", &[2, 2, 4]), ("b", &[3, 4, 5]), ("shared", &[4, 5])] {
        let tensor = Tensor::new(shape, Array::F64(numbers(shape.iter().product()))).unwrap();
        input::write(&folder.path().join(name).with_extension("npy"), &tensor).unwrap();
    }
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).display().to_string())
}

#[test]
fn files_of_three_axes_are_batches_and_one_of_two_is_shared() {
    let (_folder, path) = files();
    let (a, output) = (path("a.npy"), path("c.npy"));
    for (b, step) in [("b.npy", 20), ("shared.npy", 0)] {
        let args = ["matmul", "--input", &a, "--input", &path(b), "--variant", "best", "--device", "sim", "--json"];
        let row = object(&[&args[..], &["--output", &output]].concat(), 0);
        assert_eq!((&row["shape"], &row["verified"]), (&serde_json::json!([3, 2, 5, 4]), &true.into()), "{row}");
        let (x, y) = (numbers(24), numbers(60));
        let element = |i: usize| -> f64 {
            let (product, row, column) = (i / 10, i / 5 % 2, i % 5);
            (0..4).map(|l| x[product * 8 + row * 4 + l] * y[product * step + l * 5 + column]).sum()
        };
        let expected = Tensor::new(&[3, 2, 5], Array::F64((0..30).map(element).collect())).unwrap();
        assert_eq!(input::read(output.as_ref(), None).unwrap(), expected, "{b}");
    }
}

#[test]
fn four_numbers_are_a_batch_and_only_best_runs_it() {
    let args = ["matmul", "--shape", "3x33x17x9", "--device", "sim", "--json"];
    let rows = rows(&args);
    let found: Vec<_> = rows.iter().map(|row| (&row["variant"], &row["shape"], &row["verified"])).collect();
    assert_eq!(found, [(&"best".into(), &serde_json::json!([3, 33, 17, 9]), &true.into())]);
    refused_in_a_line(&[&args[..], &["--variant", "naive"]].concat(), 2, &["`naive`", "not a batch", "`best`"]);
    refused_in_a_line(&["matmul", "--shape", "3x3", "--device", "sim"], 2, &["BxMxNxK", "not 3x3"]);
}

#[test]
fn batches_that_do_not_fit_and_places_without_batches_are_refused() {
    let (_folder, path) = files();
    let [a, two, b] = ["a.npy", "two.npy", "b.npy"].map(&path);
    let refused = |args: &[&str], words: &[&str]| {
        refused_in_a_line(&[&["matmul", "--device", "sim"], args].concat(), 2, words);
    };
    refused(&["--input", &two, "--input", &b], &["batch of 2", "B of 3", "two axes"]);
    refused(&["--input", &a, "--input", &a], &["4 columns", "2 rows"]);
    refused(&["--input", &a, "--input", &b, "--gpus", "2"], &["batch of 3", "on one device"]);
    refused(&["--input", &a, "--input", &b, "--stream"], &["two axes"]);
}
