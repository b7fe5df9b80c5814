//! Search for the built PTX, and choice of the file for a device.
//!
//! Of files, those in `RUSTWARP_PTX_DIR` are used if it is set; else the kernels in the program; else files beside the
//! program or in a checkout.

use super::arch::{Arch, choose};
use super::embedded;
use super::image::Image;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Finds the PTX of a package that is built as one file, for a device of compute capability `sm` (`None`: the highest
/// present, for the simulator), or for exactly `arch`.
///
/// # Errors
/// [`Error::NoPtx`] with the folders that were searched and the command that builds it; [`Error::UnreadablePtx`] if it
/// is there and cannot be read.
pub fn find(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
    Image::read(&place(package, sm, arch)?.with_extension("ptx"))
}

/// Finds the PTX of one family (a top-level module of the package), for a package that is built as a file per family;
/// for `sm` and `arch` see [`find`]. A driver compiles a module as a whole, which takes seconds for all families
/// together.
///
/// # Errors
/// Those of [`find`].
pub fn find_family(package: &str, family: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
    if let Some(kernels) = in_the_program(|| embedded::family(package, family)) {
        return kernels.ptx_or(sm, arch, in_checkout);
    }
    find_family_file(package, family, sm, arch)
}

/// Like [`find_family`], among files only.
pub(super) fn find_family_file(package: &str, family: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
    let folder = place(package, sm, arch)?;
    let path = folder.join(format!("{family}.ptx"));
    if !path.exists() {
        return Err(Error::NoPtx(format!(
            "{} has no PTX of the family `{family}`: run `cargo xtask build-ptx` in a checkout of Rustwarp",
            folder.display()
        )));
    }
    Image::read(&path)
}

/// Finds the machine code of one family for a GPU of compute capability `sm`, if there is any.
///
/// # Errors
/// [`Error::UnreadablePtx`] if it is there and cannot be read.
pub(super) fn machine_code(package: &str, family: &str, sm: u32) -> Result<Option<Image>> {
    if let Some(kernels) = in_the_program(|| embedded::family(package, family)) {
        return kernels.machine_code(sm);
    }
    machine_code_file(package, family, sm)
}

/// Like [`machine_code`], among files only: beside the PTX that it was made of.
pub(super) fn machine_code_file(package: &str, family: &str, sm: u32) -> Result<Option<Image>> {
    let Ok(folder) = place(package, Some(sm), None) else { return Ok(None) };
    let path = folder.join(format!("{family}.sm_{sm}.cubin"));
    path.exists().then(|| Image::read(&path)).transpose()
}

/// Finds the PTX of every family, ordered by name: the files, or without files the families in the program.
///
/// # Errors
/// Those of [`find`].
pub fn find_families(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Vec<Image>> {
    let folder = match place(package, sm, arch) {
        Ok(folder) => folder,
        Err(error) => {
            let families = in_the_program(|| Some(embedded::families(package)).filter(|all| !all.is_empty()));
            let Some(families) = families else { return Err(error) };
            return families.iter().map(|kernels| kernels.ptx_or(sm, arch, in_checkout)).collect();
        }
    };
    let entries = std::fs::read_dir(&folder).map_err(|source| Error::UnreadablePtx { path: folder.clone(), source })?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    paths.iter().map(|path| Image::read(path)).collect()
}

/// What `find` finds in the program, unless the environment names a folder.
fn in_the_program<T>(find: impl FnOnce() -> Option<T>) -> Option<T> {
    if asked_folder().is_some() { None } else { find() }
}

/// The folder that the environment names.
pub(super) fn asked_folder() -> Option<PathBuf> {
    std::env::var_os("RUSTWARP_PTX_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The folder, or without its extension the file, of the best architecture.
fn place(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<PathBuf> {
    let folders = folders(package);
    for folder in &folders {
        let present = present(folder);
        if present.is_empty() {
            continue;
        }
        return Ok(folder.join(choose(&present, sm, arch, &folder.display().to_string(), in_checkout)?.to_string()));
    }
    let list: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(Error::NoPtx(format!(
        "the kernels of the library ({package}) are not in the program: add `features = [\"kernels\"]` to the \
         dependency on `rustwarp` in Cargo.toml and build the program again, which then contains them; or run \
         `cargo xtask build-ptx` in the checkout of Rustwarp that the program depends on; or set RUSTWARP_PTX_DIR to \
         the `target/ptx` of another checkout (searched {})",
        list.join(", ")
    )))
}

/// The advice for kernels of this project, which only its checkout builds.
pub(super) fn in_checkout(arch: &str) -> String {
    format!(
        "run `cargo xtask build-ptx --arch {arch}` in a checkout of Rustwarp, and set RUSTWARP_PTX_DIR to its \
         `target/ptx`"
    )
}

/// Architectures with a file `<arch>.ptx` or a folder `<arch>` in `folder`.
fn present(folder: &Path) -> Vec<Arch> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Arch::parse(name.strip_suffix(".ptx").unwrap_or(&name))).collect()
}

/// The `target/ptx` of the checkout that this library was compiled in, as by a project with a path dependency; a
/// package of a registry has none. Programs that are given away embed their kernels.
const OF_THIS_CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/ptx");

/// The folders to search, in order: `RUSTWARP_PTX_DIR` alone if it is set; else `ptx` beside the program or one level
/// up (a folder made by `cargo xtask dist`), then `target/ptx` above the program or the current folder, then that of
/// the checkout that the library was compiled in.
fn folders(package: &str) -> Vec<PathBuf> {
    if let Some(folder) = asked_folder() {
        return vec![folder.join(package)];
    }
    let program = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let current = std::env::current_dir().ok();
    let mut folders = Vec::new();
    if let Some(program) = &program {
        folders.push(program.join("ptx"));
        folders.extend(program.parent().map(|parent| parent.join("ptx")));
    }
    for start in [current, program].into_iter().flatten() {
        folders.extend(start.ancestors().map(|folder| folder.join("target/ptx")).find(|folder| folder.is_dir()));
    }
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        folders.push(PathBuf::from(target).join("ptx"));
    }
    folders.push(PathBuf::from(OF_THIS_CHECKOUT));
    folders.dedup();
    folders.into_iter().map(|folder| folder.join(package)).collect()
}
