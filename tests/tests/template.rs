//! The project that `cargo xtask new` makes: its kernel compiles, its tests pass, its program runs, without a GPU.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use tests::project::{cargo, cargo_with, printed};

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
    assert!(printed(&task.expect("cargo starts")).contains("cargo test\n  cargo run"));

    let tests = printed(&cargo(&folder, &target, &["test"]));
    for name in ["saxpy_has_no_bug_that_the_simulator_finds", "the_host_function_returns_what_the_formula_says"] {
        assert!(tests.contains(&format!("{name} ... ok")), "{name}: {tests}");
    }
    // The tests and the program have the same dependencies, with the same features: nothing is compiled twice.
    let run = printed(&cargo(&folder, &target, &["run"]));
    assert!(!run.contains("Compiling"), "{run}");
    assert!(run.contains("= [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0] on"), "{run}");

    // The program contains its kernels: it runs from an empty folder, without an environment.
    let empty = folder.join("elsewhere");
    fs::create_dir(&empty).expect("a folder");
    fs::copy(target.join("debug/my-kernels"), empty.join("program")).expect("the program");
    let run = Command::new(empty.join("program")).current_dir(&empty).env_clear().output();
    assert!(printed(&run.expect("the program starts")).contains("= [1.0, 3.0, 5.0"));

    the_task_adds_components_to_rustup(&folder, &target);

    let kernels = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernels).expect("the kernels");
    let failing = |wrong: String, arguments: &[&str]| {
        assert_ne!(wrong, text, "the kernel has another text");
        fs::write(&kernels, wrong).expect("written");
        let output = cargo(&folder, &target, arguments);
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!output.status.success() && printed.contains("kernels/src/lib.rs:"), "{printed}");
        printed
    };

    the_operators_of_the_guide_need_no_more_dependencies(&folder, &target);
    the_library_finds_its_kernels(&folder, &target);

    // The mistake that the guide asks for is reported as the guide says.
    let (right, wrong) =
        ("(Some(x), Some(y)) = (x.get(i.get()), y.get_mut(i))", "(x, Some(y)) = (x[i.get()], y.get_mut(i))");
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/first-kernel.md"));
    assert!(guide.expect("the guide").contains(&format!("`if let {wrong} {{`")));
    let printed = failing(text.replace(right, wrong), &["test", "--package", "my-kernels"]);
    assert!(
        printed.contains("index out of bounds") && printed.contains("in block (0,0,0) thread (2,0,0)"),
        "{printed}"
    );
    // The test that returns the library's error prints its report, whose excerpt starts a line.
    assert!(printed.lines().any(|line| line.starts_with("error[trap]")), "{printed}");

    // A mistake of Rust is an error of the build, at its line.
    failing(text.replace("*y += a * x;", "*y += a * z;"), &["build"]);

    a_build_script_that_drops_the_error_fails_too(&folder, &target);
}

/// The kernels of the guide's chapter on operators, copied into the project as they stand.
fn the_operators_of_the_guide_need_no_more_dependencies(folder: &Path, target: &Path) {
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/own-operator.md");
    let chapter = fs::read_to_string(chapter).expect("the chapter");
    let blocks = chapter.split("<!-- code examples/03-own-operator/kernels/src/lib.rs#").skip(1);
    let code = |block: &str| -> Option<String> {
        let (_, block) = block.split_once("```rust\n")?;
        Some(block.split_once("```")?.0.to_owned())
    };
    let code: Vec<String> = blocks.map(|block| code(block).expect("a block of code")).collect();
    assert_eq!(code.len(), 3, "{chapter}");
    let kernels = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernels).expect("the kernels");
    fs::write(&kernels, format!("{text}\n{}", code.join("\n"))).expect("written");
    printed(&cargo(folder, target, &["build"]));
    fs::write(&kernels, text).expect("written");
}

/// A project outside the checkout calls a function of the library, in a folder and an environment that name no PTX.
fn the_library_finds_its_kernels(folder: &Path, target: &Path) {
    let examples = folder.join("app/examples");
    fs::create_dir_all(&examples).expect("a folder");
    let sum = "fn main() -> rustwarp::Result<()> {\n    let device = rustwarp::Device::sim()?;\n    \
        let x = device.upload(&[1.0_f32; 1000])?;\n    \
        let place = rustwarp::ptx::find_family(\"kernels-gpu\", \"reduce\", None, None)?.path;\n    \
        let place = if place.starts_with(\"in the program\") { \"the program\" } else { \"a file\" };\n    \
        println!(\"sum {} by {place}\", device.sum(&x)?);\n    Ok(())\n}\n";
    fs::write(examples.join("sum.rs"), sum).expect("written");
    printed(&cargo(folder, target, &["build", "--package", "my-kernels", "--example", "sum"]));
    let elsewhere = folder_outside();
    let sum = || {
        fs::copy(target.join("debug/examples/sum"), elsewhere.join("sum")).expect("the program");
        Command::new(elsewhere.join("sum")).current_dir(&elsewhere).env_clear().output().expect("the program starts")
    };
    assert_eq!(printed(&sum()), "sum 1000 by a file\n");

    // With the feature, the kernels are compiled with the library and are in the program, whatever files there are.
    let manifest = folder.join("app/Cargo.toml");
    let without = fs::read_to_string(&manifest).expect("the manifest");
    let with =
        without.replace("rustwarp.workspace = true", "rustwarp = { workspace = true, features = [\"kernels\"] }");
    assert_ne!(with, without);
    fs::write(&manifest, with).expect("written");
    let only_these = [("RUSTWARP_FAMILIES", Path::new("reduce"))];
    let build = ["build", "--package", "my-kernels", "--example", "sum"];
    printed(&cargo_with(folder, target, &build, &only_these));
    assert_eq!(printed(&sum()), "sum 1000 by the program\n");
    let unknown = cargo_with(folder, target, &build, &[("RUSTWARP_FAMILIES", Path::new("sums"))]);
    let text = String::from_utf8_lossy(&unknown.stderr);
    assert!(text.contains("RUSTWARP_FAMILIES names `sums`: the families of the library are conv1d,"), "{text}");
    fs::write(manifest, without).expect("written");
    fs::remove_dir_all(elsewhere).expect("removed");
}

