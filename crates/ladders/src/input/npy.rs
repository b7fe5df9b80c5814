//! Reading and writing NumPy's `.npy` format (NumPy Enhancement Proposal 1; versions 1.0, 2.0 and 3.0).
//!
//! By hand, because a crate costs more than the format: for the one-line header, npyz 0.9.1 and ndarray-npy 0.10.0 use
//! py_literal and pest, which bring 16 and 18 further packages, one of them (psm) assembly code for a C compiler.

use super::file::{file_size, require_fit, unreadable};
use super::replace::replace;
use super::stored::{Loaded, Stored};
use crate::error::{Error, Result};
use rustwarp::element::Dtype;
use rustwarp::tensor::Tensor;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// The first bytes of every file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Reads an array with its shape.
///
/// # Errors
/// [`Error::Input`] for an unsupported file, with the command that converts it: big-endian, Fortran order, other types,
/// truncated, with bytes after the array, or not `.npy`; [`Error::Usage`] for an array that is larger than this
/// machine's memory.
pub fn read(path: &Path) -> Result<Loaded> {
    let size = file_size(path)?;
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    read_from(path, &mut file, size)
}

/// An array in a file, for reading parts of it.
#[derive(Debug)]
pub struct NpyFile {
    /// Type of the elements in the file.
    pub stored: Stored,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Place in the file of the first element.
    pub offset: u64,
    /// Bytes of the elements.
    pub bytes: u64,
    /// The file.
    pub file: File,
}

/// Opens an array without reading its elements.
///
/// # Errors
/// [`Error::Input`] as [`read`] has it.
pub fn open(path: &Path) -> Result<NpyFile> {
    let size = file_size(path)?;
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let Layout { stored, shape, offset, bytes, .. } = layout(path, &mut file, size, |_| Ok(()))?;
    Ok(NpyFile { stored, shape, offset, bytes, file })
}

/// Where the elements are in a file, and what they are.
struct Layout {
    stored: Stored,
    shape: Vec<u64>,
    offset: u64,
    bytes: u64,
}

/// Reads the header of a source of `size` bytes, which errors name `path`; `fit` gets the bytes that the array takes in
/// memory, before what follows it is judged.
fn layout(path: &Path, source: &mut impl Read, size: u64, fit: impl FnOnce(u64) -> Result<()>) -> Result<Layout> {
    let wrong = |reason: String| Error::input(path, reason);
    let (text, offset) = header_text(source).map_err(wrong)?;
    let header = Header::parse(&text).map_err(wrong)?;
    let stored = header.stored().map_err(wrong)?;
    if header.fortran && header.shape.len() > 1 {
        return Err(wrong("it is in Fortran order: save it with np.save(f, np.ascontiguousarray(x))".into()));
    }
    let len = header.shape.iter().try_fold(1_u64, |product, &n| product.checked_mul(n));
    let bytes = len.and_then(|len| len.checked_mul(stored.size() as u64));
    let (Some(len), Some(bytes)) = (len, bytes) else {
        return Err(wrong(format!("its shape {:?} has more elements than 64 bits can count", header.shape)));
    };
    let there = size.saturating_sub(offset);
    if there < bytes {
        return Err(wrong(format!("it is truncated: {bytes} bytes of data expected, {there} there; save it again")));
    }
    fit(bytes.saturating_add(len.saturating_mul(stored.size_on_host() as u64)))?;
    if there > bytes {
        let more = there - bytes;
        return Err(wrong(format!(
            "{more} bytes follow the array of shape {:?}: it is damaged, or several arrays were appended; save each \
             with np.save, or all with np.savez",
            header.shape
        )));
    }
    Ok(Layout { stored, shape: header.shape, offset, bytes })
}

