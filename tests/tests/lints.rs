//! `#[kernel(allow(LINT))]`: a crate with one kernel for each lint of `cuda_builder` is built with and without it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cuda_builder::{Arch, Cache, CudaBuilder, check::Lint, cuda_tools};
use tests::project::cargo;

/// A kernel for each lint, named for it. `allow(LINT)` stands for the argument that turns it off.
const KERNELS: &str = r#"//! Kernels that are slow or fragile on purpose.
#![no_std]
#![feature(abi_ptx)]
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

#[kernel(allow(local_memory))]
pub fn local_memory(n: u32, mut out: DisjointSlice<u32>) {
    let mut table = [0_u32; 16];
    for i in 0..16 {
        table[(i * n % 16) as usize] = i;
    }
    if let Some(out) = out.get_mut(thread::unique_index()) {
        *out = table[(n % 16) as usize];
    }
}

#[kernel(max_registers(16), allow(spills))]
pub unsafe fn spills(input: *const u32, out: *mut u32) {
    let mut values = [0_u32; 32];
    for i in 0..32 {
        values[i] = unsafe { input.add(i).read_volatile() };
    }
    for i in 0..32 {
        unsafe { out.add(i).write_volatile(values[31 - i]) };
    }
}

#[address_space(shared)]
static mut TILE: core::mem::MaybeUninit<u32> = core::mem::MaybeUninit::uninit();

#[kernel(allow(generic_shared))]
pub unsafe fn generic_shared(place: u32, out: *mut u32) {
    let somewhere = if place == 0 { (&raw mut TILE).cast() } else { out };
    unsafe { somewhere.write_volatile(place) };
}

#[kernel(allow(f64_arithmetic))]
pub fn f64_arithmetic(input: &[f32], mut out: DisjointSlice<f32>) {
    let i = thread::unique_index();
    if let (Some(x), Some(y)) = (input.get(i.get()), out.get_mut(i)) {
        *y = (f64::from(*x) * 0.1) as f32;
    }
}

#[kernel(allow(divergent_barrier))]
pub unsafe fn divergent_barrier(out: *mut u32) {
    if thread::thread_idx_x() < 7 {
        unsafe { out.write_volatile(1) };
        thread::sync_threads();
        unsafe { out.write_volatile(2) };
    }
}

#[kernel(allow(core_atomics))]
pub unsafe fn core_atomics(out: *mut u32) {
    unsafe { AtomicU32::from_ptr(out) }.fetch_add(1, Ordering::AcqRel);
}
"#;

/// Writes a crate with the kernels to a folder that is kept, so that only the first run compiles its dependencies.
fn project(name: &str, kernels: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         cuda_std = {{ package = 'rustwarp-std', path = '{}/crates/cuda_std' }}\n",
        root.display()
    );
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    fs::write(folder.join("src/lib.rs"), kernels).expect("a file");
    folder
}

/// Builds the crate, and returns the warnings.
fn printed(kernels: &str) -> String {
    let folder = project("linted", kernels);
    let ptx = CudaBuilder::new(&folder).arch(Arch::Compute75).build().expect("a build");
    fs::read_to_string(ptx.with_file_name("warnings.txt")).expect("the warnings")
}

/// Builds the crate, and returns the names of the lints and of the kernels that the warnings are about.
fn warnings(kernels: &str) -> Vec<(String, String)> {
    let text = printed(kernels);
    let about = |line: &str| {
        let (_, lint, rest) = split(line)?;
        let kernel = rest.split('`').rev().find(|name| Lint::ALL.iter().any(|lint| lint.name() == *name))?;
        Some((lint.to_owned(), kernel.to_owned()))
    };
    let mut found: Vec<_> = text.lines().filter_map(about).collect();
    found.sort();
    found.dedup();
    found
}

/// Place, lint and description of a warning.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    let mut parts = line.splitn(3, ": ");
    let (place, lint, rest) = (parts.next()?, parts.next()?, parts.next()?);
    assert!(place.starts_with("src/lib.rs:"), "{line}");
    Some((place, lint, rest.split("; help: ").next()?))
}

#[test]
fn each_lint_warns_about_its_kernel_until_the_kernel_allows_it() {
    cuda_tools::require("ptxas", &Cache::default(), "the lint of spills").expect("`cargo xtask setup` fetches it");
    let mut each: Vec<_> = Lint::ALL.iter().map(|lint| (lint.name().to_owned(), lint.name().to_owned())).collect();
    each.sort();
    for lint in Lint::ALL {
        assert_eq!(KERNELS.matches(&format!("allow({lint})")).count(), 1, "a planted kernel of {lint}");
    }
    assert_eq!(warnings(&without(KERNELS, Lint::ALL)), each, "no lint is allowed");
    the_guide_shows(&printed(&without(KERNELS, Lint::ALL)));
    assert_eq!(warnings(KERNELS), [], "each lint is allowed");
    let (spared, rest) = Lint::ALL.split_first().expect("lints");
    each.retain(|(lint, _)| lint == spared.name());
    assert_eq!(warnings(&without(KERNELS, &[*spared])), each, "the others are allowed: {rest:?}");
}

/// Checks that the guide has a section for each lint, whose example is one of the warnings.
fn the_guide_shows(warnings: &str) {
    let page = include_str!("../../docs/guide/lints.md");
    for lint in Lint::ALL {
        let (_, section) = page.split_once(&format!("\n## `{lint}`\n")).expect("a section for each lint");
        let example = section.split("\n```").nth(1).and_then(|block| block.strip_prefix("text\n")).expect("an example");
        // How many bytes are spilled depends on the version of ptxas.
        let comparable = |line: &str| match lint {
            Lint::Spills => line.chars().filter(|c| !c.is_ascii_digit()).collect(),
            _ => line.to_owned(),
        };
        let printed = warnings.lines().any(|line| comparable(line) == comparable(example.trim_end()));
        assert!(printed, "the guide shows this, and the builder does not print it:\n{example}\n{warnings}");
    }
}

/// The kernels without the arguments that allow `lints`.
fn without(kernels: &str, lints: &[Lint]) -> String {
    lints.iter().fold(kernels.to_owned(), |text, lint| text.replace(&format!("allow({lint})"), ""))
}

#[test]
fn a_wrong_name_is_an_error_at_its_line_that_lists_the_lints() {
    let kernels = "#[cuda_std::kernel(allow(slow_memory))]\npub fn k() {}\n";
    let folder = project("wrong-lint", kernels);
    let output = cargo(&folder, &folder.join("target"), &["check"]);
    let text = String::from_utf8_lossy(&output.stderr);
    let names: Vec<String> = Lint::ALL.iter().map(|lint| format!("`{lint}`")).collect();
    let message = format!("unknown lint `slow_memory` of kernels: expected one of {}\n", names.join(", "));
    assert!(!output.status.success() && text.contains(&message) && text.contains("src/lib.rs:1:"), "{text}");
}
