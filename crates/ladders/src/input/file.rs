//! Access to files: their size, the memory for their contents, and errors that name them.

use super::stored::Stored;
use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::backend::require_host_memory;
use rustwarp::element::{Array, Dtype};
use std::path::Path;

/// Whether the file's name has this extension, in lower or upper case.
pub(crate) fn has_extension(path: &Path, known: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known))
}

/// Little-endian elements.
pub(super) fn untyped(path: &Path, bytes: Vec<u8>, dtype: Dtype) -> Result<Array> {
    if !bytes.len().is_multiple_of(dtype.size()) {
        return Err(Error::input(
            path,
            format!(
                "{} bytes are no whole number of {dtype} elements of {} bytes: choose another {DTYPE}",
                bytes.len(),
                dtype.size()
            ),
        ));
    }
    Ok(Stored::from(dtype).array(bytes))
}

/// Size of a file in bytes. A folder is an error here, since it can be opened and only reading it fails.
pub(super) fn file_size(path: &Path) -> Result<u64> {
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if about.is_dir() {
        return Err(Error::input(path, "it is a folder: name a file in it"));
    }
    Ok(about.len())
}

/// Checks that the data fits in memory before anything is allocated: a failed allocation would end the process.
pub(super) fn require_fit(path: &Path, bytes: u64) -> Result<()> {
    Ok(require_host_memory(bytes, &format!("reading {}", path.display()), "use a smaller file")?)
}

/// The error for a file that the operating system cannot read.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::input(path, format!("cannot read it: {error}"))
}
