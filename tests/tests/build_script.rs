//! A `build.rs` runs again when the PTX would be another one, and after a failure that it dropped.

use std::{fs, path::Path};

use tests::project::{cargo, printed};

const BUILD_SCRIPT: &str = "
use cuda_builder::{Arch, CudaBuilder};

fn main() {
    let built = CudaBuilder::new(\"../kernels\").arch(Arch::Compute75).fatal(false).build();
    println!(\"cargo::warning=compiled: {}\", built.is_ok());
}
";

const KERNELS: &str = "
#[cfg(feature = \"wrong\")]
compile_error!(\"the wrong feature\");

#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn one(out: *mut u32) { unsafe { *out = 1 } }

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
";

#[test]
fn a_build_script_runs_again_after_a_failure_and_after_an_edit_of_a_manifest() {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = temporary.join("build-script");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("removed");
    }
    let write = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace");
    let package =
        |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n{rest}");
    let dependency = format!(
        "[build-dependencies]\ncuda_builder = {{ package = \"rustwarp-builder\", path = '{}/crates/cuda_builder' }}\n",
        root.display()
    );
    let features = |default: &str| package("kernels", &format!("[features]\ndefault = [{default}]\nwrong = []\n"));
    write("app/Cargo.toml", &package("script", &dependency));
    write("app/build.rs", BUILD_SCRIPT);
    write("app/src/main.rs", "fn main() {}");
    write("kernels/Cargo.toml", &features(""));
    write("kernels/src/lib.rs", &KERNELS.replace("*out = 1", "*out = none"));

    // The script's answer, which cargo repeats where it does not run the script again.
    let compiled = || {
        let text = printed(&cargo(&folder.join("app"), &temporary.join("projects"), &["build"]));
        assert!(text.contains("compiled: true") != text.contains("compiled: false"), "{text}");
        text.contains("compiled: true")
    };
    // Twice: cargo also runs a script again when the number of files that it named has changed.
    assert!(!compiled() && !compiled(), "the kernel has an error");
    write("kernels/src/lib.rs", KERNELS);
    assert!(compiled(), "the kernel is mended");
    write("kernels/Cargo.toml", &features("\"wrong\""));
    assert!(!compiled(), "the manifest turns on a wrong feature");
    write("kernels/Cargo.toml", &features(""));
    assert!(compiled(), "the manifest is mended");
}
