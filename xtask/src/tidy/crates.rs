//! The direction of dependencies between the crates of the project.

use super::known::unneeded;
use super::tree::{Finding, Package, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str =
    "a crate depends only on the project's crates that the table allows; libraries on none for command lines or plots";

/// Each crate of the project, with the crates of the project that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("rustwarp-std-macros", &[]),
    ("rustwarp-std", &["rustwarp-std-macros"]),
    ("kernels-gpu", &["rustwarp-std"]),
    ("test-kernels", &["rustwarp-std", "kernels-gpu"]),
    ("test-operators", &["rustwarp-std", "kernels-gpu"]),
    ("rustwarp-driver", &[]),
    ("ptx_sim", &[]),
    ("cuda_sim", &["ptx_sim"]),
    ("cudart_sim", &[]),
    ("cudart12_sim", &["cudart_sim"]),
    ("cudart13_sim", &["cudart_sim", "cudart12_sim", "cuda_sim"]),
    ("ptx_sim-fuzz", &["ptx_sim"]),
    ("rustwarp-builder", &[]),
    ("rustwarp", &["kernels-gpu", "rustwarp-std", "ptx_sim", "rustwarp-driver", "rustwarp-builder"]),
    ("ladders", &["rustwarp", "kernels-gpu", "rustwarp-std"]),
    ("host", &["ladders", "rustwarp", "rustwarp-builder", "cuda_sim", "cudart12_sim", "cudart13_sim"]),
    ("docs-book", &[]),
    ("docs-generator", &["host", "ladders", "rustwarp"]),
    (
        "tests",
        &[
            "ladders",
            "rustwarp",
            "host",
            "kernels-gpu",
            "test-kernels",
            "test-operators",
            "rustwarp-std",
            "ptx_sim",
            "rustwarp-builder",
        ],
    ),
    ("xtask", &["rustwarp-builder", "rustwarp-driver"]),
];

/// Exceptions: dependencies that the table does not allow, with reasons.
const KNOWN: &[(&str, &str, &str)] = &[];

/// Crates that a library must not depend on.
const NOT_IN_LIBRARIES: &[&str] = &["clap", "plotters", "indicatif", "image"];

/// Crates whose dependency tree must not contain them.
const LIBRARIES: &[&str] = &["rustwarp", "ptx_sim", "kernels-gpu", "rustwarp-std", "rustwarp-driver"];

/// Reports dependencies in the wrong direction.
pub fn check(tree: &Tree) -> Vec<Finding> {
    checked(&tree.packages, KNOWN)
}

fn checked(packages: &[Package], known: &[(&str, &str, &str)]) -> Vec<Finding> {
    let is_ours = |name: &String| packages.iter().any(|package| package.name == *name);
    let mut found = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
            let text =
                format!("the crate `{}` is not in the table of crates.rs: add its allowed dependencies", package.name);
            found.push(Finding::new(&package.manifest, 1, text));
            continue;
        };
        for name in package.dependencies.iter().filter(|name| is_ours(name) && !allowed.contains(&name.as_str())) {
            if !known.iter().any(|(from, to, _)| *from == package.name && to == name) {
                let text =
                    format!("`{}` may not depend on `{name}`: the table is in xtask/src/tidy/crates.rs", package.name);
                found.push(Finding::new(&package.manifest, 1, text));
            }
        }
        if LIBRARIES.contains(&package.name.as_str()) {
            for name in package.all_dependencies.iter().filter(|name| NOT_IN_LIBRARIES.contains(&name.as_str())) {
                let text = format!(
                    "the library `{}` depends on `{name}`: move the code that uses it to the command line",
                    package.name
                );
                found.push(Finding::new(&package.manifest, 1, text));
            }
        }
    }
    let is_needed = |(from, to, _): &&(&str, &str, &str)| {
        let from = packages.iter().find(|package| package.name == *from);
        from.is_some_and(|package| package.dependencies.iter().any(|name| name == to))
    };
    found.extend(
        known
            .iter()
            .filter(|known| !is_needed(known))
            .map(|(from, to, _)| unneeded("crates", &format!("{from} -> {to}"))),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str], all: &[&str]) -> Package {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Package {
            name: name.to_owned(),
            manifest: format!("{name}/Cargo.toml"),
            dependencies: owned(dependencies),
            all_dependencies: owned(all),
            ..Package::default()
        }
    }

    fn texts(packages: &[Package], known: &[(&str, &str, &str)]) -> Vec<String> {
        checked(packages, known).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_dependency_in_the_wrong_direction_is_found() {
        let packages = [package("ptx_sim", &["rustwarp", "half"], &[]), package("rustwarp", &["ptx_sim"], &[])];
        let found = texts(&packages, &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("ptx_sim/Cargo.toml:1: `ptx_sim` may not depend on `rustwarp`"), "{found:?}");
        assert_eq!(texts(&packages, &[("ptx_sim", "rustwarp", "why")]), Vec::<String>::new());
        assert!(texts(&packages[1..], &[("ptx_sim", "rustwarp", "why")])[0].contains("no longer needed"));
    }

    #[test]
    fn a_library_with_a_command_line_in_its_tree_is_found() {
        let found = texts(&[package("rustwarp", &["x"], &["x", "clap"])], &[]);
        assert!(found.len() == 1 && found[0].contains("the library `rustwarp` depends on `clap`"), "{found:?}");
    }

    #[test]
    fn a_new_crate_needs_its_row() {
        assert!(texts(&[package("news", &[], &[])], &[])[0].contains("`news` is not in the table"));
    }
}
