//! Reports to cargo, inside a `build.rs`: the files that the PTX depends on, warnings, and failures.

use std::path::Path;

use crate::Error;

/// Prints `cargo:rerun-if-changed` for the sources of a link output; prints nothing outside a build script.
pub(crate) fn announce(output: &Path) {
    if !is_here() {
        return;
    }
    let text = std::fs::read_to_string(output.with_extension("d")).unwrap_or_default();
    for path in dependencies(&text) {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=RUSTWARP_TOOLCHAIN");
    println!("cargo:rerun-if-env-changed=RUSTWARP_CACHE");
}

/// Ends a build script with the error, so that one that drops it does not go on without PTX; does nothing outside a
/// build script. Cargo shows what the script wrote to standard error, the compiler's messages included, once.
pub(crate) fn fail(kernels: &Path, error: &Error) {
    if is_here() {
        eprintln!("error: the kernels in {} are not compiled: {error}", kernels.display());
        std::process::exit(1);
    }
}

/// Shows warnings: through cargo inside a build script, else on standard error.
pub(crate) fn warn(lines: &[String]) {
    for line in lines {
        if is_here() {
            println!("cargo::warning={line}");
        } else {
            eprintln!("warning: {line}");
        }
    }
}

fn is_here() -> bool {
    // cargo sets the last one for build scripts only.
    ["OUT_DIR", "CARGO_MANIFEST_DIR", "NUM_JOBS"].iter().all(|name| std::env::var_os(name).is_some())
}

/// The files after the colon of cargo's dep-info, where a space in a name is written `\ `.
fn dependencies(text: &str) -> Vec<String> {
    let Some((_, files)) = text.lines().next().and_then(|line| line.split_once(": ")) else { return Vec::new() };
    const SPACE: &str = "\u{0}";
    files.replace("\\ ", SPACE).split_whitespace().map(|name| name.replace(SPACE, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_stay_whole() {
        assert_eq!(dependencies("/t/k.ptx: /a/lib.rs /b\\ c/x.rs\n"), ["/a/lib.rs", "/b c/x.rs"]);
        assert!(dependencies("").is_empty());
    }
}
