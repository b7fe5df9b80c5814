//! Results as files, in the format that the file's name says.

use super::file::has_extension;
use super::replace::{is_special, replace};
use super::{npy, picture};
use crate::error::{Error, Result};
use rustwarp::element::{Array, Dtype, Scalar, Value};
use rustwarp::tensor::{Tensor, text};
use std::io::Write;
use std::path::Path;

/// The format of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Npy,
    Csv,
    Text,
    Json,
    Raw,
    Picture,
}

/// The endings of names that [`write()`] accepts.
const ENDINGS: &str = ".npy, .csv, .txt, .json, .bin (raw elements), .png, .jpg";

impl Format {
    /// The format that the name says; `.npy` for a name without an ending, and for a device or a pipe.
    fn of(path: &Path) -> Result<Self> {
        let known = [("npy", Self::Npy), ("csv", Self::Csv), ("txt", Self::Text), ("json", Self::Json)];
        let known = known.into_iter().chain([("bin", Self::Raw), ("raw", Self::Raw)]);
        match known.into_iter().find(|(ending, _)| has_extension(path, ending)) {
            Some((_, format)) => Ok(format),
            None if picture::is_picture(path) => Ok(Self::Picture),
            None if path.extension().is_none() || is_special(path) => Ok(Self::Npy),
            None => Err(Error::Usage(format!(
                "{} names no format for a result: let the name end in {ENDINGS}",
                path.display()
            ))),
        }
    }
}

/// Checks that the file's name says a format, before there is a result.
///
/// # Errors
/// [`Error::Usage`] for a name that says no format.
pub fn require_format(path: &Path) -> Result<()> {
    Format::of(path).map(|_| ())
}

