//! A kernel compiles with a toolchain that is found as rustup's, in the layout of its components `rust-src` and
//! `llvm-tools`: links to the pieces of the device toolchain, which `cargo xtask test` sets up. Takes half a minute,
//! since `core` is compiled for it.
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::Path};

use cuda_builder::{
    Arch, Cache, CudaBuilder,
    toolchain::{LLVM_TOOLS, Origin, Search, Toolchain, discover},
};

const KERNEL: &str = "#![no_std]
#![feature(abi_ptx)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn linked(out: *mut u32, n: u32) { unsafe { *out = n.wrapping_add(1) } }
";

fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    symlink(from, to).expect("a link");
}

/// Links the pieces to where rustup's components have them.
fn link_components(of: &Toolchain, root: &Path) {
    link(&of.rustc, &root.join("bin/rustc"));
    link(of.rust_src.parent().expect("rust"), &root.join("lib/rustlib/src/rust"));
    for (tool, path) in LLVM_TOOLS.iter().zip(&of.llvm) {
        link(path, &root.join("lib/rustlib").join(&of.version.host).join("bin").join(tool));
    }
    // The libraries of unpacked packages, which are not where the dynamic linker looks for them.
    for folder in of.library_path.iter().filter(|folder| **folder != of.root.join("lib")) {
        link(folder, &root.join("lib").join(folder.file_name().expect("a name")));
    }
}

#[test]
fn a_kernel_compiles_with_a_linked_toolchain_of_rustup() {
    let device = discover(&Search::default()).expect("a device toolchain: run `cargo xtask setup`");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let root = at("rustup/toolchains/device");
    link_components(&device, &root);
    let search =
        Search { asked: None, rustup_home: Some(at("rustup")), system: at("nothing"), cache: Cache::at(at("cache")) };
    let found = discover(&search).expect("a rustup toolchain");
    assert_eq!((found.origin, &found.root), (Origin::Rustup("device".to_owned()), &root));
    assert!(found.llvm.iter().all(|tool| tool.starts_with(&root)), "{:?}", found.llvm);

    fs::create_dir_all(at("kernels/src")).expect("a folder");
    let manifest = "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(at("kernels/Cargo.toml"), manifest).expect("a file");
    fs::write(at("kernels/src/lib.rs"), KERNEL).expect("a file");
    let ptx = CudaBuilder::new(at("kernels")).search(search).arch(Arch::Compute75).build().expect("PTX");
    let text = fs::read_to_string(ptx).expect("PTX is text");
    assert!(text.contains(".visible .entry linked("), "{text}");
}
