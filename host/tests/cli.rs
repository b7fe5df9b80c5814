//! The families as scripts see them: values, JSON, and one clear line for every bad input. On the simulator.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use program::{data, host, refused, refused_in_a_line, rows, text};
use std::process::Command;

#[test]
fn every_variant_on_numpy_files_of_every_type() {
    let variants = rows(&["list", "--json"]);
    let reduce = variants.iter().filter(|row| row["family"] == "reduce").count();
    // These exist for sums of floats only.
    let floats = ["double_float", "sorted", "fixed_tree"].len();
    assert!(reduce >= 11 + floats);
    for dtype in ["f32", "f64", "i32", "u32", "i64", "u64"] {
        let file = data(&format!("{dtype}.npy"));
        for op in ["sum", "max", "min"] {
            let rows = rows(&["reduce", "--input", &file, "--op", op, "--variant", "all", "--device", "sim", "--json"]);
            let all = op == "sum" && dtype.starts_with('f');
            assert_eq!(rows.len(), if all { reduce } else { reduce - floats }, "{op} of {dtype}");
            for row in rows {
                assert_eq!(row["verified"], true, "{row}");
                assert_eq!(
                    (&row["dtype"], &row["op"], &row["n"], &row["device"]),
                    (&dtype.into(), &op.into(), &1003.into(), &"sim".into())
                );
                assert!(row["counters"]["warp_instructions"].as_u64().unwrap() > 0, "{row}");
            }
        }
    }
}

#[test]
fn nan_infinities_and_nothing() {
    for (file, op, value) in [
        ("nan.npy", "sum", "NaN"),
        ("nan.npy", "max", "NaN"),
        ("empty.npy", "max", "-inf"),
        ("empty.npy", "min", "inf"),
    ] {
        for row in rows(&["reduce", "--input", &data(file), "--op", op, "--device", "sim", "--json"]) {
            assert_eq!((&row["value"], &row["verified"]), (&value.into(), &true.into()), "{row}");
        }
    }
    for row in rows(&["reduce", "--input", &data("empty.npy"), "--device", "sim", "--json"]) {
        assert_eq!(row["value"].as_f64(), Some(0.0), "{row}");
    }
    let version2 = ["reduce", "--input", &data("version2.npy"), "--variant", "best", "--device", "sim", "--json"];
    assert_eq!(rows(&version2)[0]["value"].as_f64(), Some(6.0));
}

#[test]
fn the_simulator_explains_the_first_rungs() {
    let rows = rows(&[
        "reduce",
        "--n",
        "4096",
        "--device",
        "sim",
        "--json",
        "--variant",
        "interleaved,interleaved_strided,sequential",
    ]);
    let count = |row: usize, counter: &str| rows[row]["counters"][counter].as_u64().unwrap();
    assert!(count(0, "divergent_branches") > 2 * count(1, "divergent_branches"), "the first rung diverges");
    assert!(count(1, "bank_conflicts") > 0, "the second rung has bank conflicts");
    assert_eq!(count(2, "bank_conflicts"), 0, "the third has none");
}

#[test]
fn bad_files() {
    for (file, words) in [
        ("missing.npy", ["missing.npy", "No such file"]),
        ("truncated.npy", ["truncated.npy", "bytes"]),
        ("big_endian.npy", ["big_endian.npy", "endian"]),
        ("fortran.npy", ["fortran.npy", "Fortran"]),
        ("object.npy", ["object.npy", "object"]),
        ("structured.npy", ["structured.npy", "struct"]),
        ("c8.npy", ["c8.npy", "astype"]),
        ("not_npy.npy", ["not_npy.npy", "npy"]),
    ] {
        refused_in_a_line(&["reduce", "--input", &data(file), "--device", "sim"], 2, &words);
    }
    refused_in_a_line(
        &["reduce", "--input", &data("f32.npy"), "--dtype", "f64", "--device", "sim"],
        2,
        &["f32", "f64"],
    );
}

