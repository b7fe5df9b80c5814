//! Standard input, whose format is recognised by its first bytes.

use super::file::untyped;
use super::stored::Loaded;
use super::{npy, npz, picture, text};
use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::backend::require_host_memory;
use rustwarp::element::{Array, Dtype};
use std::io::{Cursor, Read};
use std::path::Path;

/// The name of standard input in place of a file.
pub const STANDARD_INPUT: &str = "-";

/// Bytes that are read before the machine's memory is asked for again.
const PIECE: usize = 64 << 20;

/// Reads all of standard input.
pub(super) fn read(dtype: Option<Dtype>) -> Result<Loaded> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock();
    loop {
        // Room for what is there, for its elements, and for the next piece.
        let needed = 2 * bytes.len() as u64 + PIECE as u64;
        require_host_memory(needed, "reading standard input", "use a smaller file")?;
        let piece = input.by_ref().take(PIECE as u64).read_to_end(&mut bytes);
        let piece = piece.map_err(|error| Error::input("standard input", format!("cannot read it: {error}")))?;
        if piece < PIECE {
            return of_bytes(Path::new("standard input"), bytes, dtype);
        }
    }
}

/// Interprets bytes: NumPy's files and pictures by their first bytes, the bytes themselves for u8, other text as
/// numbers, and anything else as raw elements.
fn of_bytes(name: &Path, bytes: Vec<u8>, dtype: Option<Dtype>) -> Result<Loaded> {
    if bytes.starts_with(npy::MAGIC) {
        let size = bytes.len() as u64;
        return npy::read_from(name, &mut bytes.as_slice(), size);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return npz::read_from(name, Cursor::new(bytes), None);
    }
    if bytes.starts_with(b"\x89PNG") || bytes.starts_with(b"\xff\xd8\xff") {
        return picture::read_from(name, || Ok(Cursor::new(bytes.as_slice())));
    }
    let label = name.display().to_string();
    if dtype == Some(Dtype::U8) {
        return Ok(Loaded::new(label, Array::Bytes(Dtype::U8, bytes).into()));
    }
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    match (std::str::from_utf8(&bytes), dtype) {
        (Ok(text), dtype) if is_text => Ok(Loaded::new(label, text::vector(name, text, dtype.unwrap_or(Dtype::F32))?)),
        (_, Some(dtype)) => Ok(Loaded::new(label, untyped(name, bytes, dtype)?.into())),
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
        of_bytes(Path::new("standard input"), bytes.to_vec(), dtype).map(|loaded| loaded.into_tensor().0.into_data())
    }

    #[test]
    fn formats_are_recognised() {
        let array = Array::I32(vec![1, -2]);
        let npy = npy::bytes(&Tensor::from(array.clone())).expect("a type of NumPy");
        assert_eq!(read(&npy, None).expect("a .npy"), array);
        assert_eq!(read(b"1 2,3\n", None).expect("text"), Array::F32(vec![1.0, 2.0, 3.0]));
        assert_eq!(read(b"1 2,3\n", Some(Dtype::U64)).expect("text"), Array::U64(vec![1, 2, 3]));
        assert_eq!(read(b"1 2", Some(Dtype::U8)).expect("bytes"), Array::Bytes(Dtype::U8, b"1 2".to_vec()));
        assert_eq!(read(&[0, 0, 128, 63], Some(Dtype::F32)).expect("raw"), Array::F32(vec![1.0]));
        assert!(read(&[0, 0, 128, 63], None).expect_err("no type").to_string().contains("--dtype"));
        assert!(read(&[0, 0, 128], Some(Dtype::F32)).is_err());
        assert!(read(b"PK\x03\x04", None).is_err() && read(b"\x89PNG", None).is_err());
    }
}
