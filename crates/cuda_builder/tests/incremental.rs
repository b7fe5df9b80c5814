//! Edits of a crate with two families: each rebuilds what it changes, and the PTX is that of a first build.
//! Needs the device toolchain, which `cargo xtask test` sets up.

use std::{collections::BTreeMap, fs, path::Path};

use cuda_builder::{Arch, CudaBuilder, Modules};

const ROOT: &str = "#![no_std]
#![feature(abi_ptx)]
pub mod first;
pub mod second;
pub mod shared;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

/// Reads a table of functions at an index that only the launch knows.
const FIRST: &str = "
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn first(out: *mut u32, n: u32) { unsafe { *out = crate::shared::apply(n) } }
";

/// Uses a generic function, of which `first` has another instance.
const SECOND: &str = "
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn second(out: *mut u64, n: u64) { unsafe { *out = crate::shared::twice(n) } }
";

const SHARED: &str = "
const TABLE: [fn(u32) -> u32; 2] = [double, add_three];
#[inline(never)]
fn double(x: u32) -> u32 { twice(x) }
#[inline(never)]
fn add_three(x: u32) -> u32 { x + 3 }
#[inline(never)]
pub fn apply(n: u32) -> u32 { TABLE[(n & 1) as usize](n) }
#[inline(never)]
pub fn twice<T: core::ops::Add<Output = T> + Copy>(x: T) -> T { x + x }
#[inline(never)]
pub fn unused(x: u32) -> u32 { x }
";

/// Builds the crate in `folder`, and returns for each module whether it was rebuilt, and its PTX.
fn build(folder: &Path, target: &str) -> BTreeMap<String, (bool, String)> {
    let builder = CudaBuilder::new(folder).arch(Arch::Compute75).modules(Modules::PerFamily);
    let artifacts = builder.target_dir(folder.join(target)).build_all().expect("a build");
    let module = |artifact: cuda_builder::Artifact| {
        let ptx = fs::read_to_string(&artifact.ptx).expect("the PTX");
        (artifact.module, (!artifact.fresh, ptx))
    };
    artifacts.into_iter().map(module).collect()
}

/// Writes a source file of the crate in `folder`.
fn write(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join("src").join(file), text).expect("a file");
}

/// A folder with the crate.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("src")).expect("a folder");
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"two\"\nedition = \"2024\"\n[workspace]\n")
        .expect("a file");
    for (file, text) in [("lib.rs", ROOT), ("first.rs", FIRST), ("second.rs", SECOND), ("shared.rs", SHARED)] {
        write(folder.path(), file, text);
    }
    folder
}

#[test]
fn a_warning_about_one_family_outlasts_the_error_of_another() {
    let folder = project();
    let folder = folder.path();
    let builder =
        || CudaBuilder::new(folder).arch(Arch::Compute75).modules(Modules::PerFamily).target_dir(folder.join("target"));
    builder().build_all().expect("a build");
    // A table at an index that only the launch knows is in local memory. It is the larger family, so it is begun first.
    let table = "let mut table = [0_u32; 16];
    for i in 0..16 { table[((i * n) % 16) as usize] = i; }
    unsafe { *out = table[(n % 16) as usize] + crate::shared::apply(n) }";
    write(folder, "first.rs", &FIRST.replace("unsafe { *out = crate::shared::apply(n) }", table));
    let missing = "unsafe extern \"C\" { fn missing(x: u64) -> u64; }";
    let call = SECOND.replace("crate::shared::twice(n)", "missing(n)");
    write(folder, "second.rs", &format!("{missing}{call}"));
    let error = builder().build_all().expect_err("nothing defines the function");
    assert!(error.to_string().contains("`missing`"), "{error}");
    write(folder, "second.rs", SECOND);
    let artifacts = builder().build_all().expect("a build");
    let first = artifacts.iter().find(|artifact| artifact.module == "first").expect("the family");
    assert!(first.fresh, "the build that failed made its PTX");
    let warnings = fs::read_to_string(first.ptx.with_file_name("warnings.txt")).expect("the warnings");
    assert!(warnings.contains("local_memory"), "{warnings}");
}

#[test]
fn an_edit_rebuilds_the_families_whose_code_it_changes() {
    let folder = project();
    let folder = folder.path();
    build(folder, "edited");

    let mut text = SHARED.to_owned();
    // What the edit replaces and by what; whether it changes `first`, and `second`.
    for (number, (from, to, changes)) in [
        ("", "", [false, false]),
        // Reached through a table only.
        ("x + 3", "x + 5", [true, false]),
        ("#[inline(never)]\npub fn unused", "// A comment.\n#[inline(never)]\npub fn unused", [false, false]),
        // Both instances of a generic function.
        ("x + x", "x + x + x", [true, true]),
        ("fn unused(x: u32) -> u32 { x }", "fn unused(x: u32) -> u32 { x + 7 }", [false, false]),
        ("[double, add_three]", "[add_three, double]", [true, false]),
        // Another function, which nothing uses: files change, the code of the families does not.
        ("pub fn unused", "pub fn other(x: u64) -> u64 { twice(x) }\npub fn unused", [false, false]),
    ]
    .into_iter()
    .enumerate()
    {
        text = text.replace(from, to);
        write(folder, "shared.rs", &text);
        let edited = build(folder, "edited");
        let rebuilt = ["first", "second"].map(|name| edited[name].0);
        assert_eq!(rebuilt, changes, "edit {number}: `{from}` to `{to}`");
        let cold = build(folder, &format!("cold-{number}"));
        for name in ["first", "second"] {
            assert!(edited[name].1 == cold[name].1, "edit {number}: the PTX of `{name}` is not that of a first build");
        }
    }
}
