//! The inputs of rustc's link, which `record-link.sh` writes to a file instead of linking.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// The inputs of a link, in rustc's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Exported symbols of the crate and of its dependencies: kernels, and functions with `#[no_mangle]`.
    pub exports: Vec<String>,
    /// The kernel crate's own bitcode, one file per Rust module.
    pub objects: Vec<PathBuf>,
    /// Libraries of kernel code, then `core` and `compiler_builtins`.
    pub libraries: Vec<PathBuf>,
}

impl Record {
    /// Reads the record at `path`, where rustc expected the link's output.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read the link record", path))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut record = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == "--export-symbol" {
                record.exports.extend(lines.next().map(str::to_owned));
            } else if let Some(symbol) = line.strip_prefix("--export-symbol=") {
                record.exports.push(symbol.to_owned());
            } else if matches!(line, "-o" | "-L" | "--target" | "--target-cpu") {
                lines.next();
            } else if line.ends_with(".o") {
                record.objects.push(line.into());
            } else if line.ends_with(".rlib") {
                record.libraries.push(line.into());
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_input_is_lost() {
        let record = Record::parse(
            "--export-symbol\nsum\n--export-symbol\nmax\n/t/k.0.o\n/t/k.1.o\n/t/libcuda_std-1.rlib\n/t/libcore-2.rlib\n\
             /t/libcompiler_builtins-3.rlib\n-L\n/t/raw.o\n--target-cpu\nsm_90\n-o\n/t/k.ptx\n-O3\n",
        );
        assert_eq!(record.exports, ["sum", "max"]);
        assert_eq!(record.objects.len(), 2);
        assert_eq!(record.libraries.len(), 3);
    }
}
