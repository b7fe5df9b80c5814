//! Finding a device toolchain among made-up folders: order of preference, missing pieces, half-finished caches.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use cuda_builder::{
    Cache, Error,
    toolchain::{LLVM_TOOLS, Origin, Search, candidates, discover},
};

/// One test at a time: while one thread starts a program, another's freshly written script counts as open for writing,
/// and the system refuses to run it.
static TURN: Mutex<()> = Mutex::new(());

/// A machine with nothing on it.
struct Machine {
    folder: tempfile::TempDir,
    search: Search,
    _turn: MutexGuard<'static, ()>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let search = Search {
            asked: None,
            rustup_home: Some(folder.path().join("rustup")),
            system: folder.path().join("system"),
            cache: Cache::at(folder.path().join("cache")),
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { folder, search, _turn: turn }
    }

    fn rustup(&self, name: &str) -> PathBuf {
        self.folder.path().join("rustup/toolchains").join(name)
    }

    fn cached(&self) -> PathBuf {
        self.search.cache.toolchain().join("usr")
    }

    fn asking_for(&self, asked: &str) -> Search {
        Search { asked: Some(asked.to_owned()), ..self.search.clone() }
    }
}

fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
}

/// Creates a script that prints what rustc prints.
fn rustc(root: &Path, targets: &str) {
    let script = format!(
        "case $1 in -vV) printf 'release: 1.96.0\\nhost: x86_64-unknown-linux-gnu\\nLLVM version: 22.1.8\\n' ;; \
         --print) printf '{}\\n{targets}\\n' ;; esac",
        root.display()
    );
    program(&root.join("bin/rustc"), &script);
}

fn rust_src(root: &Path) {
    let core = root.join("lib/rustlib/src/rust/library/core/src");
    fs::create_dir_all(&core).expect("folder");
    fs::write(core.join("lib.rs"), "").expect("file");
}

fn llvm(folder: &Path) {
    for tool in LLVM_TOOLS {
        program(&folder.join(tool), "");
    }
}

/// Creates the components rust-src and llvm-tools in rustup's layout.
fn complete(root: &Path) {
    rustc(root, "x86_64-unknown-linux-gnu\\nnvptx64-nvidia-cuda");
    rust_src(root);
    llvm(&root.join("lib/rustlib/x86_64-unknown-linux-gnu/bin"));
}

/// Creates the layout of Debian's packages, with or without the stamp that `setup` writes last.
fn unpacked(machine: &Machine, stamped: bool) {
    let root = machine.cached();
    rustc(&root, "nvptx64-nvidia-cuda");
    rust_src(&root);
    llvm(&root.join("lib/llvm-22/bin"));
    if stamped {
        fs::write(machine.search.cache.toolchain().join("complete"), "").expect("stamp");
    }
}

#[test]
fn without_a_toolchain_the_error_lists_places_and_a_command() {
    let machine = Machine::new();
    let message = discover(&machine.search).expect_err("there is nothing").to_string();
    assert!(message.contains("system") && message.contains("cargo xtask setup"), "{message}");
}

#[test]
fn rustup_comes_before_the_system_and_the_system_before_the_cache() {
    let machine = Machine::new();
    unpacked(&machine, true);
    assert_eq!(discover(&machine.search).expect("cache").origin, Origin::Cache);
    complete(&machine.search.system);
    assert_eq!(discover(&machine.search).expect("system").origin, Origin::System);
    complete(&machine.rustup("nightly-x86_64-unknown-linux-gnu"));
    complete(&machine.rustup("stable-x86_64-unknown-linux-gnu"));
    let origin = discover(&machine.search).expect("rustup").origin;
    assert_eq!(origin, Origin::Rustup("stable-x86_64-unknown-linux-gnu".to_owned()));
}

#[test]
fn a_rustup_toolchain_without_components_is_skipped() {
    let machine = Machine::new();
    rustc(&machine.rustup("stable-x86_64-unknown-linux-gnu"), "nvptx64-nvidia-cuda");
    unpacked(&machine, true);
    assert_eq!(discover(&machine.search).expect("cache").origin, Origin::Cache);
}

#[test]
fn a_requested_toolchain_is_found_by_name_by_path_and_by_the_path_of_rustc() {
    let machine = Machine::new();
    unpacked(&machine, true);
    let root = machine.rustup("device");
    complete(&root);
    complete(&machine.rustup("stable-x86_64-unknown-linux-gnu"));
    for asked in ["device".to_owned(), root.display().to_string(), root.join("bin/rustc").display().to_string()] {
        assert_eq!(discover(&machine.asking_for(&asked)).expect("by any name").root, root, "{asked}");
    }
    let stable = discover(&machine.asking_for("stable")).expect("short name");
    assert_eq!(stable.root, machine.rustup("stable-x86_64-unknown-linux-gnu"));
    let parent = machine.search.cache.toolchain().display().to_string();
    assert_eq!(discover(&machine.asking_for(&parent)).expect("unpacked packages").root, machine.cached());
}

#[test]
fn an_incomplete_requested_toolchain_is_an_error_even_if_others_are_complete() {
    let machine = Machine::new();
    unpacked(&machine, true);
    let root = machine.rustup("device");
    rustc(&root, "nvptx64-nvidia-cuda");
    let error = discover(&machine.asking_for("device")).expect_err("no components");
    let message = error.to_string();
    assert!(matches!(error, Error::BadToolchain { .. }), "{message}");
    assert!(message.contains("rust-src") && message.contains("llvm-tools"), "{message}");
}

#[test]
fn every_missing_piece_is_named() {
    let machine = Machine::new();
    let root = machine.search.system.clone();
    rustc(&root, "x86_64-unknown-linux-gnu");
    rust_src(&root);
    llvm(&root.join("lib/llvm-21/bin"));
    let system = candidates(&machine.search).into_iter().find(|candidate| candidate.origin == Origin::System);
    let missing = system.expect("looked at").outcome.expect_err("two things are missing").join("\n");
    assert!(missing.contains("nvptx64") && missing.contains("LLVM 22") && !missing.contains("rust-src"), "{missing}");
}

#[test]
fn a_cache_without_its_stamp_is_not_used() {
    let machine = Machine::new();
    unpacked(&machine, false);
    let message = discover(&machine.search).expect_err("half-finished").to_string();
    assert!(message.contains("interrupted"), "{message}");
}

#[test]
fn a_rustc_that_does_not_run_is_skipped() {
    let machine = Machine::new();
    program(&machine.search.system.join("bin/rustc"), "exit 1");
    unpacked(&machine, true);
    assert_eq!(discover(&machine.search).expect("cache").origin, Origin::Cache);
}
