//! Reports the files that the PTX depends on to cargo, inside a `build.rs`.

use std::path::Path;

/// Prints `cargo:rerun-if-changed` for the sources of a link output; prints nothing outside a build script.
pub(crate) fn announce(output: &Path) {
    if std::env::var_os("OUT_DIR").is_none() || std::env::var_os("CARGO_MANIFEST_DIR").is_none() {
        return;
    }
    let text = std::fs::read_to_string(output.with_extension("d")).unwrap_or_default();
    for path in dependencies(&text) {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=RUSTWARP_TOOLCHAIN");
    println!("cargo:rerun-if-env-changed=RUSTWARP_CACHE");
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
