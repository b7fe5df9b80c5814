//! Standard input, whose format is recognised by its first bytes.

use super::file::{require_fit, unreadable, untyped};
use super::stored::Loaded;
use super::{npy, npz, picture, text};
use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::element::{Array, Dtype};
use std::io::{Cursor, Read};
use std::path::Path;

/// The name of standard input in place of a file.
pub const STANDARD_INPUT: &str = "-";

/// Bytes that are read before the machine's memory is asked for again.
const PIECE: usize = 64 << 20;

/// How `--input` names an archive whose array it chooses.
const ARCHIVE: &str = "a file, as in data.npz";

/// Reads all of standard input.
pub(super) fn read(dtype: Option<Dtype>) -> Result<Loaded> {
    let name = Path::new("standard input");
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock();
    loop {
        // Room for the next piece, and for a copy of what is there, which a growing vector makes.
        let needed = bytes.len() as u64 + PIECE as u64;
        require_fit(name, needed)?;
        let piece = input.by_ref().take(PIECE as u64).read_to_end(&mut bytes);
        let piece = piece.map_err(|error| unreadable(name, &error))?;
        if piece < PIECE {
            return of_bytes(name, bytes, dtype, &|room| require_fit(name, room));
        }
    }
}

/// Interprets bytes: NumPy's files and pictures by their first bytes, the bytes themselves for u8, other text as a
/// table of comma-separated values or as numbers, and anything else as raw elements. `fit` checks that memory is free
/// for this many further bytes.
fn of_bytes(name: &Path, bytes: Vec<u8>, dtype: Option<Dtype>, fit: &dyn Fn(u64) -> Result<()>) -> Result<Loaded> {
    let size = bytes.len() as u64;
    if bytes.starts_with(npy::MAGIC) {
        return npy::read_from(name, &mut bytes.as_slice(), size);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return npz::read_from(name, Cursor::new(bytes), None, ARCHIVE);
    }
    if bytes.starts_with(b"\x89PNG") || bytes.starts_with(b"\xff\xd8\xff") {
        return picture::read_from(name, || Ok(Cursor::new(bytes.as_slice())));
    }
    let label = name.display().to_string();
    if dtype == Some(Dtype::U8) {
        return Ok(Loaded::new(label, Array::U8(bytes).into()));
    }
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    match (std::str::from_utf8(&bytes), dtype) {
        (Ok(text), dtype) if is_text => {
            let dtype = dtype.unwrap_or(Dtype::F32);
            fit(text::room(size, dtype))?;
            if text::is_table(text) {
                let (tensor, notes) = text::table(name, text, dtype)?;
                return Ok(Loaded { notes, ..Loaded::new(label, tensor) });
            }
            Ok(Loaded::new(label, text::vector(name, text, dtype)?))
        }
        (_, Some(dtype)) => {
            fit(size)?;
            Ok(Loaded::new(label, untyped(name, bytes, dtype)?.into()))
        }
        (_, None) => Err(Error::Usage(format!(
            "standard input has raw bytes: give the type of its elements with {DTYPE}, or send a .npy file"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::tensor::Tensor;

    fn read(bytes: &[u8], dtype: Option<Dtype>) -> Result<Array> {
        let loaded = of_bytes(Path::new("standard input"), bytes.to_vec(), dtype, &|_| Ok(()));
        loaded.map(|loaded| loaded.into_tensor().0.into_data())
    }

    /// Text as 8-byte numbers takes four times its own size: one digit and one space each.
    #[test]
    fn elements_that_do_not_fit_in_memory_are_refused() {
        let text: &[u8] = b"1 2 3 4 5";
        for (bytes, dtype, room) in [
            (text, Some(Dtype::U64), 40),
            (text, Some(Dtype::F64), 40),
            (text, None, 20),
            (&[0, 0, 128, 63], Some(Dtype::F32), 4),
        ] {
            let name = Path::new("standard input");
            let fit = |free| move |needed| require(needed, free);
            assert!(of_bytes(name, bytes.to_vec(), dtype, &fit(room)).is_ok(), "{dtype:?}");
            assert!(matches!(of_bytes(name, bytes.to_vec(), dtype, &fit(room - 1)), Err(Error::Usage(_))), "{dtype:?}");
        }
    }

    fn require(needed: u64, free: u64) -> Result<()> {
        if needed <= free { Ok(()) } else { Err(Error::Usage(format!("{needed} bytes are needed, {free} are free"))) }
    }

    #[test]
    fn formats_are_recognised() {
        let array = Array::I32(vec![1, -2]);
        let npy = npy::bytes(&Tensor::from(array.clone())).expect("a type of NumPy");
        assert_eq!(read(&npy, None).expect("a .npy"), array);
        assert_eq!(read(b"1 2,3\n", None).expect("text"), Array::F32(vec![1.0, 2.0, 3.0]));
        assert_eq!(read(b"1 2,3\n", Some(Dtype::U64)).expect("text"), Array::U64(vec![1, 2, 3]));
        assert_eq!(read(b"x,y\n1,2\n3,4\n", None).expect("a table"), Array::F32(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(read(b"1 2", Some(Dtype::U8)).expect("bytes"), Array::U8(b"1 2".to_vec()));
        assert_eq!(read(&[0, 0, 128, 63], Some(Dtype::F32)).expect("raw"), Array::F32(vec![1.0]));
        assert!(read(&[0, 0, 128, 63], None).expect_err("no type").to_string().contains("--dtype"));
        assert!(read(&[0, 0, 128], Some(Dtype::F32)).is_err());
        assert!(read(b"PK\x03\x04", None).is_err() && read(b"\x89PNG", None).is_err());
    }
}
