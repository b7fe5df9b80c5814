//! Queries, downloads and unpacks packages by apt. Nothing is installed: it needs no root and leaves the system as it
//! is.

use std::{fs, path::Path, process::Command};

use super::{Report, Source, systems};
use crate::{Error, place, process};

/// A package, as the package lists describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub name: String,
    pub version: String,
    /// Names of its dependencies; of alternatives, the first.
    pub depends: Vec<String>,
}

/// Checks that apt and dpkg are installed.
pub(super) fn check() -> Result<(), Error> {
    for tool in ["apt-get", "apt-cache", "dpkg"] {
        process::run(Command::new(tool).arg("--version"), "print its version").map_err(|_| Error::Setup {
            problem: format!("`{tool}` is not on this machine, and the toolchain's packages come by apt"),
            fix: systems::without_packages(),
        })?;
    }
    Ok(())
}

/// Whether this process may run `apt-get update`.
pub(super) fn is_root() -> bool {
    process::read(Command::new("id").arg("-u"), "print the user's number").is_ok_and(|text| text.trim() == "0")
}

/// Whether package lists were ever fetched.
pub(super) fn has_lists() -> bool {
    fs::read_dir("/var/lib/apt/lists")
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages")))
}

/// Fetches the package lists.
pub(super) fn update() -> Result<(), Error> {
    process::run(Command::new("apt-get").arg("update"), "fetch the package lists")?;
    Ok(())
}

/// Names of packages that match a regular expression.
pub(super) fn search(pattern: &str) -> Result<Vec<String>, Error> {
    let text = process::read(Command::new("apt-cache").args(["search", "--names-only", pattern]), "search packages")?;
    Ok(text.lines().filter_map(|line| line.split(" - ").next()).map(|name| name.trim().to_owned()).collect())
}

/// The version of a package that apt would install.
pub(super) fn candidate(name: &str) -> Result<Option<Package>, Error> {
    // apt-cache fails for an unknown name.
    let shown =
        process::read(Command::new("apt-cache").args(["show", "--no-all-versions", name]), "describe a package");
    match shown {
        Ok(text) => Ok(parse(&text)),
        Err(Error::Tool { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the first paragraph of `apt-cache show`.
fn parse(text: &str) -> Option<Package> {
    let paragraph = text.split("\n\n").next()?;
    let field = |name: &str| paragraph.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let depends = field("Depends:").unwrap_or_default().split(',').filter_map(|one| {
        let first = one.split('|').next()?.trim();
        let name = first.split([' ', '(', ':']).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    Some(Package {
        name: field("Package:")?.to_owned(),
        version: field("Version:")?.to_owned(),
        depends: depends.collect(),
    })
}

/// Whether dpkg has the package installed.
pub(super) fn is_installed(name: &str) -> bool {
    process::read(Command::new("dpkg-query").args(["-W", "-f=${Status}", name]), "print a package's state")
        .is_ok_and(|text| text.contains("install ok installed"))
}

/// Downloads `packages` into `downloads`, and unpacks them into `root`.
pub(super) fn fetch(packages: &[Package], downloads: &Path, root: &Path, report: Report<'_>) -> Result<(), Error> {
    fs::create_dir_all(downloads).map_err(Error::io("create", downloads))?;
    let names: Vec<_> = packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect();
    report(&format!("downloading by apt: {}", names.join(" ")));
    let download = || {
        process::run(
            Command::new("apt-get").current_dir(downloads).arg("download").args(&names),
            "download the toolchain's packages",
        )
    };
    if let Err(error) = download() {
        // Old lists name files that the archive no longer has.
        if !is_root() {
            return Err(Error::Setup {
                problem: error.to_string(),
                fix: format!("sudo apt-get update && {}", Source::Apt.command()),
            });
        }
        report("the download failed; reading the package lists (apt-get update) and trying again");
        update()?;
        download()?;
    }
    report("unpacking");
    for path in
        place::children(downloads)?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
    {
        process::run(Command::new("dpkg").arg("-x").arg(path).arg(root), "unpack a package")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apt_cache_shows() {
        let text = "Package: llvm-22\nVersion: 1:22.1.8-1~deb12u1\n\
                    Depends: llvm-22-runtime (= 1:22.1.8-1~deb12u1), \
                    libllvm22, libz3-4 (>= 4.8.12) | other\n\nPackage: old\n";
        let package = parse(text).expect("complete");
        assert_eq!((package.name.as_str(), package.version.as_str()), ("llvm-22", "1:22.1.8-1~deb12u1"));
        assert_eq!(package.depends, ["llvm-22-runtime", "libllvm22", "libz3-4"]);
        assert_eq!(parse(""), None);
    }
}
