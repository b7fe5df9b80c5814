//! Where data comes from: a `.npy` file, a picture, a file of raw bytes or text, or a generator.

use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::backend::require_host_memory;
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor::Tensor;
use std::path::Path;

pub mod generate;
pub mod npy;
pub mod picture;
mod replace;
pub mod size;

pub use replace::{require_writable, write_text};

/// Reads a file: `.npy` by its header, `.png` and `.jpg` as a picture of u8, `.txt` as numbers between spaces or lines,
/// any other as raw little-endian elements of `dtype`. The u8 of a `.txt` are its bytes.
///
/// # Errors
/// [`Error::Input`] for a file that can't be read or used; [`Error::Usage`] when `dtype` is missing or contradicts the
/// file, or when the file is larger than this machine's memory.
pub fn read(path: &Path, dtype: Option<Dtype>) -> Result<Tensor> {
    if has_extension(path, "npy") {
        let array = npy::read(path)?;
        return match dtype {
            Some(dtype) if dtype != array.dtype() => Err(Error::Usage(format!(
                "{} holds {}, not {dtype}: leave {DTYPE} out, or convert the file",
                path.display(),
                array.dtype()
            ))),
            _ => Ok(array),
        };
    }
    if has_extension(path, "txt") && dtype != Some(Dtype::U8) {
        return Ok(text(path, dtype.unwrap_or(Dtype::F32))?.into());
    }
    if picture::is_picture(path) {
        return picture::read(path);
    }
    let dtype = dtype.ok_or_else(|| {
        Error::Usage(format!("{} is not a .npy file: give the type of its elements with {DTYPE}", path.display()))
    })?;
    Ok(raw(path, dtype)?.into())
}

/// Whether the file's format includes the type of its elements.
pub fn says_type(path: &Path) -> bool {
    has_extension(path, "npy") || picture::is_picture(path)
}

/// Whether the file's name has this extension, in lower or upper case.
fn has_extension(path: &Path, known: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known))
}

/// Writes a file: `.png` and `.jpg` as a picture, any other as `.npy`.
///
/// # Errors
/// Those of [`npy::write`] and [`picture::write`].
pub fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    if picture::is_picture(path) { picture::write(path, tensor) } else { npy::write(path, tensor) }
}

fn raw(path: &Path, dtype: Dtype) -> Result<Array> {
    require_fit(path, file_size(path)?.saturating_mul(2))?;
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    if bytes.len() % dtype.size() != 0 {
        return Err(Error::input(
            path,
            format!("{} bytes are no whole number of {dtype} elements of {} bytes", bytes.len(), dtype.size()),
        ));
    }
    let mut array = Array::zeros(dtype, bytes.len() / dtype.size());
    array.bytes_mut().copy_from_slice(&bytes);
    Ok(array)
}

fn text(path: &Path, dtype: Dtype) -> Result<Array> {
    // Memory is needed for the text, and for at most one element per two characters.
    let size = file_size(path)?;
    require_fit(path, size.saturating_add((size / 2).saturating_mul(dtype.size() as u64)))?;
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    rustwarp::with_dtype!(dtype, T => {
        let values: std::result::Result<Vec<T>, _> = words
            .map(|word| word.parse::<T>().map_err(|_| Error::input(path, format!("'{word}' is no {dtype}"))))
            .collect();
        Ok(<T as rustwarp::element::Scalar>::wrap(values?))
    }, else => Err(Error::input(path, format!("text holds f32 f64 i32 u32 i64 u64, not {dtype}: use a .npy or raw \
        file"))))
}

/// Size of a file in bytes. A folder is an error here, since it can be opened and only reading it fails.
fn file_size(path: &Path) -> Result<u64> {
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if about.is_dir() {
        return Err(Error::input(path, "it is a folder: name a file in it"));
    }
    Ok(about.len())
}

/// Checks that the data fits in memory before anything is allocated: a failed allocation would end the process.
fn require_fit(path: &Path, bytes: u64) -> Result<()> {
    Ok(require_host_memory(bytes, &format!("reading {}", path.display()), "use a smaller file")?)
}

/// The error for a file that the operating system cannot read.
fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::input(path, format!("cannot read it: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bytes_and_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let (bin, txt) = (folder.path().join("x.bin"), folder.path().join("x.txt"));
        std::fs::write(&bin, [1, 0, 0, 0, 255, 255, 255, 255]).expect("written");
        std::fs::write(&txt, "1.5 nan\n-inf,2").expect("written");
        assert_eq!(read(&bin, Some(Dtype::I32)).expect("read"), Array::I32(vec![1, -1]).into());
        assert!(matches!(read(&bin, None), Err(Error::Usage(_))));
        assert_eq!(read(&bin, Some(Dtype::U8)).expect("read").len(), 8);
        let Ok(Array::F32(values)) = read(&txt, None).map(Tensor::into_data) else { panic!("f32") };
        assert_eq!((values.len(), values[0], values[2]), (4, 1.5, f32::NEG_INFINITY));
        assert!(values[1].is_nan());
        assert!(matches!(read(&txt, Some(Dtype::I32)), Err(Error::Input { .. })));
        assert_eq!(read(&txt, Some(Dtype::U8)).expect("read").into_data().bytes(), b"1.5 nan\n-inf,2");
        std::fs::write(&bin, [1, 2, 3]).expect("written");
        assert!(matches!(read(&bin, Some(Dtype::I32)), Err(Error::Input { .. })));
        assert!(matches!(read(&folder.path().join("missing.npy"), None), Err(Error::Input { .. })));
        // The extension may be in upper case.
        let (npy, txt) = (folder.path().join("X.NPY"), folder.path().join("X.TXT"));
        write(&npy, &Array::I32(vec![7]).into()).expect("written");
        std::fs::write(&txt, "1.5").expect("written");
        assert_eq!(read(&npy, None).expect("an array"), Array::I32(vec![7]).into());
        assert_eq!(read(&txt, None).expect("numbers"), Array::F32(vec![1.5]).into());
        assert!(says_type(&npy) && !says_type(&txt));
    }
}
