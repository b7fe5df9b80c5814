//! The contents of a file of PTX or machine code, and their load.

use crate::backend::{Backend, Module};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// PTX or machine code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Image {
    /// Path of the file; it starts with "in the program" for kernels that the program contains.
    pub path: PathBuf,
    /// The contents.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Reads a PTX file (or a cubin).
    ///
    /// # Errors
    /// [`Error::UnreadablePtx`] if it cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self { path: path.to_owned(), bytes }),
            Err(source) => Err(Error::UnreadablePtx { path: path.to_owned(), source }),
        }
    }
}

/// Loads the machine code, or the PTX if there is none or a driver that is older than the code refuses it.
///
/// # Errors
/// Those of `ptx` and of [`Backend::load`].
pub(super) fn load_first(
    device: &dyn Backend,
    code: Option<Image>,
    ptx: impl FnOnce() -> Result<Image>,
) -> Result<Module> {
    let load = |image: &Image| device.load(&image.bytes, &image.path.display().to_string());
    match code.as_ref().map(load) {
        None | Some(Err(Error::NoPtx(_) | Error::BadPtx(_))) => load(&ptx()?),
        Some(loaded) => loaded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_keeps_its_reason() {
        let error = Image::read(Path::new("no/such/file.ptx")).expect_err("no file");
        assert!(error.to_string().starts_with("cannot read no/such/file.ptx: "), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
