//! Names of files that options write in one format.

use ladders::error::{Error, Result};
use std::path::Path;

/// Fails for the file of `option` if its name ends in none of `endings`; a name without an ending says nothing. `what`
/// is what the option writes.
pub(super) fn require(option: &str, path: &Path, what: &str, endings: &[&str]) -> Result<()> {
    match path.extension() {
        Some(found) if !endings.iter().any(|ending| found.eq_ignore_ascii_case(ending)) => {
            let (path, ending) = (path.display(), endings.first().unwrap_or(&""));
            Err(Error::Usage(format!("{option} {path}: {what}: let the name end in .{ending}")))
        }
        _ => Ok(()),
    }
}