#[test]
fn bad_options() {
    refused(&["reduce", "--block", "0", "--device", "sim"], 2, &["--block"]);
    refused_in_a_line(&["reduce", "--block", "2048", "--device", "sim"], 2, &["--block 2048"]);
    refused_in_a_line(&["reduce", "--n", "2^60", "--device", "sim"], 2, &["memory"]);
    refused(&["reduce", "--n", "2^80", "--device", "sim"], 2, &["2^80"]);
    refused_in_a_line(&["reduce", "--variant", "fastest", "--device", "sim"], 2, &["fastest", "sequential"]);
    for (family, variant) in
        [("transpose", "best"), ("scan", "best"), ("conv2d", "tiled"), ("matmul", "naive"), ("picture", "pixel")]
    {
        let args = [family, "--n", "64", "--variant", variant, "--grid", "2", "--device", "sim"];
        refused_in_a_line(&args, 2, &[variant, "leave --grid out"]);
    }
    refused(&["reduce", "--no-such-option"], 2, &["--no-such-option"]);
    refused(&["reduce", "--device", "tpu"], 2, &["tpu"]);
}

#[test]
fn no_gpu_and_no_ptx() {
    refused_in_a_line(&["reduce", "--device", "gpu"], 3, &["no-such-libcuda.so"]);
    let devices = host(&["devices"]);
    assert_eq!(devices.status.code(), Some(0), "it starts without a driver");
    assert!(text(&devices.stdout).contains("sim"));

    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(["reduce", "--device", "sim"])
        .env("RUSTWARP_PTX_DIR", folder.path())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    // The one for programs of others, the other for a checkout.
    for way in ["features = [\"kernels\"]", "cargo xtask build-ptx"] {
        assert!(text(&output.stderr).contains(way), "{}", text(&output.stderr));
    }
    refused(&["reduce", "--ptx", "/no/such/file.ptx", "--device", "sim"], 3, &["/no/such/file.ptx"]);
}

#[test]
fn files_larger_than_memory_and_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    // 2^41 elements of 4 bytes, none of which takes space on the disk.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2199023255552,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for name in ["large.npy", "large.txt", "large.bin"] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).expect("a file");
        let file = std::fs::File::options().write(true).open(&path).expect("the file");
        file.set_len(bytes.len() as u64 + (4 << 41) + 2).expect("a sparse file");
        let path = path.display().to_string();
        let args = ["reduce", "--input", &path, "--dtype", "f32", "--device", "sim"];
        refused_in_a_line(&args, 2, &[name, "memory", "smaller file"]);
        std::fs::remove_file(path).expect("removed");
    }
    let path = folder.path().display().to_string();
    refused_in_a_line(&["reduce", "--input", &path, "--dtype", "f32", "--device", "sim"], 2, &["is a folder"]);
    let named = folder.path().join("folder.npy");
    std::fs::create_dir(&named).expect("a folder");
    refused_in_a_line(&["reduce", "--input", &named.display().to_string(), "--device", "sim"], 2, &["is a folder"]);
}

#[test]
fn the_letters_of_a_text_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (book, counts) = (folder.path().join("book.txt"), folder.path().join("counts.npy"));
    let sentence = "The quick brown fox jumps over the lazy dog.\n";
    std::fs::write(&book, sentence).expect("written");
    let (book, counts) = (book.display().to_string(), counts.display().to_string());
    let letters = ["histogram", "--input", &book, "--letters", "--variant", "best", "--device", "sim"];
    let output = host(&[&letters[..], &["--output", &counts]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("result: 4 7 4 7 6 5 2\n"), "{}", text(&output.stdout));
    let written = ladders::input::read(counts.as_ref(), None).expect("counts").into_data();
    assert_eq!(written, rustwarp::element::Array::U64(vec![4, 7, 4, 7, 6, 5, 2]));
    // Without --dtype a file's bytes are counted, those of a text too; a .npy says itself what it holds.
    let rows = rows(&["histogram", "--input", &book, "--device", "sim", "--json"]);
    assert!(rows.iter().all(|row| row["n"] == sentence.len() && row["dtype"] == "u8" && row["verified"] == true));
    let keys = self::rows(&["histogram", "--input", &data("u32.npy"), "--bins", "2^16", "--device", "sim", "--json"]);
    assert!(keys.iter().all(|row| row["dtype"] == "u32" && row["verified"] == true));
    refused_in_a_line(&["histogram", "--letters", "--dtype", "u32", "--device", "sim"], 2, &["--dtype u8"]);
    refused_in_a_line(&["histogram", "--range", "0:1", "--device", "sim"], 2, &["--dtype f32"]);
}

