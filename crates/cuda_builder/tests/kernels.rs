//! Kernels that a driver would refuse, and kernels that compile with a warning. Needs the device toolchain, which
//! `cargo xtask test` sets up.

use std::{fs, path::Path, process::Command};

use cuda_builder::{Arch, CudaBuilder, Error};

const HEAD: &str = "#![no_std]
#![feature(abi_ptx)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

/// A crate with this code.
fn planted(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("src")).expect("a folder");
    let manifest = "[package]\nname = \"planted\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    fs::write(folder.path().join("src/lib.rs"), format!("{HEAD}{source}")).expect("a file");
    folder
}

/// Builds a crate, and returns the warnings about its kernels.
fn build(source: &str) -> Result<String, Error> {
    let folder = planted(source);
    let warnings = |ptx: &Path| fs::read_to_string(ptx.with_file_name("warnings.txt")).expect("the warnings");
    CudaBuilder::new(folder.path()).arch(Arch::Compute75).build().map(|ptx| warnings(&ptx))
}

#[test]
fn what_a_driver_refuses_is_an_error_with_its_line() {
    let refused = |source: &str| build(source).expect_err("a driver refuses it").to_string();
    let text = refused(
        "unsafe extern \"C\" { fn elsewhere(x: u32) -> u32; }
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn k(out: *mut u32, n: u32) { unsafe { *out = elsewhere(n) } }",
    );
    assert!(
        text.contains("`k` calls `elsewhere`, which is declared `extern` and defined nowhere (src/lib.rs:7:"),
        "{text}"
    );
    let text = refused(
        "#[unsafe(link_section = \".shared\")]
static mut TILE: [core::mem::MaybeUninit<u8>; 60000] = [core::mem::MaybeUninit::uninit(); 60000];
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn k(out: *mut u8, n: usize) {
    unsafe {
        (&raw mut TILE).cast::<u8>().add(n).write_volatile(1);
        *out = (&raw mut TILE).cast::<u8>().add(n + 1).read_volatile();
    }
}",
    );
    assert!(text.contains("`k` has 60000 bytes of static shared memory (src/lib.rs:"), "{text}");
    let text = refused("#[unsafe(no_mangle)]\npub extern \"C\" fn helper(x: u32) -> u32 { x + 1 }");
    assert!(text.contains("it has no kernel: mark a function with `#[kernel]`"), "{text}");
}

#[test]
fn a_warning_has_the_line_and_is_turned_off_by_a_symbol() {
    let source = "#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn k(out: *mut u32, n: usize) {
    let mut table = [0_u32; 16];
    for i in 0..16 { table[(i * n) % 16] = i as u32; }
    unsafe { *out = table[n % 16] }
}";
    let text = build(source).expect("it compiles");
    assert!(text.contains("src/lib.rs:8:") && text.contains("local_memory: access to local memory in `k`"), "{text}");
    let allow = "\n#[unsafe(export_name = \"rustwarp.allow.local_memory.k\")]\npub static ALLOW: u8 = 0;";
    let text = build(&format!("{source}{allow}")).expect("it compiles");
    assert!(!text.contains("local_memory"), "{text}");
}

#[test]
fn only_the_named_families_are_built() {
    let family = |name: &str| {
        format!(
            "pub mod {name} {{
    #[unsafe(no_mangle)]
    pub unsafe extern \"ptx-kernel\" fn {name}_k(out: *mut u32) {{ unsafe {{ *out = 1 }} }}
}}
"
        )
    };
    let folder = planted(&["one", "two", "three"].map(family).concat());
    let build = |names: &[&str]| {
        let built = CudaBuilder::new(folder.path()).arch(Arch::Compute75).families(names.iter().copied()).build_all();
        built.map(|artifacts| artifacts.into_iter().map(|artifact| artifact.module).collect::<Vec<_>>())
    };
    assert_eq!(build(&["one", "three"]).expect("a build"), ["one", "three"]);
    let text = build(&["one", "tow"]).expect_err("there is no such family").to_string();
    assert!(text.contains("no family `tow`") && text.contains("one three two"), "{text}");
}

/// A crate with the types that Rust-CUDA's examples have, and no header: a library for the host, and PTX.
#[test]
fn a_dynamic_library_of_kernels_compiles_for_the_host_and_for_the_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let standard = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda_std").canonicalize().expect("the crate");
    let manifest = format!(
        "[package]\nname = \"both\"\nedition = \"2024\"\n[workspace]\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\
         [dependencies]\ncuda_std = {{ package = 'rustwarp-std', path = '{}' }}\n",
        standard.display()
    );
    let kernel = "use cuda_std::prelude::*;\n#[kernel]\npub fn both(x: &[u32], mut y: DisjointSlice<u32>) {\n    \
                  let i = thread::unique_index();\n    \
                  if let Some(y) = y.get_mut(i) {\n        *y = x[0];\n    }\n}\n";
    fs::create_dir(at("src")).expect("a folder");
    fs::write(at("Cargo.toml"), manifest).expect("a file");
    fs::write(at("src/lib.rs"), kernel).expect("a file");
    // The versions that this workspace has fetched.
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"), at("Cargo.lock")).expect("a file");
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--offline"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", at("target"))
        .output()
        .expect("cargo starts");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let ptx = CudaBuilder::new(folder.path()).arch(Arch::Compute75).build().expect("PTX");
    assert!(fs::read_to_string(ptx).expect("text").contains(".visible .entry both("));
}
