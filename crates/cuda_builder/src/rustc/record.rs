//! What rustc would have linked: the record that `record-link.sh` leaves behind.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// The inputs of a link, in rustc's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Kernels: the symbols that must survive.
    pub entries: Vec<String>,
    /// The kernel crate's own bitcode.
    pub objects: Vec<PathBuf>,
    /// Libraries of kernel code: every symbol in them counts.
    pub user_libraries: Vec<PathBuf>,
    /// `core` and what comes with it: only what is used is taken.
    pub std_libraries: Vec<PathBuf>,
}

/// Crates that `-Zbuild-std` may build.
const STD_CRATES: [&str; 6] =
    ["libcore-", "libcompiler_builtins-", "liballoc-", "libpanic_abort-", "librustc_std_workspace", "libstd-"];

impl Record {
    /// Reads the record that the link of `path` left in its place.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read the link record", path))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut record = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == "--export-symbol" {
                record.entries.extend(lines.next().map(str::to_owned));
            } else if let Some(symbol) = line.strip_prefix("--export-symbol=") {
                record.entries.push(symbol.to_owned());
            } else if matches!(line, "-o" | "-L" | "--target" | "--target-cpu") {
                lines.next();
            } else if line.ends_with(".o") {
                record.objects.push(line.into());
            } else if line.ends_with(".rlib") {
                let path = PathBuf::from(line);
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_std = STD_CRATES.iter().any(|prefix| name.starts_with(prefix));
                if is_std { &mut record.std_libraries } else { &mut record.user_libraries }.push(path);
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
        assert_eq!(record.entries, ["sum", "max"]);
        assert_eq!(record.objects.len(), 2);
        assert_eq!(record.user_libraries, [PathBuf::from("/t/libcuda_std-1.rlib")]);
        assert_eq!(record.std_libraries.len(), 2);
    }
}
