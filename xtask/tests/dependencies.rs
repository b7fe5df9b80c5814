//! The rules of `deny.toml` that need no network, and the minimum version of Rust, over the whole dependency tree.

use std::{collections::BTreeMap, path::Path};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId, semver::Version};
use toml::{Table, Value};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn metadata() -> Metadata {
    let options = ["--all-features", "--locked", "--offline"].map(str::to_owned);
    MetadataCommand::new().current_dir(root()).other_options(options.to_vec()).exec().expect("the dependencies")
}

fn rules() -> Table {
    std::fs::read_to_string(root().join("deny.toml")).expect("the rules").parse().expect("TOML")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|item| item.as_str().expect("a string")).collect()
}

/// Whether a licence expression can be satisfied by the accepted licences. `/` is the old spelling of `OR`.
fn accepted(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ");
    // `AND` binds more tightly than `OR`; the parentheses that occur enclose alternatives of one operand of `AND`.
    let mut depth = 0_i32;
    let mut split = |separator: &str, text: &str| -> Option<(String, String)> {
        depth = 0;
        text.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            let here = depth == 0 && text[at..].starts_with(separator);
            here.then(|| (text[..at].to_owned(), text[at + separator.len()..].to_owned()))
        })
    };
    if let Some((left, right)) = split(" OR ", &expression) {
        return accepted(&left, allowed) || accepted(&right, allowed);
    }
    if let Some((left, right)) = split(" AND ", &expression) {
        return accepted(&left, allowed) && accepted(&right, allowed);
    }
    let text = expression.trim();
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inner) => accepted(inner, allowed),
        None => allowed.contains(&text),
    }
}

#[test]
fn every_licence_is_accepted() {
    let rules = rules();
    let allowed = strings(&rules["licenses"]["allow"]);
    let refused = |package: &Package| {
        let expression = package.license.as_deref().unwrap_or("no licence");
        (!accepted(expression, &allowed)).then(|| format!("{} {}: {expression}", package.name, package.version))
    };
    let found: Vec<_> = metadata().packages.iter().filter_map(refused).collect();
    assert!(found.is_empty(), "licences that deny.toml does not list: {found:#?}");
}

#[test]
fn licence_expressions_are_read_as_cargo_writes_them() {
    let allowed = ["MIT", "Zlib"];
    for expression in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR MIT) AND Zlib", "GPL-3.0 AND X OR MIT"] {
        assert!(accepted(expression, &allowed), "{expression}");
    }
    for expression in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "no licence", ""] {
        assert!(!accepted(expression, &allowed), "{expression}");
    }
}

#[test]
fn every_dependency_is_from_the_registry_or_this_workspace() {
    let rules = rules();
    let registries = strings(&rules["sources"]["allow-registry"]);
    for package in metadata().packages {
        let known = package
            .source
            .as_ref()
            .is_none_or(|source| registries.iter().any(|registry| source.repr == format!("registry+{registry}")));
        assert!(known, "{} is from {:?}, which deny.toml does not list", package.name, package.source);
    }
}

#[test]
fn versions_occur_once_except_where_a_reason_is_given() {
    let rules = rules();
    let skipped: Vec<_> = rules["bans"]["skip"].as_array().expect("a list").iter().map(|row| &row["crate"]).collect();
    let mut versions = BTreeMap::<String, Vec<Version>>::new();
    for package in metadata().packages {
        versions.entry(package.name.to_string()).or_default().push(package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let listed = |name: &str| skipped.iter().any(|skip| skip.as_str() == Some(name));
    let found: Vec<_> = versions.iter().filter(|(name, _)| !listed(name)).collect();
    assert!(found.is_empty(), "several versions, and no reason in deny.toml: {found:?}");
    for skip in skipped {
        let name = skip.as_str().expect("a name");
        assert!(versions.contains_key(name), "deny.toml: `{name}` occurs once: remove its entry");
    }
}

/// What the published crates require of rustc is at least what each of their dependencies requires. Clippy's
/// `incompatible_msrv`, which the workspace denies, compares their own code with it.
#[test]
fn ci_compiles_with_the_rust_that_the_crates_state() {
    let manifest: Table =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest").parse().expect("TOML");
    let version = manifest["workspace"]["package"]["rust-version"].as_str().expect("a version").to_owned();
    let workflow = std::fs::read_to_string(root().join(".github/workflows/ci.yml")).expect("the workflow");
    let (_, job) = workflow.split_once("\n  msrv:\n").expect("a job `msrv`");
    let job = job.split("\n\n").next().unwrap_or_default();
    for step in [
        format!("- uses: dtolnay/rust-toolchain@{version}\n"),
        format!("- run: cargo +{version} check --workspace --all-features"),
    ] {
        assert!(job.contains(&step), "{step} in\n{job}");
    }
}

#[test]
fn dependencies_require_no_newer_rust_than_the_crates_state() {
    let metadata = metadata();
    let published = metadata.workspace_packages().into_iter().filter(|package| package.publish.is_none());
    for package in published {
        let stated = package.rust_version.clone().expect("every published crate states its version of Rust");
        for dependency in reached(&metadata, &package.id) {
            let required = dependency.rust_version.as_ref();
            assert!(
                required.is_none_or(|required| *required <= stated),
                "{} states Rust {stated}, but depends on {} {}, which requires {required:?}",
                package.name,
                dependency.name,
                dependency.version
            );
        }
    }
}

/// The dependencies of a package, direct and indirect, without those of its tests.
fn reached<'m>(metadata: &'m Metadata, package: &PackageId) -> Vec<&'m Package> {
    let nodes = &metadata.resolve.as_ref().expect("the resolved dependencies").nodes;
    let mut pending = vec![package];
    let mut seen: Vec<&PackageId> = Vec::new();
    while let Some(id) = pending.pop() {
        let node = nodes.iter().find(|node| node.id == *id).expect("a node");
        for dependency in &node.deps {
            let built = dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
            if built && !seen.contains(&&dependency.pkg) {
                seen.push(&dependency.pkg);
                pending.push(&dependency.pkg);
            }
        }
    }
    seen.into_iter().map(|id| &metadata[id]).collect()
}
