//! Fetches what is missing into the user's cache: device toolchain by apt, `ptxas` and `nvdisasm` by pip.
//!
//! Everything is unpacked aside and renamed into place with a stamp, so an interrupted run leaves nothing that looks
//! finished.

mod apt;
mod packages;
mod place;
mod rustup;
mod wheels;

use std::path::Path;

use crate::{
    Cache, Error,
    cuda_tools::{self, CudaTool},
    toolchain::{Origin, Search, Toolchain},
};

pub(crate) use place::{is_begun, is_complete};
pub use rustup::add_components;

/// Tells the user what is being done, one line at a time.
pub type Report<'a> = &'a mut dyn FnMut(&str);

/// Makes sure that there is a device toolchain: the one that is found, or else one from the system's package archive.
pub fn toolchain(search: &Search, report: Report<'_>) -> Result<Toolchain, Error> {
    match crate::toolchain::discover(search) {
        // What is in the cache was downloaded by us, so its completeness is ours to check.
        Ok(toolchain) if toolchain.origin != Origin::Cache => return Ok(toolchain),
        Ok(_) | Err(Error::NoToolchain { .. }) => {}
        Err(error) => return Err(error),
    }
    let cache = &search.cache;
    let _lock = place::lock(cache, report)?;
    let place = cache.toolchain();
    if let Some(toolchain) = installed(&place) {
        return Ok(toolchain);
    }
    if place.exists() {
        report("the toolchain in the cache is incomplete and is fetched again");
    }
    let packages = packages::choose(report)?;
    place::install(&place, |folder| {
        apt::fetch(&packages, &folder.join("packages"), folder, report)?;
        trim(folder)?;
        Ok(packages.iter().map(|package| format!("{} {}\n", package.name, package.version)).collect())
    })?;
    installed(&place).ok_or_else(|| {
        let lacks = Toolchain::at(&place.join("usr"), Origin::Cache).err().unwrap_or_default().join("; ");
        Error::Setup {
            problem: format!("the packages were unpacked into {}, and still: {lacks}", place.display()),
            fix: "cargo xtask setup --from rustup, or give another toolchain with --toolchain".to_owned(),
        }
    })
}

/// The toolchain at `place` when nothing of it is missing.
fn installed(place: &Path) -> Option<Toolchain> {
    if !place::is_whole(place) {
        return None;
    }
    Toolchain::at(&place.join("usr"), Origin::Cache).ok()
}

/// Of rustc's source only the library is needed; the packages themselves have done their work.
fn trim(folder: &Path) -> Result<(), Error> {
    place::remove(&folder.join("packages"))?;
    for name in ["usr/share", "usr/lib/llvm-common"] {
        place::remove(&folder.join(name))?;
    }
    let sources = folder.join("usr/src");
    for source in place::children(&sources)? {
        for child in place::children(&source)? {
            if child.file_name().is_some_and(|name| name != "library") {
                place::remove(&child)?;
            }
        }
    }
    Ok(())
}

/// Makes sure that `ptxas` and `nvdisasm` are there: those of a CUDA toolkit, or else those of its wheels.
pub fn cuda_tools(cache: &Cache, report: Report<'_>) -> Result<Vec<CudaTool>, Error> {
    let found = |cache: &Cache| -> Option<Vec<CudaTool>> {
        cuda_tools::NAMES.iter().map(|name| cuda_tools::find(name, cache)).collect()
    };
    if let Some(tools) = found(cache) {
        return Ok(tools);
    }
    let _lock = place::lock(cache, report)?;
    if let Some(tools) = found(cache) {
        return Ok(tools);
    }
    place::install(&cache.cuda(), |folder| wheels::fetch(folder, report))?;
    found(cache).ok_or_else(|| Error::Setup {
        problem: format!(
            "the wheels were unpacked into {}, and ptxas or nvdisasm still does not run",
            cache.cuda().display()
        ),
        fix: "install a CUDA toolkit, and set CUDA_HOME to its folder".to_owned(),
    })
}