/// Reads an array from a source of `size` bytes, which errors name `path`.
pub(super) fn read_from(path: &Path, source: &mut impl Read, size: u64) -> Result<Loaded> {
    let Layout { stored, shape, bytes, .. } = layout(path, source, size, |room| require_fit(path, room))?;
    let mut data = vec![0; bytes as usize];
    source.read_exact(&mut data).map_err(|error| unreadable(path, &error))?;
    let shape: Vec<_> = shape.iter().map(|&n| n as usize).collect();
    let tensor = Tensor::new(&shape, stored.array(data))?;
    Ok(Loaded { stored, ..Loaded::new(path.display().to_string(), tensor) })
}

/// Writes an array with its shape. An existing file is replaced once all bytes are written.
///
/// # Errors
/// [`Error::Write`], and no file is left behind then; [`Error::Usage`] for a type that NumPy lacks.
pub fn write(path: &Path, array: &Tensor) -> Result<()> {
    let header = header_of(array)
        .ok_or_else(|| Error::Usage(format!("NumPy has no {}: write {} as .bin", array.dtype(), path.display())))?;
    replace(path, |out| {
        out.write_all(&header)?;
        out.write_all(array.data().bytes())
    })
}

/// The file of an array; `None` for a type that NumPy lacks.
#[cfg(test)]
pub(super) fn bytes(array: &Tensor) -> Option<Vec<u8>> {
    Some([header_of(array)?.as_slice(), array.data().bytes()].concat())
}

/// The bytes of a file before its elements; `None` for a type that NumPy lacks.
pub(crate) fn header(dtype: Dtype, shape: &[usize]) -> Option<Vec<u8>> {
    Some(header_bytes(descr(dtype)?, shape))
}

fn header_of(array: &Tensor) -> Option<Vec<u8>> {
    header(array.dtype(), array.shape())
}

/// NumPy's name for a type; bf16 and f8 have none.
pub fn descr(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        Dtype::I32 => "<i4",
        Dtype::U32 => "<u4",
        Dtype::I64 => "<i8",
        Dtype::U64 => "<u8",
        Dtype::U8 => "|u1",
        Dtype::F16 => "<f2",
        Dtype::I8 => "|i1",
        Dtype::Bf16 | Dtype::F8 => return None,
    })
}

/// Magic, version 1.0, and the dictionary, padded so that the data starts at a multiple of 64.
fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    // Python's tuples: `()`, `(3,)`, `(2, 3)`.
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape: Vec<_> = shape.iter().map(usize::to_string).collect();
    let shape = shape.join(", ") + comma;
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// Reads the dictionary's text, and the offset of the data.
fn header_text(file: &mut impl Read) -> Result<(String, u64), String> {
    let cut = |_| "it ends inside its header: it is truncated, or not a .npy file".to_owned();
    let mut start = [0; 8];
    file.read_exact(&mut start).map_err(cut)?;
    if &start[..6] != MAGIC {
        return Err("it is not a .npy file (it does not start with NumPy's magic bytes): save it with np.save".into());
    }
    let (length, before) = match start[6] {
        1 => {
            let mut length = [0; 2];
            file.read_exact(&mut length).map_err(cut)?;
            (u32::from(u16::from_le_bytes(length)), 10)
        }
        2 | 3 => {
            let mut length = [0; 4];
            file.read_exact(&mut length).map_err(cut)?;
            (u32::from_le_bytes(length), 12)
        }
        version => return Err(format!("it has .npy version {version}.{}; versions 1 to 3 are supported", start[7])),
    };
    // NumPy rejects headers of more than 10 000 bytes by default; real ones have about a hundred.
    if length > 1 << 16 {
        return Err(format!("its header claims {length} bytes: it is damaged"));
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text).map_err(cut)?;
    let text = String::from_utf8(text).map_err(|_| "its header is not text: it is damaged".to_owned())?;
    Ok((text, before + u64::from(length)))
}

