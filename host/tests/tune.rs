//! `host tune` on the simulator, which verifies variants and measures nothing.

mod program;

use program::{host, refused, refused_in_a_line, text};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// PTX of the family that the tests' lists name.
const DOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/ptx/kernels-gpu/sm_75/dot.ptx");

/// A folder with a list, the present PTX, the same as `same.ptx`, and `wrong.ptx`, which subtracts instead of adding.
fn folder(variants: &[Value]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    let ptx = std::fs::read_to_string(DOT).expect("`cargo xtask build-ptx` has been run");
    let wrong = ptx.replace("add.f32", "sub.f32");
    assert_ne!(wrong, ptx);
    for (name, text) in [("present.ptx", &ptx), ("same.ptx", &ptx), ("wrong.ptx", &wrong)] {
        write(name, text);
    }
    write("variants.json", &list("dot", variants));
    folder
}

/// The list of a family's variants.
fn list(family: &str, variants: &[Value]) -> String {
    let list = json!({
        "family": family, "arch": "sm_75", "commit": "0123", "present": "present.ptx", "variants": variants,
    });
    list.to_string()
}

fn variant(value: u64, ptx: Option<&str>, refused: Option<&str>) -> Value {
    let place = "kernels-gpu/src/dot/best.rs:25";
    json!({ "constant": "UNROLL", "place": place, "present": 4, "value": value, "ptx": ptx, "refused": refused })
}

fn path(folder: &Path) -> String {
    folder.display().to_string()
}

/// The rows of a file without commas in its cells, by the names of the columns.
fn rows(file: &str) -> Vec<Vec<(String, String)>> {
    let text = std::fs::read_to_string(file).expect("a file");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().expect("the columns");
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

fn cell<'r>(row: &'r [(String, String)], name: &str) -> &'r str {
    row.iter().find(|(column, _)| column == name).map(|(_, cell)| cell.as_str()).expect("a column")
}

#[test]
fn variants_are_verified() {
    let folder = folder(&[variant(2, Some("same.ptx"), None), variant(8, None, Some("it does not compile"))]);
    let file = path(&folder.path().join("outcomes.csv"));
    let output = host(&["tune", &path(folder.path()), "--device", "sim", "--n", "1009,4099", "--csv", &file]);
    let (table, notes) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{table}{notes}");
    assert!(table.contains("dot f32 4099") && table.contains("refused: it does not compile"), "{table}");
    assert!(notes.contains("commit 0123, PTX for sm_75"), "{notes}");
    let rows = rows(&file);
    let outcomes: Vec<_> =
        rows.iter().map(|row| ["candidate", "problem", "verdict"].map(|name| cell(row, name))).collect();
    let expected = [["8", "", "refused"], ["2", "dot f32 1009", "verified"], ["2", "dot f32 4099", "verified"]];
    assert_eq!(outcomes, expected);
    assert_eq!(
        ["gpu", "commit", "arch", "ratio"].map(|name| cell(&rows[1], name)),
        ["the simulator", "0123", "sm_75", ""]
    );
}

/// Without `--n` the sizes are those of the family's tests, and each element type can be chosen.
#[test]
fn a_wrong_variant_is_a_failure() {
    let folder = folder(&[variant(2, Some("wrong.ptx"), None), variant(8, Some("same.ptx"), None)]);
    let run = |more: &[&str]| host(&[&["tune", &path(folder.path()), "--device", "sim"], more].concat());
    let output = run(&["--n", "1009"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}{}", text(&output.stderr));
    assert!(table.contains("WRONG") && table.contains("verified"), "{table}");
    // Only the instructions on f32 are wrong.
    let output = run(&["--dtype", "f64"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{table}{}", text(&output.stderr));
    assert!(table.contains("dot f64 20011") && !table.contains("WRONG"), "{table}");
}

/// With a wrong present kernel, no candidate is judged.
#[test]
fn the_present_kernel_must_be_right() {
    let folder = folder(&[variant(2, Some("same.ptx"), None)]);
    std::fs::copy(folder.path().join("wrong.ptx"), folder.path().join("present.ptx")).expect("a file");
    let of = path(folder.path());
    refused(&["tune", &of, "--device", "sim", "--n", "1009"], 2, &["the present kernel is wrong", "UNROLL = 2"]);
}

/// The settings of generated factors are those of the family.
#[test]
fn products_of_normal_factors_are_verified() {
    let ptx = std::fs::read(DOT.replace("dot.ptx", "matmul.ptx")).expect("`cargo xtask build-ptx` has been run");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["present.ptx", "same.ptx"] {
        std::fs::write(folder.path().join(name), &ptx).expect("a file");
    }
    let list = list("matmul", &[variant(2, Some("same.ptx"), None)]);
    std::fs::write(folder.path().join("variants.json"), list).expect("a file");
    let args = ["tune", &path(folder.path()), "--device", "sim", "--shape", "33x20x9", "--set", "distribution=normal"];
    let output = host(&[&args[..], &["--dtype", "f32,f64"]].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{table}{}", text(&output.stderr));
    for dtype in ["f32", "f64"] {
        assert!(table.contains(&format!("matmul {dtype} 33x20x9 --distribution normal")), "{table}");
    }
    assert!(table.contains("verified"), "{table}");
}

#[test]
fn what_is_no_such_folder_is_refused() {
    let good = folder(&[variant(2, Some("same.ptx"), None)]);
    let of = path(good.path());
    refused(&["tune", &of], 3, &["no-such-libcuda.so"]);
    refused(&["tune", &of, "--rounds", "2"], 2, &["--rounds"]);
    refused_in_a_line(&["tune", &of, "--csv", "outcomes.txt"], 2, &["--csv outcomes.txt", ".csv"]);
    refused_in_a_line(&["tune", &of, "--set", "bins=3"], 2, &["dot has no setting 'bins'"]);
    refused_in_a_line(&["tune", &of, "--dtype", "f32,i32"], 2, &["f32 f64"]);
    refused_in_a_line(&["tune", "no-such-folder", "--device", "sim"], 2, &["cargo xtask tune FAMILY --prepare"]);

    let with = |text: &str| {
        std::fs::write(good.path().join("variants.json"), text).expect("a file");
        let output = host(&["tune", &of, "--device", "sim"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        program::text(&output.stderr)
    };
    assert!(with(&list("dott", &[variant(2, Some("same.ptx"), None)])).contains("unknown family `dott`"));
    assert!(with(&list("dot", &[variant(2, None, None)])).contains("UNROLL = 2 has either PTX or the reason"));
    assert!(with(&list("dot", &[json!({ "value": 2 })])).contains("missing field"));
    assert!(with("{}").contains("variants.json") && with("").contains("EOF"));
}
