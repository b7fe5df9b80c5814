//! Products of every type on the command line: their values, files and refusals. On the simulator.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use ladders::kernels::{Demand, Settings, matmul, tensor};
use program::{data, host, object, refused, refused_in_a_line, text};
use rustwarp::Tensor;
use rustwarp::element::{Array, Dtype, Scalar};
use serde_json::json;

/// Rows of A, columns of B, and what they share: no multiples of a tile.
const SIZES: [usize; 3] = [5, 7, 19];

const SIM: [&str; 3] = ["--device", "sim", "--json"];

/// The bytes of a number in a file.
type Bytes = fn(f64) -> Vec<u8>;

/// The types of factors, with the type and the bytes of a file's elements, and the family and variant that multiply
/// them.
const TYPES: [(&str, &str, Bytes, &str, &str); 6] = [
    ("f32", "<f4", |x| (x as f32).to_le_bytes().into(), "matmul", "best"),
    ("tf32", "<f4", |x| (x as f32).to_le_bytes().into(), "tensor", "tf32"),
    ("f16", "<f2", |x| float(x, 5, 10).to_le_bytes()[..2].into(), "tensor", "best"),
    ("bf16", "<V2", |x| float(x, 8, 7).to_le_bytes()[..2].into(), "tensor", "best"),
    ("f8", "|V1", |x| float(x, 4, 3).to_le_bytes()[..1].into(), "tensor", "best"),
    ("i8", "|i1", |x| vec![x as i8 as u8], "tensor", "best"),
];

/// The bits of a number that a float with these bits of an exponent and of a fraction holds exactly.
fn float(x: f64, exponent: u32, fraction: u32) -> u32 {
    if x == 0.0 {
        return 0;
    }
    let bits = x.to_bits();
    let power = (bits >> 52 & 0x7ff) as u32 - 1023 + (1 << (exponent - 1)) - 1;
    let sign = (bits >> 63) as u32;
    sign << (exponent + fraction) | power << fraction | (bits << 12 >> (64 - fraction)) as u32
}

/// Whole numbers from -3 to 3, which every type holds, as it does their products.
fn numbers(count: usize, step: usize) -> Vec<f64> {
    (0..count).map(|i| (i * step % 7) as f64 - 3.0).collect()
}

/// Rows of A by columns of B.
fn product([m, n, k]: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..m * n).map(|i| (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum()).collect()
}

/// A `.npy` file of a matrix.
fn npy(kind: &str, [rows, columns]: [usize; 2], elements: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(elements.into_iter().flatten());
    bytes
}

/// A folder in which files have names.
fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).display().to_string())
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    fn all<T: Scalar>(values: &[T]) -> Vec<f64> {
        values.iter().map(|x| x.value().to_f64()).collect()
    }
    match tensor.data() {
        Array::F32(values) => all(values),
        Array::F64(values) => all(values),
        Array::F16(values) => all(values),
        Array::Bf16(values) => all(values),
        Array::F8(values) => all(values),
        Array::I8(values) => all(values),
        Array::I32(values) => all(values),
        other => panic!("{}", other.dtype()),
    }
}

#[test]
fn files_of_every_type_are_multiplied() {
    let [m, n, k] = SIZES;
    let (_folder, path) = folder();
    let (x, y) = (numbers(m * k, 3), numbers(k * n, 5));
    let expected = product(SIZES, &x, &y);
    for (dtype, kind, bytes, family, variant) in TYPES {
        let files = [("a.npy", [m, k], &x), ("b.npy", [k, n], &y)].map(|(name, shape, numbers)| {
            std::fs::write(path(name), npy(kind, shape, numbers.iter().map(|x| bytes(*x)))).unwrap();
            path(name)
        });
        let args = ["matmul", "--dtype", dtype, "--input", &files[0], "--input", &files[1], "--variant", "best"];
        let run = |output: &str| object(&[&args[..], &SIM, &["--output", &path(output)]].concat(), 0);
        let row = run("c.csv");
        assert_eq!((&row["family"], &row["variant"]), (&family.into(), &variant.into()), "{row}");
        assert_eq!((&row["verified"], &row["shape"]), (&true.into(), &json!(SIZES)), "{row}");
        assert_eq!(row["dtype"], if dtype == "tf32" { "f32" } else { dtype });
        let read = |name: &str, dtype| input::read(path(name).as_ref(), dtype).unwrap();
        let table = read("c.csv", None);
        assert_eq!((table.shape(), f64s(&table)), (&[m, n][..], expected.clone()), "{dtype}");
        // Products of f8 are bf16, which NumPy lacks, and those of i8 are i32.
        if ["bf16", "f8"].contains(&dtype) {
            run("c.bin");
            assert_eq!(f64s(&read("c.bin", Some(Dtype::Bf16))), expected, "{dtype}");
            refused_in_place(&args, &path("d.npy"), "NumPy has no bf16");
        } else {
            run("c.npy");
            let array = read("c.npy", None);
            let stored = if dtype == "f16" { Dtype::F16 } else { Dtype::F32 };
            assert_eq!(array.dtype(), if dtype == "i8" { Dtype::I32 } else { stored });
            assert_eq!((array.shape(), f64s(&array)), (&[m, n][..], expected.clone()), "{dtype}");
        }
    }
}

