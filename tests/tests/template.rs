//! The project that `cargo xtask new` makes: its kernel compiles, its tests pass, its program runs, without a GPU.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs cargo, and returns what it printed; a failure quotes all of it.
fn cargo(folder: &Path, target: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    // The products of this workspace serve the project too: it has the same crates and profiles.
    command.current_dir(folder).args(arguments).env("CARGO_TARGET_DIR", target).env("CUDA_VISIBLE_DEVICES", "");
    let output = command.output().expect("cargo starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "cargo {arguments:?}: {text}");
    text
}

/// An empty folder, and the target folder of this workspace.
fn places(name: &str) -> (PathBuf, PathBuf) {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = temporary.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("removed");
    }
    (folder, temporary.parent().expect("the target folder").to_owned())
}

#[test]
fn a_new_project_passes_its_tests_and_runs() {
    let (folder, target) = places("my-kernels");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    cargo(&root, &target, &["xtask", "new", &folder.display().to_string()]);
    let tests = cargo(&folder, &target, &["test", "--workspace", "--offline"]);
    for name in ["saxpy_has_no_bug_that_the_simulator_finds", "the_host_function_returns_what_the_formula_says"] {
        assert!(tests.contains(&format!("{name} ... ok")), "{name}: {tests}");
    }
    let run = cargo(&folder, &target, &["run", "--offline"]);
    assert!(run.contains("= [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0] on"), "{run}");

    // A mistake in a kernel is an error of the build, at its line.
    let kernels = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernels).expect("the kernels");
    fs::write(&kernels, text.replace("a * x[i]", "a * x[j]")).expect("written");
    let output = Command::new(env!("CARGO"))
        .current_dir(&folder)
        .args(["build", "--offline"])
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("kernels/src/lib.rs:17:"), "{text}");
}
