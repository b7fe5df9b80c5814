//! Options have an effect or are an error; none is ignored.

mod program;

use program::{data, object, refused, refused_in_a_line, rows};

#[test]
fn a_launch_has_blocks_and_threads() {
    for family in ["atomics", "threads", "picture", "conv2d", "histogram", "dot", "vecadd"] {
        for option in ["--grid", "--block"] {
            refused(&[family, option, "0", "--device", "sim"], 2, &[option, "'0'"]);
            refused(&["check", family, option, "0"], 2, &[option, "'0'"]);
        }
    }
    refused(&["bench", "reduce", "--block", "0"], 2, &["--block", "'0'"]);
}

#[test]
fn a_shape_is_given_once() {
    let threads = ["threads", "--device", "sim"];
    for (whole, axis) in [("--block", "--block-x"), ("--block", "--block-z"), ("--grid", "--grid-y")] {
        refused(&[&threads[..], &[whole, "8", axis, "4"]].concat(), 2, &[whole, axis, "cannot be used with"]);
    }
    assert!(rows(&[&threads[..], &["--block", "8", "--grid-x", "2", "--json"]].concat()).len() > 1);
}

#[test]
fn what_reads_nothing_takes_no_data() {
    let file = data("u32.npy");
    for option in [&["--n", "5"][..], &["--shape", "5x5"], &["--seed", "42"], &["--input", &file]] {
        for command in [&["threads"][..], &["check", "threads"], &["explain", "threads"]] {
            refused_in_a_line(&[command, option].concat(), 2, &["threads has no operands", option[0]]);
        }
    }
    refused_in_a_line(&["bench", "threads", "--n", "5"], 2, &["threads has no operands", "--n"]);
}

#[test]
fn settings_of_generated_data_need_generated_data() {
    let (f32, u32) = (data("f32.npy"), data("u32.npy"));
    for (family, setting, files) in [
        ("conv1d", &["--mask", "3"], &[&f32, &f32][..]),
        ("conv2d", &["--mask", "3"], &[&f32, &f32]),
        ("conv2d", &["--mask-rows", "3"], &[&f32, &f32]),
        ("segreduce", &["--length", "3"], &[&f32, &u32]),
        ("segreduce", &["--mix", "power"], &[&f32, &u32]),
        ("histogram", &["--skew", "50"], &[&u32]),
    ] {
        let inputs: Vec<&str> = files.iter().flat_map(|file| ["--input", file.as_str()]).collect();
        let args = [&[family, "--device", "sim"], &setting[..], &inputs].concat();
        refused(&args, 2, &[setting[0], "--input", "cannot be used with"]);
        let error = program::text(&program::host(&args).stderr);
        let advice = format!("leave {} out, and give the mask as a second --input", setting[0]);
        assert_eq!(error.contains(&advice), setting[0].starts_with("--mask"), "{error}");
    }
    let one = ["conv2d", "--input", &f32, "--device", "sim"];
    refused_in_a_line(&one, 2, &["2 --input (image, mask), not 1", "give the mask as another --input behind"]);
    refused_in_a_line(&["matmul", "--input", &f32, "--input", &f32, "--input", &f32], 2, &["leave the others out"]);
    // Options for the interpretation of data can be combined with a file.
    let row =
        object(&["histogram", "--input", &u32, "--bins", "16", "--variant", "best", "--device", "sim", "--json"], 0);
    assert_eq!(row["settings"], "--bins 16");
}

#[test]
fn bench_refuses_names_that_nobody_has() {
    refused_in_a_line(&["bench", "--variant", "besst"], 2, &["none of the families has --variant besst"]);
    refused_in_a_line(&["bench", "reduce", "--variant", "besst"], 2, &["reduce has no variant `besst`", "sequential"]);
    refused_in_a_line(&["bench", "reduce", "scan", "--op", "mean"], 2, &["--op mean"]);
    // Families without the operation are left out; then there is no GPU to measure the others on.
    refused(&["bench", "--op", "max"], 3, &["vecadd is left out: vecadd has no --op", "no-such-libcuda.so"]);
    refused(&["bench", "--dtype", "f64"], 3, &["picture is left out", "no-such-libcuda.so"]);
}

#[test]
fn a_tile_that_a_type_lacks_is_refused() {
    let args = ["matmul", "--variant", "best", "--n", "32", "--tile", "tiny", "--device", "sim", "--json"];
    assert!(rows(&args).iter().all(|row| row["verified"] == true));
    refused(&[&args[..], &["--dtype", "f64"]].concat(), 2, &["no tile `tiny` for f64", "auto", "large, small"]);
}

/// The first value of this seed is the one that stands for an untouched counter.
#[test]
fn exch_takes_whatever_is_generated() {
    let args = ["atomics", "--op", "exch", "--seed", "6204490082765445028", "--n", "40", "--device", "sim", "--json"];
    assert!(rows(&args).iter().all(|row| row["verified"] == true));
}
