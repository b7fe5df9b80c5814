//! Fetches missing tools into the user's cache: the device toolchain by apt, `ptxas` and `nvdisasm` by pip.
//!
//! Tools are unpacked into a temporary folder, which is renamed when it is complete: an interrupted run leaves nothing
//! that looks finished.

mod apt;
mod packages;
mod report;
mod rustup;
mod source;
pub(crate) mod systems;
mod wheels;

use std::path::Path;

use crate::{
    Cache, Error,
    cuda_tools::{self, CudaTool},
    place,
    toolchain::{Origin, Search, Toolchain},
};

pub use report::Report;
pub use rustup::add_components;
pub use source::{Source, VARIABLE};

/// Finds a device toolchain, or adds one from `source`: what a build does where the variable [`VARIABLE`] is set.
///
/// # Errors
/// As [`toolchain`] and [`add_components`].
pub fn from(source: Source, search: &Search, report: Report<'_>) -> Result<Toolchain, Error> {
    match crate::toolchain::discover(search) {
        Err(Error::NoToolchain { .. }) if source == Source::Rustup => {
            add_components("stable")?;
            crate::toolchain::discover(search)
        }
        _ => toolchain(search, report),
    }
}

/// Finds a device toolchain, or fetches one from the system's package archive.
///
/// # Errors
/// [`Error::Setup`] if it can't be fetched, with the remedy; [`Error::BadToolchain`] if [`Search::asked`] names one
/// that is not complete; [`Error::Io`] and [`Error::Tool`] if a file or a tool fails.
pub fn toolchain(search: &Search, report: Report<'_>) -> Result<Toolchain, Error> {
    match crate::toolchain::discover(search) {
        // The cache is checked file by file below, since an earlier set-up wrote it.
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
            fix: format!("{}, or name another toolchain by RUSTWARP_TOOLCHAIN", Source::Rustup.command()),
        }
    })
}

/// The toolchain at `place`; `None` if a file is missing.
fn installed(place: &Path) -> Option<Toolchain> {
    if !place::is_whole(place) {
        return None;
    }
    Toolchain::at(&place.join("usr"), Origin::Cache).ok()
}

/// Removes the downloaded packages, documentation, and of rustc's source everything but the library.
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

/// Finds `ptxas` and `nvdisasm` in a CUDA toolkit, or fetches NVIDIA's wheels.
///
/// # Errors
/// [`Error::Setup`] if they can't be fetched, with the remedy; [`Error::Io`] and [`Error::Tool`] if a file or a tool
/// fails.
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
