//! A crate that uses the kernels as a library: its PTX has its own entries, and only the library code that they use.

use cuda_builder::{Arch, CudaBuilder, check::PtxReport};
use std::{fs, path::Path};

const SOURCE: &str = "
//! A sum of two vectors, by a generic kernel of the library.
#![no_std]
#![feature(abi_ptx)]

use cuda_std::{kernel, view::DisjointSlice};

/// Adds two vectors.
#[kernel]
pub fn sums(a: &[f32], b: &[f32], out: DisjointSlice<f32>) {
    kernels_gpu::vecadd::vecadd::<f32>(a, b, out);
}
";

#[test]
fn the_ptx_of_a_dependent_crate_has_its_own_entries_and_what_they_use() {
    // The folder is kept, so that only the first run compiles the library.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dependent");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"dependent\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         cuda_std = {{ package = 'rustwarp-std', path = '{0}/crates/cuda_std' }}\n\
         kernels-gpu = {{ path = '{0}/kernels-gpu', default-features = false, features = ['vecadd'] }}\n",
        root.display()
    );
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    fs::write(folder.join("src/lib.rs"), SOURCE).expect("a file");

    let ptx = CudaBuilder::new(&folder).arch(Arch::Compute90).copy_to(folder.join("dependent.ptx")).build();
    let text = fs::read_to_string(ptx.expect("a build")).expect("the PTX");
    let report = PtxReport::of(&text);
    let names: Vec<_> = report.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["sums"], "entries of the dependency are not part of it");
    assert_eq!(report.entry("sums").expect("listed").generic_accesses(), 0);
    // A bounds check may panic, and the panic's formatting code is most of the text.
    assert!(text.len() < 400_000, "{} bytes", text.len());
}