/// Checks that [`write()`] can write a vector to a file of this name, before there is one; `what` names it in the
/// error. Without its type, only the name and the shape are checked.
///
/// # Errors
/// [`Error::Usage`] for a name that says no format, for a picture, and for a type that the format lacks.
pub fn require_vector_format(path: &Path, what: &str, dtype: Option<Dtype>) -> Result<()> {
    match (Format::of(path)?, dtype) {
        (Format::Picture, _) => {
            Err(Error::Usage(format!("{what} is not a picture, which {} would be: use a .npy file", path.display())))
        }
        (Format::Npy, Some(dtype)) if npy::descr(dtype).is_none() => {
            Err(Error::Usage(format!("NumPy has no {dtype}: write {} as .bin", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes an array in the format that the file's name says: `.npy`, `.csv` and `.txt` (one row per line), `.json`
/// (nested lists), `.bin` and `.raw` (little-endian elements), `.png` and `.jpg`. An existing file is replaced once all
/// bytes are written.
///
/// # Errors
/// [`Error::Usage`] for a name that says no format, and for a result that the format cannot hold; [`Error::Write`], and
/// no file is left behind then.
pub fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    let lines = |separator| {
        let text = rows(path, tensor, separator)?;
        replace(path, |out| out.write_all(text.as_bytes()))
    };
    match Format::of(path)? {
        Format::Npy => npy::write(path, tensor),
        Format::Picture => picture::write(path, tensor),
        Format::Raw => replace(path, |out| out.write_all(tensor.data().bytes())),
        Format::Csv => lines(","),
        Format::Text => lines(" "),
        Format::Json => {
            let mut values = words(tensor).into_iter().map(|word| match word.parse::<f64>() {
                Ok(x) if x.is_finite() => word,
                // JSON has neither NaN nor infinities.
                _ => format!("\"{word}\""),
            });
            let text = nested(tensor.shape(), &mut values) + "\n";
            replace(path, |out| out.write_all(text.as_bytes()))
        }
    }
}

/// The rows of a vector or a matrix, one per line.
fn rows(path: &Path, tensor: &Tensor, separator: &str) -> Result<String> {
    let columns = match *tensor.shape() {
        [] | [_] => 1,
        [_, columns] => columns.max(1),
        ref other => {
            return Err(Error::Usage(format!(
                "{} cannot hold a result of shape {}, which has more than two axes: use .npy or .json",
                path.display(),
                text(other)
            )));
        }
    };
    let words = words(tensor);
    Ok(words.chunks(columns).map(|row| row.join(separator) + "\n").collect())
}

/// The elements as text that reads back to the same bits.
fn words(tensor: &Tensor) -> Vec<String> {
    fn all<T: Scalar>(values: &[T], narrow: bool) -> Vec<String> {
        values.iter().map(|value| number(value.value(), narrow)).collect()
    }
    match tensor.data() {
        Array::F32(values) => all(values, true),
        Array::F64(values) => all(values, false),
        Array::I32(values) => all(values, false),
        Array::U32(values) => all(values, false),
        Array::I64(values) => all(values, false),
        Array::U64(values) => all(values, false),
        Array::U8(values) => all(values, false),
        Array::F16(values) => all(values, true),
        Array::I8(values) => all(values, false),
        Array::Bf16(values) => all(values, true),
        Array::F8(values) => all(values, true),
    }
}

/// A number with the fewest digits that read back to the same bits: those of an f32 if it is `narrow`.
pub fn number(value: Value, narrow: bool) -> String {
    match value {
        Value::Float(x) if narrow && f64::from(x as f32) == x => (x as f32).to_string(),
        other => other.to_string(),
    }
}

/// Nested lists of the shape.
fn nested(shape: &[usize], values: &mut impl Iterator<Item = String>) -> String {
    match shape {
        [] => values.next().unwrap_or_default(),
        [n, rest @ ..] => {
            let items: Vec<_> = (0..*n).map(|_| nested(rest, values)).collect();
            format!("[{}]", items.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, tensor: &Tensor) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        write(&path, tensor).map(|()| std::fs::read(path).expect("the file"))
    }

    #[test]
    fn a_file_is_what_its_name_says() {
        let matrix = Tensor::new(&[2, 2], Array::F32(vec![3.65, f32::NAN, -0.0, f32::INFINITY])).expect("a matrix");
        let text = |name| String::from_utf8(written(name, &matrix).expect("written")).expect("text");
        assert_eq!(text("x.csv"), "3.65,NaN\n-0,inf\n");
        assert_eq!(text("x.txt"), "3.65 NaN\n-0 inf\n");
        assert_eq!(text("x.json"), "[[3.65,\"NaN\"],[-0,\"inf\"]]\n");
        assert_eq!(written("x.bin", &matrix).expect("written"), matrix.data().bytes());
        for name in ["x.npy", "x.NPY", "x"] {
            assert!(written(name, &matrix).expect("written").starts_with(npy::MAGIC), "{name}");
        }
        let vector = Tensor::from(Array::I32(vec![1, -2]));
        assert_eq!(written("x.csv", &vector).expect("written"), b"1\n-2\n");
        let half = Tensor::from(Array::Bf16(vec![half::bf16::ONE]));
        assert_eq!(written("x.json", &half).expect("written"), b"[1]\n");
    }

    #[test]
    fn other_names_and_shapes_are_refused() {
        let cube = Tensor::new(&[1, 1, 1], Array::I32(vec![1])).expect("a cube");
        for (name, words) in [("x.xyz", ".npy, .csv"), ("x.svg", ".json"), ("x.csv", "two axes")] {
            let error = written(name, &cube).expect_err("refused").to_string();
            assert!(error.contains(name) && error.contains(words), "{error}");
        }
        assert_eq!(written("x.json", &cube).expect("written"), b"[[[1]]]\n");
        let vector = |name| require_vector_format(Path::new(name), "the result", Some(Dtype::Bf16));
        assert!(vector("x.npy").is_err() && vector("x.png").is_err() && vector("x.xyz").is_err());
        assert!(vector("x.bin").is_ok() && vector("x.csv").is_ok());
        assert!(require_vector_format(Path::new("x.npy"), "the result", Some(Dtype::F16)).is_ok());
        assert!(require_format(Path::new("/dev/null")).is_ok() && require_format(Path::new("x.xyz")).is_err());
    }
}
