//! The arguments of an entry, as the command line writes them.

use ladders::error::{Error, Result};
use ladders::input::{self, size};
use rustwarp::element::{Dtype, Value};
use std::path::PathBuf;

/// The value of one `--arg`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    /// A value, as little-endian bytes.
    Value(Vec<u8>),
    /// Uninitialised device memory.
    Uninit(Dtype, u64),
    /// Device memory with a file's contents.
    File(Dtype, PathBuf),
}

impl std::str::FromStr for Argument {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let forms = "write u32:7, f32:1.5, buf:f32:1024, buf:f32:@in.npy, bytes:0700 or bytes:@in.bin";
        let wrong = |why: &str| Error::Usage(format!("`{text}`: {why}; {forms}"));
        let (kind, rest) = text.split_once(':').ok_or_else(|| wrong("no type"))?;
        if kind == "bytes" {
            let bytes = match rest.strip_prefix('@') {
                Some(path) => std::fs::read(path).map_err(|error| wrong(&format!("cannot read `{path}`: {error}")))?,
                None => hexadecimal(rest).ok_or_else(|| wrong("not pairs of hexadecimal digits"))?,
            };
            return Ok(Self::Value(bytes));
        }
        if kind != "buf" {
            for (name, dtype) in [("f32", Dtype::F32), ("f64", Dtype::F64)] {
                let number = match dtype {
                    Dtype::F32 => rest.parse::<f32>().ok().map(|x| Value::Float(x.into())),
                    _ => rest.parse::<f64>().ok().map(Value::Float),
                };
                let beyond = number.filter(|_| kind == name).and_then(|x| input::beyond_largest(rest, x, dtype));
                if let Some(reason) = beyond {
                    return Err(wrong(&reason));
                }
            }
            return value(kind, rest).map(Self::Value).ok_or_else(|| wrong("no value of that type"));
        }
        let (dtype, what) = rest.split_once(':').ok_or_else(|| wrong("no size"))?;
        let dtype: Dtype = dtype.parse()?;
        match what.strip_prefix('@') {
            Some(path) => Ok(Self::File(dtype, path.into())),
            None => Ok(Self::Uninit(dtype, size::parse(what)?)),
        }
    }
}

/// The bytes that pairs of hexadecimal digits stand for, in their order.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    whole.then(|| digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

/// Little-endian bytes of a value.
fn value(kind: &str, text: &str) -> Option<Vec<u8>> {
    macro_rules! parse {
        ($($t:ident)*) => {
            match kind {
                $(stringify!($t) => Some(text.parse::<$t>().ok()?.to_le_bytes().to_vec()),)*
                _ => None,
            }
        };
    }
    parse!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_as_documented() {
        let parse = str::parse::<Argument>;
        assert_eq!(parse("u32:7").expect("a value"), Argument::Value(vec![7, 0, 0, 0]));
        assert_eq!(parse("i64:-1").expect("a value"), Argument::Value(vec![255; 8]));
        assert_eq!(parse("f32:1.5").expect("a value"), Argument::Value(1.5_f32.to_le_bytes().to_vec()));
        assert_eq!(parse("f32:inf").expect("a value"), Argument::Value(f32::INFINITY.to_le_bytes().to_vec()));
        assert_eq!(parse("buf:f32:1024").expect("a buffer"), Argument::Uninit(Dtype::F32, 1024));
        assert_eq!(parse("buf:u8:2^4").expect("a buffer"), Argument::Uninit(Dtype::U8, 16));
        assert_eq!(parse("buf:f64:@a:b.npy").expect("a buffer"), Argument::File(Dtype::F64, "a:b.npy".into()));
        assert_eq!(parse("bytes:00fF10").expect("bytes"), Argument::Value(vec![0, 255, 16]));
        for text in ["bytes:", "bytes:0", "bytes:0x10", "bytes:@no-such-file"] {
            assert!(parse(text).is_err_and(|error| error.to_string().contains("bytes:@in.bin")), "{text}");
        }
        for text in
            ["", "7", "u32:", "u32:-1", "u8:256", "f32:1e39", "f64:-1e400", "f16:1", "buf:f32", "buf:x:4", "buf:f32:x"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