/// The channels of pixels in a file, each with its counts; the rungs that count one channel are left out.
#[test]
fn the_channels_of_pixels() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pixels, counts) = (folder.path().join("pixels.bin"), folder.path().join("counts.npy"));
    std::fs::write(&pixels, [0, 1, 2, 9, 0, 1, 2, 9, 1, 1, 1, 1]).expect("written");
    let (pixels, counts) = (pixels.display().to_string(), counts.display().to_string());
    let args = ["histogram", "--input", &pixels, "--channels", "4", "--bins", "3", "--device", "sim", "--json"];
    let rows = rows(&args);
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["variant"], &rows[0]["verified"]), (&"best".into(), &true.into()));
    self::rows(&[&args[..], &["--active", "3", "--variant", "best", "--output", &counts]].concat());
    let written = ladders::input::read(counts.as_ref(), None).expect("counts");
    assert_eq!(written.shape(), [3, 3]);
    assert_eq!(written.into_data(), rustwarp::element::Array::U64(vec![2, 1, 0, 0, 3, 0, 0, 1, 2]));
    for (more, why) in [
        (&["--variant", "shared"][..], "counts one channel, not several"),
        (&["--letters"], "leave --bins out"),
        (&["--dtype", "f32"], "--dtype u8"),
        (&["--gpus", "2"], "--channels is not supported on several devices"),
        (&["--stream", "--variant", "best"], "--channels is not supported in chunks"),
    ] {
        refused_in_a_line(&[&args[..args.len() - 1], more].concat(), 2, &[why]);
    }
}

/// Every texel of a picture in colour becomes two by two, by hand and by the texture unit; the window is its right
/// half.
#[test]
fn a_picture_through_a_texture() {
    use ladders::input::picture;
    use rustwarp::Tensor;
    use rustwarp::element::Array;

    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from.png"), folder.path().join("to.png"));
    let texel = |row: u8, column: u8| [100 * row + 10 * column, 200 - row, column];
    let bytes = |rows: &[u8], columns: &[u8]| -> Vec<u8> {
        rows.iter().flat_map(|&row| columns.iter().flat_map(move |&column| texel(row, column))).collect()
    };
    let small = Array::U8(bytes(&[0, 1], &[0, 1, 2, 3]));
    picture::write(&from, &Tensor::new(&[2, 4, 3], small).expect("a picture")).expect("written");
    let (from, to) = (from.display().to_string(), to.display().to_string());
    let whole = [
        "texture", "--device", "sim", "--input", &from, "--output", &to, "--json", "--filter", "point", "--scale",
        "200",
    ];
    for variant in ["global", "best"] {
        let args = [&whole[..], &["--variant", variant]].concat();
        assert_eq!(rows(&args)[0]["verified"], true);
        let result = ladders::input::read(to.as_ref(), None).expect("a picture");
        let twice = Array::U8(bytes(&[0, 0, 1, 1], &[0, 0, 1, 1, 2, 2, 3, 3]));
        assert_eq!(result, Tensor::new(&[4, 8, 3], twice).expect("a picture"), "{variant}");
    }
    refused_in_a_line(
        &["texture", "--device", "sim", "--n", "8", "--address", "wrap"],
        2,
        &["--address wrap", "--normalised"],
    );
    refused(
        &["texture", "--device", "sim", "--n", "8", "--dims", "1", "--turn", "30"],
        2,
        &["--turn", "two dimensions"],
    );
}
