//! The project that `cargo xtask new` makes: its kernel compiles, its tests pass, its program runs, without a GPU.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::project::{cargo, printed};

/// A place for the project, with nothing there, and a target folder that stays, so that only the first run is slow.
fn places(name: &str) -> (PathBuf, PathBuf) {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = temporary.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("removed");
    }
    (folder, temporary.join("projects"))
}

#[test]
fn a_new_project_passes_its_tests_and_runs() {
    let (folder, target) = places("my-kernels");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let task = Command::new(env!("CARGO")).current_dir(root).args(["xtask", "new"]).arg(&folder).output();
    assert!(printed(&task.expect("cargo starts")).contains("cargo test --workspace"));

    let tests = printed(&cargo(&folder, &target, &["test", "--workspace"]));
    for name in ["saxpy_has_no_bug_that_the_simulator_finds", "the_host_function_returns_what_the_formula_says"] {
        assert!(tests.contains(&format!("{name} ... ok")), "{name}: {tests}");
    }
    let run = printed(&cargo(&folder, &target, &["run"]));
    assert!(run.contains("= [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0] on"), "{run}");

    // A mistake in a kernel is an error of the build, at its line.
    let kernels = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernels).expect("the kernels");
    let wrong = text.replace("*y += a * x;", "*y += a * z;");
    assert_ne!(wrong, text, "the kernel has another text");
    fs::write(&kernels, wrong).expect("written");
    let output = cargo(&folder, &target, &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("kernels/src/lib.rs:"), "{text}");
}
