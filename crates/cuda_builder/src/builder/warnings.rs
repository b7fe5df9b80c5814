//! The warnings about the kernels of a build, for the newest architecture. They are kept beside each module, so that a
//! build that changes nothing shows them again without reading the PTX.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use crate::{
    arch::Arch,
    cache::Cache,
    check::{self, Lint, Usage},
    cuda_tools,
    error::Error,
    link::{self, Link},
};

/// Size of a PTX file in bytes above which ptxas is not run to find spills: it would take seconds.
const MOST_ASSEMBLED: usize = 256 << 10;

/// The lines to show, for the modules `names`; `rebuilt` lists those whose PTX is new.
pub(super) fn of(
    allowed: &[Lint],
    cache: &Cache,
    link: &Link<'_>,
    names: &[String],
    rebuilt: &[(Arch, String)],
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for name in names {
        let kept = link.module_folder(name).join(link::WARNINGS);
        let key = format!("{:016x}\n", key(allowed));
        let is_new = rebuilt.contains(&(link.arch, name.clone()));
        let old = fs::read_to_string(&kept).ok().filter(|_| !is_new);
        let text = match old.as_deref().and_then(|old| old.strip_prefix(&key)) {
            Some(text) => text.to_owned(),
            None => {
                let text = found(allowed, cache, link, &link.ptx(name))?;
                fs::write(&kept, format!("{key}{text}")).map_err(Error::io("write", &kept))?;
                text
            }
        };
        lines.extend(text.lines().map(str::to_owned));
    }
    Ok(lines)
}

/// Hash of what the warnings depend on beside the PTX.
fn key(allowed: &[Lint]) -> u64 {
    const SOURCES: [&str; 8] = [
        include_str!("../check/divergence.rs"),
        include_str!("../check/flow.rs"),
        include_str!("../check/listing.rs"),
        include_str!("../check/lints/barriers.rs"),
        include_str!("../check/lints/kinds.rs"),
        include_str!("../check/lints/memory.rs"),
        include_str!("../check/lints/mod.rs"),
        include_str!("../check/lints/numbers.rs"),
    ];
    let mut hasher = DefaultHasher::new();
    (SOURCES, allowed).hash(&mut hasher);
    hasher.finish()
}

fn found(allowed: &[Lint], cache: &Cache, link: &Link<'_>, path: &Path) -> Result<String, Error> {
    let ptx = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let usages = if ptx.len() <= MOST_ASSEMBLED { assembled(cache, link.arch, path) } else { Vec::new() };
    let warnings =
        check::lint(&ptx, &usages, &|lint, entry| allowed.contains(&lint) || link.allowed.allows(lint, entry));
    Ok(warnings.iter().map(|warning| format!("{warning}\n")).collect())
}

/// What ptxas reports; nothing without ptxas, or if it does not know the architecture.
fn assembled(cache: &Cache, arch: Arch, ptx: &Path) -> Vec<Usage> {
    let Some(ptxas) = cuda_tools::find("ptxas", cache) else { return Vec::new() };
    check::usages(&ptxas, ptx, arch).unwrap_or_default()
}
