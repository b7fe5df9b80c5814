//! PTX and machine code of kernels: in the program, or in files that are looked for.
//!
//! - A program of your own includes its kernels: [`Kernels`], [`kernels!`](crate::kernels),
//!   [`Device::load_kernels`](crate::Device::load_kernels).
//! - The library's kernels are in the program where the library was built with them: the published crate brings them,
//!   and in a checkout `cargo xtask embed` makes them. Else, or where `RUSTWARP_PTX_DIR` names a folder, files are
//!   used: [`find_family`].

mod arch;
mod embedded;
mod find;
mod image;
mod kernels;

use crate::backend::{Backend, Module};
use crate::error::Result;

pub use arch::{Arch, Header};
pub(crate) use embedded::library;
pub use find::{find, find_families, find_family};
pub use image::Image;
use image::load_first;
pub use kernels::{Code, Kernels, Packed};

/// Loads a family (a top-level module of the package): machine code for this GPU where there is some, else PTX; for
/// exactly `arch`, PTX only.
///
/// # Errors
/// Those of [`find_family`] and of [`Backend::load`].
pub fn load_family(device: &dyn Backend, package: &str, family: &str, arch: Option<&str>) -> Result<Module> {
    let sm = device.info().sm;
    let code = match (sm, arch) {
        (Some(sm), None) => find::machine_code(package, family, sm)?,
        _ => None,
    };
    load_first(device, code, || find_family(package, family, sm, arch))
}

/// Loads kernels of the library: those in the program, or files if it has none or `RUSTWARP_PTX_DIR` names a folder.
///
/// # Errors
/// Those of [`find_family`] and of [`Backend::load`].
pub(crate) fn load_library(device: &dyn Backend, kernels: &'static Kernels) -> Result<Module> {
    if kernels.is_empty() || find::asked_folder().is_some() {
        let sm = device.info().sm;
        let code = sm.map(|sm| find::machine_code_file("kernels-gpu", kernels.name(), sm)).transpose()?.flatten();
        return load_first(device, code, || find::find_family_file("kernels-gpu", kernels.name(), sm, None));
    }
    kernels.load_or(device, find::in_checkout)
}
