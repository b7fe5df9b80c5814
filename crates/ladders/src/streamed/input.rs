//! Files as sources of streams.

use crate::error::{Error, Result};
use crate::input::{Stored, has_extension, npy};
use crate::kernels::Operand;
use crate::kernels::spelling::{DTYPE, STREAM};
use rustwarp::element::Dtype;
use rustwarp::streamed::{FilePart, Source};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An opened file of elements.
pub(super) struct Input {
    path: PathBuf,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Number of elements.
    pub elements: u64,
    part: FilePart,
}

/// Opens a `.npy` file, or one of raw elements of `dtype`, whose type is one of `dtypes`.
///
/// # Errors
/// [`Error::Input`] for a file that cannot be read, [`Error::Usage`] for one of another type or format.
pub(super) fn open(path: &Path, dtypes: &[Dtype], operand: &Operand, dtype: Option<Dtype>) -> Result<Input> {
    if has_extension(path, "npy") {
        let npy::NpyFile { stored, shape, offset, bytes, file } = npy::open(path)?;
        let dtype = match (stored, dtype) {
            (Stored::Known(stored), None) if dtypes.contains(&stored) => stored,
            (stored, Some(dtype)) if stored == Stored::Known(dtype) => dtype,
            (stored, None) => {
                let names: Vec<_> = dtypes.iter().map(|dtype| dtype.name()).collect();
                return Err(Error::Usage(format!(
                    "{} holds {stored}, and {STREAM} converts no elements: save it as one of {}",
                    path.display(),
                    names.join(" ")
                )));
            }
            (stored, Some(dtype)) => {
                return Err(Error::Usage(format!(
                    "{} holds {stored}, not {dtype}, and {STREAM} converts no elements: leave {DTYPE} out, or convert \
                     the file",
                    path.display()
                )));
            }
        };
        let elements = bytes / dtype.size() as u64;
        return Ok(Input { path: path.to_owned(), dtype, shape, elements, part: FilePart::new(file, offset, bytes) });
    }
    if crate::input::says_type(path) || path.as_os_str() == crate::input::STANDARD_INPUT {
        let text = format!("{STREAM} reads .npy files and raw elements, not {}: convert it", path.display());
        return Err(Error::Usage(text));
    }
    let dtype = dtype.or(operand.raw).ok_or_else(|| {
        Error::Usage(format!(
            "{} does not say the type of its elements (a .npy file does): give it with {DTYPE}",
            path.display()
        ))
    })?;
    let unreadable = |error: io::Error| Error::input(path, format!("cannot read it: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(Error::input(path, format!("it is no file whose parts can be read: {STREAM} needs one")));
    }
    let (bytes, size) = (about.len(), dtype.size() as u64);
    if !bytes.is_multiple_of(size) {
        return Err(Error::input(
            path,
            format!("{bytes} bytes are no whole number of {dtype} elements of {size} bytes: choose another {DTYPE}"),
        ));
    }
    let elements = bytes / size;
    let part = FilePart::new(file, 0, bytes);
    Ok(Input { path: path.to_owned(), dtype, shape: vec![elements], elements, part })
}

impl Source for Input {
    fn bytes(&self) -> u64 {
        self.part.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        self.part.read_at(offset, into).map_err(named)
    }
}
