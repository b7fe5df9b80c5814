//! Numbers written in digits: `.txt`, `.csv`, and text on standard input.

use super::file::{file_size, require_fit, unreadable};
use crate::error::{Error, Result};
use crate::kernels::spelling::DTYPE;
use rustwarp::element::{Array, Dtype, Scalar, Value};
use rustwarp::tensor::Tensor;
use std::path::Path;

/// Bytes of memory for the numbers in a text of `size` bytes: at most one per two characters.
pub(super) fn room(size: u64, dtype: Dtype) -> u64 {
    size.div_ceil(2).saturating_mul(dtype.size() as u64)
}

/// Reads the text of a file, if it and the numbers in it fit in memory.
pub(super) fn of_file(path: &Path, dtype: Dtype) -> Result<String> {
    let size = file_size(path)?;
    require_fit(path, size.saturating_add(room(size, dtype)))?;
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Numbers between spaces, commas and line ends, as a vector.
pub(super) fn vector(path: &Path, text: &str, dtype: Dtype) -> Result<Tensor> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    Ok(numbers(path, words, dtype)?.into())
}

/// The rows of a table of comma-separated values: a matrix, or a vector if the table has one column. A first row
/// without any number has the names of the columns; a note says that it was left out.
pub(super) fn table(path: &Path, text: &str, dtype: Dtype) -> Result<(Tensor, Vec<String>)> {
    let wrong = |error: csv::Error| match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            Error::input(
                path,
                format!(
                    "the row of line {line} has {}, and the first row {expected_len}: give all rows as many, or name \
                     the file .txt to read it as one vector",
                    if *len == 1 { "1 number".to_owned() } else { format!("{len} numbers") }
                ),
            )
        }
        _ => Error::input(path, format!("its rows cannot be read ({error}): correct it, or name it .txt")),
    };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut records = reader.records().collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
    let mut notes = Vec::new();
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    if records.len() > 1 && records[0].iter().all(|field| !field.is_empty() && !is_number(field)) {
        let names = records.remove(0);
        let names: Vec<_> = names.iter().collect();
        notes.push(format!("{}: the first row has the names of the columns: {}", path.display(), names.join(", ")));
    }
    let (rows, columns) = (records.len(), records.first().map_or(0, csv::StringRecord::len));
    let array = numbers(path, records.iter().flatten(), dtype)?;
    let shape = if columns <= 1 { vec![array.len()] } else { vec![rows, columns] };
    Ok((Tensor::new(&shape, array)?, notes))
}

/// Parses words.
fn numbers<'w>(path: &Path, words: impl Iterator<Item = &'w str>, dtype: Dtype) -> Result<Array> {
    let no_number =
        |word: &str| Error::input(path, format!("`{word}` is no {dtype}: correct it, or choose another {DTYPE}"));
    rustwarp::with_dtype!(dtype, T => {
        let values = words.map(|word| {
            let value = word.parse::<T>().map_err(|_| no_number(word))?;
            match beyond_largest(word, value.value(), dtype) {
                Some(reason) => Err(Error::input(path, reason)),
                None => Ok(value),
            }
        });
        Ok(<T as Scalar>::wrap(values.collect::<Result<_>>()?))
    }, else => match dtype {
        Dtype::U8 => {
            let bytes = words.map(|word| word.parse::<u8>().map_err(|_| no_number(word)));
            Ok(Array::Bytes(dtype, bytes.collect::<Result<_>>()?))
        }
        other => Err(Error::input(path, format!("text holds f32 f64 i32 u32 i64 u64, not {other}: use a .npy or raw \
            file"))),
    })
}

/// The reason to refuse digits that stand for a number beyond the largest float, which parsing turns into an infinity.
pub fn beyond_largest(word: &str, value: Value, dtype: Dtype) -> Option<String> {
    let infinite = matches!(value, Value::Float(x) if x.is_infinite());
    let wider = if dtype == Dtype::F64 { "" } else { ", choose f64" };
    (infinite && word.contains(|c: char| c.is_ascii_digit())).then(|| {
        format!("`{word}` is beyond the largest {dtype}: correct it{wider}, or write inf if an infinity is meant")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_beyond_the_largest_float_are_no_infinity() {
        let path = Path::new("x.txt");
        for (text, dtype) in [("1 1e400", Dtype::F64), ("-1e39", Dtype::F32), ("1e400", Dtype::F32)] {
            let error = vector(path, text, dtype).expect_err("refused").to_string();
            assert!(error.contains("x.txt") && error.contains("beyond the largest"), "{error}");
        }
        assert!(vector(path, "1e39 inf -Infinity nan", Dtype::F64).is_ok());
        assert_eq!(vector(path, "inf", Dtype::F32).expect("said").into_data(), Array::F32(vec![f32::INFINITY]));
    }

    #[test]
    fn a_table_is_a_matrix_and_a_column_is_a_vector() {
        let path = Path::new("x.csv");
        let read = |text: &str| table(path, text, Dtype::F32);
        let (tensor, notes) = read("1, 2,3\n4,5,6\n").expect("a table");
        assert_eq!((tensor.shape(), notes.len()), (&[2, 3][..], 0));
        let (tensor, notes) = read("a,b\n1,2\n").expect("a table with names");
        assert_eq!((tensor.shape(), notes.len()), (&[1, 2][..], 1));
        assert!(notes[0].contains("a, b"), "{notes:?}");
        assert_eq!(read("1\n2\n3\n").expect("a column").0.shape(), [3]);
        assert_eq!(read("").expect("nothing").0.shape(), [0]);
        let error = read("1,2\n3\n").expect_err("ragged").to_string();
        assert!(
            error.contains("x.csv") && error.contains("the row of line 2 has 1 number, and the first row 2"),
            "{error}"
        );
        assert!(read("1,two\n").expect_err("no number").to_string().contains("`two` is no f32"));
        let bytes = table(path, "1,255", Dtype::U8).expect("bytes").0;
        assert_eq!(bytes.into_data(), Array::Bytes(Dtype::U8, vec![1, 255]));
    }
}