/// Checks that a result is shown, but not written to this file, with the reason.
fn refused_in_place(args: &[&str], file: &str, reason: &str) {
    let output = host(&[args, &["--device", "sim", "--output", file]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains(reason), "{}", text(&output.stderr));
    assert!(!std::path::Path::new(file).exists());
}

/// What is beyond 10 bits of a factor's fraction has no part in a product as tf32, and has one in that of f32.
#[test]
fn tf32_reads_ten_bits_of_a_fraction() {
    let [m, n, k] = SIZES;
    let (_folder, path) = folder();
    let (x, y) = (numbers(m * k, 3), numbers(k * n, 5));
    let (more, much) = (1.0 + f64::powi(2.0, -12), 1.0 + f64::powi(2.0, -14));
    for (name, shape, numbers, factor) in [("a.npy", [m, k], &x, more), ("b.npy", [k, n], &y, much)] {
        let elements = numbers.iter().map(|x| ((x * factor) as f32).to_le_bytes().to_vec());
        std::fs::write(path(name), npy("<f4", shape, elements)).unwrap();
    }
    let (a, b, c) = (path("a.npy"), path("b.npy"), path("c.npy"));
    let result = |dtype: &str| {
        let args = ["matmul", "--dtype", dtype, "--input", &a, "--input", &b, "--variant", "best", "--output", &c];
        assert_eq!(object(&[&args[..], &SIM].concat(), 0)["verified"], true);
        f64s(&input::read(c.as_ref(), None).unwrap())
    };
    let expected = product(SIZES, &x, &y);
    assert_eq!(result("tf32"), expected);
    for (have, whole) in result("f32").into_iter().zip(expected) {
        let exact = whole * more * much;
        assert!((have - exact).abs() <= 1e-4 && (have != whole || whole == 0.0), "{have} is not {exact}");
    }
}

/// Generated factors of either distribution, transposed and in batches, within the bounds that the library documents.
#[test]
fn generated_products_are_within_their_bounds() {
    let (m, n, k) = (9, 20, 70);
    let (_folder, path) = folder();
    // Bounds of sums, relative to the sum of magnitudes, and of the rounding of the result, relative to it.
    let unit = |bits: i32| f64::powi(2.0, -bits);
    let sums = |terms: usize| terms as f64 * unit(23);
    for (dtype, of_sums, of_result) in [
        ("f32", sums(k), 0.0),
        ("f64", k as f64 * unit(52), 0.0),
        ("tf32", unit(9) + sums(k + 24), 0.0),
        ("f16", sums(k + 16), unit(11)),
        ("bf16", sums(k + 16), unit(8)),
        ("f8", (33 * k.div_ceil(32)) as f64 * unit(13), unit(8)),
        ("i8", 0.0, 0.0),
    ] {
        for distribution in ["uniform", "normal"] {
            let output = path("c.json");
            let args = ["matmul", "--dtype", dtype, "--shape", "9x20x70", "--variant", "best", "--transpose-b"];
            let more = ["--distribution", distribution, "--seed", "5", "--output", &output];
            let row = object(&[&args[..], &more, &SIM].concat(), 0);
            let settings = format!("--distribution {distribution} --transpose-b");
            assert_eq!((&row["verified"], &row["settings"]), (&true.into(), &settings.into()), "{row}");
            let given = [("distribution", distribution), ("transpose-b", "")];
            let settings = Settings::new(tensor::FAMILY.settings, given).unwrap();
            let stored = if dtype == "tf32" { Dtype::F32 } else { dtype.parse().unwrap() };
            let demand = Demand { size: &[9, 20, 70], dtype: stored, seed: 5, settings: &settings };
            let factors = (matmul::FAMILY.generate)(&demand).unwrap();
            let (a, b) = (f64s(&factors[0]), f64s(&factors[1]));
            let elements: Vec<Vec<f64>> = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
            let mut largest = 0.0_f64;
            for (i, have) in elements.concat().into_iter().enumerate() {
                let terms = (0..k).map(|l| a[i / n * k + l] * b[i % n * k + l]);
                let (exact, magnitude) = (terms.clone().sum::<f64>(), terms.map(f64::abs).sum::<f64>());
                let (error, bound) = ((have - exact).abs(), of_sums * magnitude);
                assert!(error <= bound + of_result * (exact.abs() + bound) + 1e-13, "{dtype} {i}: {have}, not {exact}");
                largest = largest.max(error / magnitude);
            }
            assert_eq!(elements.len(), m, "{dtype}");
            // The product as tf32 is none of f32.
            assert_eq!(dtype == "tf32" && largest > sums(k), dtype == "tf32", "{largest}");
        }
    }
    let batch = ["matmul", "--dtype", "tf32", "--shape", "3x5x6x17", "--distribution", "normal"];
    assert_eq!(object(&[&batch[..], &SIM].concat(), 0)["verified"], true);
}

#[test]
fn what_cannot_be_multiplied_is_refused_with_advice() {
    let (_folder, path) = folder();
    let zeros = |name: &str, array: Array| {
        input::write(path(name).as_ref(), &Tensor::new(&[2, 2], array).unwrap()).unwrap();
        path(name)
    };
    let (single, double) = (zeros("f32.npy", Array::zeros(Dtype::F32, 4)), zeros("f64.npy", Array::F64(vec![0.0; 4])));
    let matmul = |more: &[&str], words: &[&str]| {
        refused_in_a_line(&[&["matmul", "--device", "sim"], more].concat(), 2, words);
    };
    let files = |file| ["--input", file, "--input", file];
    let narrow = [&["--dtype", "bf16"], &files(&single)[..]].concat();
    matmul(&narrow, &["f32.npy holds f32, not bf16", "leave --dtype out"]);
    matmul(&[&["--dtype", "tf32"], &files(&double)[..]].concat(), &["f64.npy holds f64, not f32"]);
    matmul(&["--dtype", "i32"], &["matmul has no kernel for i32", "one of f32 f64 tf32 f16 bf16 f8 i8"]);
    matmul(&["--dtype", "tf32", "--variant", "naive"], &["the variant `tf32`", "leave --variant naive out"]);
    matmul(&["--dtype", "f16", "--tile", "small"], &["leave --tile or --dtype f16 out"]);
    matmul(&["--dtype", "tf32", "--gpus", "2"], &["leave --gpus or --dtype tf32 out"]);
    matmul(&[&["--dtype", "tf32", "--stream"], &files(&single)[..]].concat(), &["--stream multiplies f32 and f64"]);
    refused(&["matmul", "--dtype", "fp8"], 2, &["`fp8`", "one of f32 f64 tf32 f16 bf16 f8 i8"]);
    refused(&["reduce", "--dtype", "tf32"], 2, &["`tf32`", "expected one of f32"]);
    refused(&["matmul", "--distribution", "gauss"], 2, &["gauss", "uniform, normal"]);
    let given = [&["matmul", "--distribution", "normal"], &files(&single)[..]].concat();
    refused(&given, 2, &["--distribution", "--input", "cannot be used with"]);
    let file = data("f16.npy");
    let vector = [&["matmul", "--dtype", "f16", "--device", "sim"], &files(&file)[..]].concat();
    refused_in_a_line(&vector, 2, &["operand A of matmul has the shape 100", "must be a matrix"]);
}

#[test]
fn other_commands_have_the_same_types() {
    let shape = ["--shape", "5x6x17", "--distribution", "normal", "--json"];
    for dtype in ["tf32", "i8"] {
        let row = object(&[&["check", "matmul", "--dtype", dtype, "--variant", "best"], &shape[..]].concat(), 0);
        assert_eq!((&row["family"], &row["verified"]), (&"tensor".into(), &true.into()), "{row}");
        let page = object(&[&["explain", "matmul", "--dtype", dtype, "--variant", "best"], &shape[..]].concat(), 0);
        assert_eq!(page["variants"][0]["verified"], true, "{page}");
    }
    let row = object(&[&["mma", "--dtype", "tf32", "--variant", "naive", "--device", "sim"], &shape[..]].concat(), 0);
    assert_eq!((&row["variant"], &row["dtype"], &row["verified"]), (&"naive".into(), &"f32".into(), &true.into()));
    let help = text(&host(&["matmul", "--help"]).stdout);
    assert!(help.contains("f32 f64 tf32 f16 bf16 f8 i8") && help.contains("--distribution"), "{help}");
}

/// There is no GPU to measure on, which is the only reason for the end of a measurement.
#[test]
fn measurements_have_the_distribution() {
    for family in ["matmul", "mma", "wgmma", "tensor"] {
        let bench = ["bench", family, "--set", "distribution=normal"];
        refused_in_a_line(&bench, 3, &["no-such-libcuda.so"]);
        refused_in_a_line(&["bench", family, "--set", "distribution=gauss"], 2, &["gauss", "uniform normal"]);
    }
    refused_in_a_line(&["bench", "reduce", "--set", "distribution=normal"], 2, &["reduce has no setting"]);
}