/// A folder with no checkout above it.
fn folder_outside() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rustwarp-template-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The mistake in the kernel, and then a cache in a folder that cannot be made: each is reported once.
fn a_build_script_that_drops_the_error_fails_too(folder: &Path, target: &Path) {
    let replace = |path: &str, from: &str, to: &str| {
        let path = folder.join(path);
        let text = fs::read_to_string(&path).expect("a file of the project");
        assert!(text.contains(from), "{from} in {text}");
        fs::write(path, text.replace(from, to)).expect("written");
    };
    replace("app/build.rs", "    CudaBuilder", "    let _ = CudaBuilder");
    replace("app/build.rs", ".build()?;", ".build();");
    let output = cargo(folder, target, &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert_eq!(text.matches("cannot find value `z`").count(), 1, "{text}");

    replace("kernels/src/lib.rs", "*y += a * z;", "*y += a * x;");
    let cache = folder.join("Cargo.toml/cache");
    let variables = [("RUSTWARP_CACHE", cache.as_path()), ("RUSTWARP_SETUP", Path::new("1"))];
    let output = cargo_with(folder, target, &["build"], &variables);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert_eq!(text.matches("Not a directory").count(), 1, "{text}");
    let fix = "fix: choose a folder that you can write to: export RUSTWARP_CACHE=FOLDER, then cargo xtask setup";
    assert!(text.contains(fix), "{text}");
}

/// `cargo xtask setup --from rustup` calls rustup, here a stand-in that fails with its arguments.
fn the_task_adds_components_to_rustup(folder: &Path, target: &Path) {
    let programs = folder.join("programs");
    fs::create_dir(&programs).expect("a folder");
    let rustup = programs.join("rustup");
    fs::write(&rustup, "#!/bin/sh\necho \"rustup $*\"\nexit 1\n").expect("a script");
    fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).expect("executable");
    printed(&cargo(folder, target, &["build", "--package", "xtask"]));
    let task =
        Command::new(target.join("debug/xtask")).args(["setup", "--from", "rustup"]).env("PATH", &programs).output();
    let task = task.expect("the task starts");
    let text = String::from_utf8_lossy(&task.stdout);
    assert!(text.contains("rustup component add rust-src llvm-tools --toolchain stable"), "{text}");
    assert!(!task.status.success());
}

/// The step of CI that fetches Rustwarp puts it where the manifest looks for it.
#[test]
fn ci_puts_rustwarp_where_the_manifest_looks_for_it() {
    let (folder, _) = places("checked-out");
    let (origin, project) = (folder.join("origin"), folder.join("project"));
    for path in [&origin, &project] {
        fs::create_dir_all(path).expect("a folder");
    }
    let git = |arguments: &[&str]| {
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        printed(&Command::new("git").args(author).args(arguments).current_dir(&origin).output().expect("git starts"));
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "first"]);

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/project");
    let workflow = fs::read_to_string(root.join(".github/workflows/ci.yml")).expect("the workflow");
    let (_, step) = workflow.split_once("run: |\n").expect("a step with a script");
    let script: String = step.lines().take_while(|line| line.starts_with("          ")).collect::<Vec<_>>().join("\n");
    let script = script.replace("{{repository}}", &format!("file://{}", origin.display()));
    let manifest = fs::read_to_string(root.join("Cargo.toml.liquid")).expect("the manifest");
    let run = |manifest: &str| {
        fs::write(project.join("Cargo.toml"), manifest).expect("a manifest");
        printed(&Command::new("sh").args(["-e", "-c", &script]).current_dir(&project).output().expect("sh starts"));
    };
    // A git dependency needs no checkout.
    run(&manifest);
    assert_eq!(fs::read_dir(&project).expect("the project").count(), 1);
    run(&manifest
        .replace("rustwarp = { git = \"{{repository}}\" }", "rustwarp = { path = \"../up/r/crates/rustwarp\" }"));
    assert!(folder.join("up/r/.git").exists());
}
