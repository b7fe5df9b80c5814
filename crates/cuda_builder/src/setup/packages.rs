//! Chooses the Debian packages of a device toolchain. Their names contain versions, so they are looked up.

use std::collections::{BTreeSet, VecDeque};

use super::{
    Report, Source,
    apt::{self, Package},
    systems,
};
use crate::Error;

/// The oldest usable rustc: the first on LLVM 22.
const OLDEST: (u32, u32) = (1, 95);

/// The packages, with the versions to fetch.
pub(super) fn choose(report: Report<'_>) -> Result<Vec<Package>, Error> {
    apt::check()?;
    match find()? {
        Some(packages) => return Ok(packages),
        None if apt::is_root() => {
            report("reading the package lists (apt-get update)");
            apt::update()?;
        }
        None if !apt::has_lists() => {
            return Err(Error::Setup {
                problem: "apt has no package lists, and only root may fetch them".to_owned(),
                fix: format!("sudo apt-get update && {}", Source::Apt.command()),
            });
        }
        None => {}
    }
    find()?.ok_or_else(|| Error::Setup {
        problem: format!(
            "this system's packages have no rustc of at least {}.{} with its source and its LLVM tools",
            OLDEST.0, OLDEST.1
        ),
        fix: systems::without_packages(),
    })
}

/// The newest rustc that has everything else beside it.
fn find() -> Result<Option<Vec<Package>>, Error> {
    let mut compilers = Vec::new();
    for name in apt::search("^rustc")? {
        compilers.extend(apt::candidate(&name)?.filter(|package| release(&package.version) >= OLDEST));
    }
    compilers.sort_by_key(|package| std::cmp::Reverse(release(&package.version)));
    let sources = apt::search("^rust.*-src$")?;
    for rustc in compilers {
        if let Some(packages) = complete(rustc, &sources)? {
            return Ok(Some(packages));
        }
    }
    Ok(None)
}

/// rustc with its dependencies, the source of the same version, and the tools of the LLVM that it is linked with.
fn complete(rustc: Package, sources: &[String]) -> Result<Option<Vec<Package>>, Error> {
    let mut source = None;
    for name in sources {
        source = source.or(apt::candidate(name)?.filter(|package| package.version == rustc.version));
    }
    let Some(source) = source else { return Ok(None) };
    // rustc -> libstd-rust-dev -> libstd-rust-<release> -> libllvm<major>
    let mut packages = vec![source];
    let mut next = Some(rustc);
    let mut llvm = None;
    while let Some(package) = next.take() {
        for name in &package.depends {
            if let Some(major) = name.strip_prefix("libllvm") {
                llvm = Some(major.trim_end_matches("t64").to_owned());
            } else if name.starts_with("libstd-rust") {
                next = apt::candidate(name)?.filter(|found| found.version == package.version);
            }
        }
        packages.push(package);
    }
    let Some(tools) = llvm.map(|major| apt::candidate(&format!("llvm-{major}"))).transpose()?.flatten() else {
        return Ok(None);
    };
    let libraries: Vec<String> = tools.depends.iter().filter(|name| name.starts_with("libllvm")).cloned().collect();
    packages.push(tools);
    packages.extend(absent_libraries(libraries)?);
    Ok(Some(packages))
}

/// LLVM's library and its dependencies, to any depth, that the system does not have installed.
fn absent_libraries(names: Vec<String>) -> Result<Vec<Package>, Error> {
    let mut packages = Vec::new();
    let mut seen: BTreeSet<String> = names.iter().cloned().collect();
    let mut pending: VecDeque<String> = names.into();
    while let Some(name) = pending.pop_front() {
        if apt::is_installed(&name) {
            continue;
        }
        let Some(package) = apt::candidate(&name)? else { continue };
        for name in package.depends.iter().filter(|name| name.starts_with("lib")) {
            if seen.insert(name.clone()) {
                pending.push_back(name.clone());
            }
        }
        packages.push(package);
    }
    Ok(packages)
}

/// `1.96.0+dfsg1-1~deb12u2` is release 1.96.
fn release(version: &str) -> (u32, u32) {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let mut numbers = version.split(['.', '+', '-', '~']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_versions_are_read_as_releases() {
        assert_eq!(release("1.96.0+dfsg1-1~deb12u2"), (1, 96));
        assert_eq!(release("1:1.85.1~x-1"), (1, 85));
        assert!(release("1.63.0+dfsg1-2") < OLDEST);
    }
}