/// The header's dictionary.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads the three keys; NumPy writes them as a Python literal.
    fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let start = text.find(&format!("'{key}':")).ok_or(format!("its header has no '{key}': it is damaged"))?;
            Ok::<_, String>(text[start + key.len() + 3..].trim_start())
        };
        let descr = value("descr")?;
        if descr.starts_with('[') {
            return Err("it is a structured array: save one field of it".into());
        }
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let fortran = value("fortran_order")?;
        let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (Some((descr, _)), Some((shape, _))) = (descr, shape) else {
            return Err("its header can't be read: it is damaged".into());
        };
        let numbers = shape.split(',').map(str::trim).filter(|number| !number.is_empty());
        let shape = numbers.map(|n| n.trim_end_matches('L').parse());
        Ok(Self {
            descr: descr.to_owned(),
            fortran: fortran.starts_with("True"),
            shape: shape
                .collect::<Result<_, _>>()
                .map_err(|_| "its header has a shape that is not made of numbers".to_owned())?,
        })
    }

    /// The type of the elements, if it is a supported one.
    fn stored(&self) -> Result<Stored, String> {
        let native = if cfg!(target_endian = "big") { "big" } else { "little" };
        let (order, kind) = match self.descr.chars().next() {
            Some(order @ ('<' | '>' | '=' | '|')) => (order, &self.descr[1..]),
            _ => ('=', self.descr.as_str()),
        };
        let stored = match kind {
            "f4" => Dtype::F32.into(),
            "f8" => Dtype::F64.into(),
            "i4" => Dtype::I32.into(),
            "u4" => Dtype::U32.into(),
            "i8" => Dtype::I64.into(),
            "u8" => Dtype::U64.into(),
            "u1" => Dtype::U8.into(),
            "f2" => Dtype::F16.into(),
            // `ml_dtypes` saves bf16 and f8 as bytes without a type, and newer versions by their names.
            "V2" | "bfloat16" => Dtype::Bf16.into(),
            "i1" => Dtype::I8.into(),
            "V1" | "float8_e4m3fn" => Dtype::F8.into(),
            "i2" => Stored::I16,
            "u2" => Stored::U16,
            "b1" | "?" => Stored::Bool,
            kind if kind.starts_with('O') => {
                return Err("it holds Python objects: convert it with x.astype('f4')".into());
            }
            _ => {
                return Err(format!(
                    "it holds '{}', which is none of f4 f8 f2 i1 i2 i4 i8 u1 u2 u4 u8 b1 and bfloat16: convert it with \
                     x.astype('f4')",
                    self.descr
                ));
            }
        };
        if stored.size() > 1 && (order == '>' || native == "big") {
            return Err("it is big-endian: convert it with x.astype(x.dtype.newbyteorder('<'))".into());
        }
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Array;

    fn read(path: &Path) -> Result<Tensor> {
        super::read(path).map(|loaded| loaded.into_tensor().0)
    }

    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        save(&bytes)
    }

    fn save(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npy");
        std::fs::write(&path, bytes).expect("written");
        (folder, path)
    }

    fn refusal(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> String {
        let (_folder, path) = file(descr, fortran, shape, data);
        read(&path).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_written_reads_back() {
        let arrays = [
            Array::F32(vec![1.5, f32::NAN, -0.0]),
            Array::F64(vec![]),
            Array::I32(vec![i32::MIN]),
            Array::U32(vec![7; 100]),
            Array::I64(vec![-1]),
            Array::U64(vec![u64::MAX]),
            Array::U8(vec![1, 2, 3]),
            Array::F16(vec![half::f16::ONE]),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        for array in arrays {
            let path = folder.path().join("x.npy");
            let tensor = Tensor::from(array);
            write(&path, &tensor).expect("written");
            let again = read(&path).expect("read");
            assert_eq!(again.shape(), tensor.shape());
            assert_eq!((again.dtype(), again.data().bytes()), (tensor.dtype(), tensor.data().bytes()));
            assert_eq!(header_bytes("<f4", tensor.shape()).len() % 64, 0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
    }

    #[test]
    fn shapes() {
        let i32s = |shape: &[usize], data: &[i32]| Tensor::new(shape, Array::I32(data.to_vec())).expect("a shape");
        let (_folder, path) = file("'<i4'", "False", "(2, 1)", &[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(read(&path).expect("read"), i32s(&[2, 1], &[1, 2]));
        let (_folder, path) = file("'<i4'", "True", "()", &[3, 0, 0, 0]);
        assert_eq!(read(&path).expect("read"), i32s(&[], &[3]));
        let (_folder, path) = file("'<i4'", "True", "(1,)", &[3, 0, 0, 0]);
        assert_eq!(read(&path).expect("one dimension is in both orders"), i32s(&[1], &[3]));
        for (shape, text) in [(&[][..], "()"), (&[3], "(3,)"), (&[2, 3], "(2, 3)")] {
            assert!(String::from_utf8(header_bytes("<i4", shape)[10..].to_vec()).expect("text").contains(text));
        }
    }

    #[test]
    fn narrow_types_are_read() {
        for (descr, data, stored, expected) in [
            ("'|i1'", &[0xff, 1][..], Dtype::I8.into(), Array::I8(vec![-1, 1])),
            ("'<i2'", &[0xff, 0xff], Stored::I16, Array::I32(vec![-1])),
            ("'<u2'", &[0xff, 0xff], Stored::U16, Array::U32(vec![65535])),
            ("'|b1'", &[1, 0], Stored::Bool, Array::U32(vec![1, 0])),
            ("'<V2'", &[0x80, 0x3f], Dtype::Bf16.into(), Array::Bf16(vec![half::bf16::ONE])),
            ("'float8_e4m3fn'", &[0x38], Dtype::F8.into(), Array::F8(vec![float8::F8E4M3::ONE])),
            ("'|V1'", &[0xb8], Dtype::F8.into(), Array::F8(vec![float8::F8E4M3::NEG_ONE])),
            ("'bfloat16'", &[0x80, 0x3f], Dtype::Bf16.into(), Array::Bf16(vec![half::bf16::ONE])),
        ] {
            let n = data.len() / stored.size();
            let (_folder, path) = file(descr, "False", &format!("({n},)"), data);
            let loaded = super::read(&path).expect("read");
            assert_eq!((loaded.stored, loaded.into_tensor().0), (stored, expected.into()), "{descr}");
        }
        assert!(refusal("'>u2'", "False", "(1,)", &[0; 2]).contains("big-endian"));
    }

    #[test]
    fn refusals_say_what_to_do() {
        assert!(refusal("'>f4'", "False", "(1,)", &[0; 4]).contains("big-endian"));
        assert!(refusal("'<f4'", "True", "(2, 2)", &[0; 16]).contains("Fortran"));
        assert!(refusal("'<f4'", "False", "(3,)", &[0; 8]).contains("truncated: 12 bytes of data expected, 8 there"));
        let text = refusal("'<f4'", "False", "(1,)", &[0; 7]);
        assert!(text.contains("3 bytes follow the array"), "{text}");
        assert!(refusal("'<c8'", "False", "(1,)", &[0; 8]).contains("'<c8'"));
        assert!(refusal("'|O'", "False", "(1,)", &[0; 8]).contains("Python objects"));
        assert!(refusal("[('a', '<f4'), ('b', '<i4')]", "False", "(1,)", &[0; 8]).contains("structured"));
        assert!(refusal("'<f4'", "False", "(4294967296, 4294967296)", &[]).contains("64 bits"));
        assert!(refusal("'<f4'", "False", "(-1,)", &[]).contains("not made of numbers"));
        assert!(refusal("'<f4'", "False", "(1000000000000,)", &[]).contains("truncated"));
    }

    #[test]
    fn damaged_headers_are_refused() {
        for bytes in [
            &b""[..],
            b"\x93NUM",
            b"hello, world",
            b"\x93NUMPY\x01\x00\xff\xff{}",
            b"\x93NUMPY\x09\x00\x02\x00{}",
            b"\x93NUMPY\x01\x00\x02\x00{}",
        ] {
            let (_folder, path) = save(bytes);
            assert!(matches!(read(&path), Err(Error::Input { .. })), "{bytes:?}");
        }
    }
}
