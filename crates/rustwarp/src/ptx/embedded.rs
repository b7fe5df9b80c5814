//! The library's own kernels, as far as the build script found them.

use super::kernels::Kernels;

/// A constant per family. A program contains those that its code can reach.
pub(crate) mod library {
    use super::Kernels;

    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// The kernels of a family of `kernels-gpu`, if they are in the program.
pub(super) fn family(package: &str, name: &str) -> Option<&'static Kernels> {
    let found = library::ALL.iter().find(|kernels| kernels.name() == name)?;
    (package == "kernels-gpu" && !found.is_empty()).then_some(found)
}

/// The kernels of every family of `kernels-gpu` that is in the program, ordered by name.
pub(super) fn families(package: &str) -> Vec<&'static Kernels> {
    let all = library::ALL.iter().copied().filter(|kernels| !kernels.is_empty());
    if package == "kernels-gpu" { all.collect() } else { Vec::new() }
}
