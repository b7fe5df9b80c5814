//! Where data comes from: NumPy's files, pictures, tables, text, raw bytes, standard input, or a generator.

use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use file::{file_size, require_fit, unreadable, untyped};
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor::Tensor;
use std::path::Path;
use stored::wrong_type;

mod file;
pub mod generate;
pub mod normal;
pub mod npy;
mod npz;
pub mod picture;
mod replace;
pub mod size;
mod stored;
mod stream;
mod text;
mod write;

pub(crate) use file::has_extension;
pub(crate) use replace::replace_at_positions;
pub use replace::{require_writable, write_text};
pub use stored::{Loaded, Stored};
pub use stream::STANDARD_INPUT;
pub use text::beyond_largest;
pub use write::{number, require_format, require_vector_format, write};

/// Reads a file by the ending of its name: `.npy` and `.npz` by their headers (`data.npz:weights` names one of several
/// arrays), `.png` and `.jpg` as a picture of u8, `.csv` as rows of numbers, `.txt` as numbers between spaces or lines,
/// any other as raw little-endian elements of `dtype`. The u8 of a `.txt` are its bytes. [`STANDARD_INPUT`] is
/// recognised by its first bytes.
///
/// # Errors
/// [`Error::Input`] for a file that can't be read or used; [`Error::Usage`] when `dtype` is missing or contradicts the
/// file, or when the file is larger than this machine's memory.
pub fn load(path: &Path, dtype: Option<Dtype>) -> Result<Loaded> {
    let loaded = load_any(path, dtype)?;
    match dtype {
        Some(dtype) if !loaded.stored.widens_to(dtype) => Err(wrong_type(&loaded.name, loaded.stored, dtype)),
        _ => Ok(loaded),
    }
}

fn load_any(path: &Path, dtype: Option<Dtype>) -> Result<Loaded> {
    let name = path.display().to_string();
    if path.as_os_str() == STANDARD_INPUT {
        return stream::read(dtype);
    }
    if let Some((file, array)) = npz::split(path) {
        return npz::read(&file, Some(&array));
    }
    if has_extension(path, "npz") {
        return npz::read(path, None);
    }
    if has_extension(path, "npy") {
        return npy::read(path);
    }
    if has_extension(path, "csv") {
        let dtype = dtype.unwrap_or(Dtype::F32);
        let (tensor, notes) = text::table(path, &text::of_file(path, dtype)?, dtype)?;
        return Ok(Loaded { notes, ..Loaded::new(name, tensor) });
    }
    if has_extension(path, "txt") && dtype != Some(Dtype::U8) {
        let dtype = dtype.unwrap_or(Dtype::F32);
        return Ok(Loaded::new(name, text::vector(path, &text::of_file(path, dtype)?, dtype)?));
    }
    if picture::is_picture(path) {
        return picture::read(path);
    }
    let dtype = dtype.ok_or_else(|| {
        Error::Usage(format!(
            "{} does not say the type of its elements (.npy, .npz, .csv, .txt, .png and .jpg files do): give it with \
             {DTYPE}",
            path.display()
        ))
    })?;
    Ok(Loaded::new(name, raw(path, dtype)?.into()))
}

/// Reads a file as [`load`] does, with its elements as `dtype`, or in the closest type of arrays on the host.
///
/// # Errors
/// Those of [`load`].
pub fn read(path: &Path, dtype: Option<Dtype>) -> Result<Tensor> {
    let loaded = load(path, dtype)?;
    match dtype {
        // The bytes of a picture are numbers from 0 to 255.
        Some(dtype) => loaded.convert(dtype).map(|(tensor, _)| tensor),
        None => Ok(loaded.into_tensor().0),
    }
}

/// Whether the file's format includes the type of its elements, or is one of numbers.
pub fn says_type(path: &Path) -> bool {
    ["npy", "npz", "csv"].iter().any(|known| has_extension(path, known))
        || picture::is_picture(path)
        || npz::split(path).is_some()
}

fn raw(path: &Path, dtype: Dtype) -> Result<Array> {
    require_fit(path, file_size(path)?.saturating_mul(2))?;
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    untyped(path, bytes, dtype)
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
