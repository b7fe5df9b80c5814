//! Line tables of a kernel crate in a workspace of its own: reports quote the lines that were compiled, and no others.
//! The current folder has a `src/lib.rs` too.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cuda_builder::{Arch, CudaBuilder, cuda_tools, toolchain::Search};

const KERNEL: &str = "#![no_std]
#![feature(abi_ptx)]
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn behind(out: *mut u32) {
    unsafe { *out.add(1000) = 1 };
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

/// Creates a kernel crate, whose `src/lib.rs` has the name of one here.
fn kernels(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"lines\"\nedition = \"2024\"\n[workspace]\n")
        .expect("a file");
    fs::write(folder.join("src/lib.rs"), KERNEL).expect("a file");
    folder
}

fn build(folder: &Path, source_root: bool) -> PathBuf {
    CudaBuilder::new(folder).arch(Arch::Compute75).source_root(source_root).build().expect("a build")
}

/// The report of the fault.
fn report(ptx: &Path) -> String {
    let mut out = [0_u32; 4];
    let test = ptx_sim::test(ptx).expect("PTX").entry("behind").grid(1).block(1).buffer_mut(&mut out);
    test.run().expect_err("a fault").to_string()
}

#[test]
fn a_report_quotes_the_line_that_was_compiled() {
    assert!(Path::new("src/lib.rs").is_file(), "the current folder has a file of the same name");
    let folder = kernels("größe \"1\"");
    let ptx = build(&folder, true);
    let text = report(&ptx);
    assert!(text.contains("5 |     unsafe { *out.add(1000) = 1 };"), "{text}");
    let place = format!("--> {}:5:14", folder.join("src/lib.rs").display());
    assert!(text.contains(&place), "{place} in {text}");
    assert!(fs::read_to_string(&ptx).expect("PTX").is_ascii(), "ptxas accepts nothing else");

    // An edit after the build: the lines are no longer those of the code.
    fs::write(folder.join("src/lib.rs"), KERNEL.replace("#[panic_handler]", "// More.\n#[panic_handler]"))
        .expect("written");
    let text = report(&ptx);
    assert!(text.contains(&place) && !text.contains("5 | "), "{text}");
    assert!(text.contains("it has changed since the PTX was compiled"), "{text}");

    // The code is the same, so only the record of the file is made again.
    let text = report(&build(&folder, true));
    assert!(text.contains("5 |     unsafe { *out.add(1000) = 1 };"), "{text}");

    if let Some(ptxas) = cuda_tools::find("ptxas", &Search::default().cache) {
        let cubin = folder.join("lines.cubin");
        cuda_builder::check::assemble(&ptxas, &ptx, Arch::Compute75, &cubin).expect("ptxas accepts the names");
    }
}

#[test]
fn ptx_without_its_folder_gives_the_place_and_the_reason() {
    let folder = kernels("elsewhere");
    let ptx = build(&folder, false);
    assert!(!fs::read_to_string(&ptx).expect("PTX").contains(&*folder.to_string_lossy()));
    let text = report(&ptx);
    assert!(text.contains("--> src/lib.rs:5:14") && !text.contains("5 | "), "{text}");
    assert!(text.contains("the lines of src/lib.rs are not shown: no file there, or below"), "{text}");
}
