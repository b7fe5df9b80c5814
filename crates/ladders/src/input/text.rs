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
    let words = (1..).zip(text.lines()).flat_map(|(line, text)| {
        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        words.map(move |word| (line, word))
    });
    Ok(numbers(path, words, dtype)?.into())
}

/// Whether a text without a name is a table of comma-separated values: several lines with a comma in each, or a first
/// line that has the name of the one column; and no spaces but those around a comma.
pub(super) fn is_table(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines().next() else { return false };
    let has_columns = first.contains(',');
    let is_name = !has_columns && first.trim().parse::<f64>().is_err();
    let is_row = |line: &str| {
        line.contains(',') == has_columns && line.split(',').all(|field| !field.trim().contains(char::is_whitespace))
    };
    (has_columns || is_name) && lines().count() > 1 && lines().all(is_row)
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
    let line = |record: &csv::StringRecord| record.position().map_or(0, csv::Position::line);
    let words = records.iter().flat_map(|record| record.iter().map(move |word| (line(record), word)));
    let array = numbers(path, words, dtype)?;
    let shape = if columns <= 1 { vec![array.len()] } else { vec![rows, columns] };
    Ok((Tensor::new(&shape, array)?, notes))
}

/// Parses words, each with the number of its line.
fn numbers<'w>(path: &Path, words: impl Iterator<Item = (u64, &'w str)>, dtype: Dtype) -> Result<Array> {
    let no_number = |line: u64, word: &str| {
        let what = if word.is_empty() { "an empty field".to_owned() } else { format!("`{word}`") };
        Error::input(path, format!("line {line}: {what} is no {dtype}: correct it, or choose another {DTYPE}"))
    };
    rustwarp::with_dtype!(dtype, T => {
        let values = words.map(|(line, word)| {
            let value = word.parse::<T>().map_err(|_| no_number(line, word))?;
            match beyond_largest(word, value.value(), dtype) {
                Some(reason) => Err(Error::input(path, format!("line {line}: {reason}"))),
                None => Ok(value),
            }
        });
        Ok(<T as Scalar>::wrap(values.collect::<Result<_>>()?))
    }, else => match dtype {
        Dtype::U8 => {
            let bytes = words.map(|(line, word)| word.parse::<u8>().map_err(|_| no_number(line, word)));
            Ok(Array::U8(bytes.collect::<Result<_>>()?))
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
        for (text, words) in [("1,2\n3,two\n", "line 2: `two` is no f32"), ("1,\n", "line 1: an empty field is no f32")]
        {
            let error = read(text).expect_err("no number").to_string();
            assert!(error.contains(words), "{error}");
        }
        let error = vector(path, "1 2\n\n3 x", Dtype::F32).expect_err("no number").to_string();
        assert!(error.contains("line 3: `x` is no f32"), "{error}");
        let bytes = table(path, "1,255", Dtype::U8).expect("bytes").0;
        assert_eq!(bytes.into_data(), Array::U8(vec![1, 255]));
    }

    #[test]
    fn a_text_without_a_name_is_a_table_if_every_line_has_a_comma() {
        for text in ["1,2\n3,4\n", "x, y\n1, 2", "x\n1\n2\n", "1,2\n\n,4"] {
            assert!(is_table(text), "{text}");
        }
        for text in ["", "1,2,3", "1 2\n3 4", "1\n2\n", "1 2,3\n4,5", "1,2\n3", "x"] {
            assert!(!is_table(text), "{text}");
        }
    }
}
