//! The `.file` directives of PTX: names of source files, and a comment with the hash of the text that was compiled.
//!
//! A directive has the form `.file 1 "src/lib.rs"`, with a tab before and after `.file`. `ptxas` accepts ASCII only,
//! and no escape but octal digits. The comment `// md5 0123… in /home/me/project` follows, from which the simulator
//! decides whether a file that it finds is the one that was compiled.

use std::{fs, path::Path, time::SystemTime};

use crate::error::Error;

/// The number and the name in a line with a `.file` directive.
pub(crate) fn directive(line: &str) -> Option<(u32, String)> {
    let (number, rest) = line.strip_prefix("\t.file\t")?.split_once(" \"")?;
    let name = rest.split("\t//").next()?.trim_end().strip_suffix('"')?;
    Some((number.parse().ok()?, unescape(name)))
}

/// The directive for a file.
pub(crate) fn write(number: u32, name: &str) -> String {
    format!("\t.file\t{number} \"{}\"", escape(name))
}

/// A name in ASCII, with the other characters as octal digits.
pub(crate) fn escape(name: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("\\{byte:03o}") })
        .collect()
}

/// The name that LLVM or [`escape`] wrote.
fn unescape(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let octal = name.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (byte, octal, bytes.get(at + 1)) {
            (b'\\', Some(value), _) => {
                out.push(value);
                at += 4;
            }
            (b'\\', None, Some(&escaped @ (b'"' | b'\\'))) => {
                out.push(escaped);
                at += 2;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| name.to_owned())
}

/// What the PTX records about its source files.
pub(crate) struct Sources<'a> {
    /// Folder that relative names start from.
    pub workspace: &'a Path,
    /// Whether the PTX names that folder.
    pub name_workspace: bool,
    /// When the compilation began. A file that has changed since is not the one that was compiled.
    pub began: SystemTime,
}

impl Sources<'_> {
    /// Writes into the PTX at `path` what its source files are now.
    ///
    /// # Errors
    /// Fails if the PTX cannot be read or written.
    pub fn record(&self, path: &Path) -> Result<(), Error> {
        let old = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let mut text = String::with_capacity(old.len() + 4096);
        for line in old.split_inclusive('\n') {
            match directive(line.trim_end_matches('\n')) {
                Some((number, name)) => {
                    text.push_str(&write(number, &name));
                    text.push_str(&self.comment(&name));
                    text.push('\n');
                }
                None => text.push_str(line),
            }
        }
        if text == old { Ok(()) } else { fs::write(path, text).map_err(Error::io("write", path)) }
    }

    fn comment(&self, name: &str) -> String {
        let path = self.workspace.join(name);
        // A file of the standard library has a mapped name, and is not looked for.
        let Ok(bytes) = fs::read(&path) else { return String::new() };
        let changed = fs::metadata(&path).and_then(|data| data.modified()).is_ok_and(|time| time > self.began);
        // No text has this hash, so that lines that may be wrong are not shown.
        let hash = if changed { "0".repeat(32) } else { format!("{:x}", md5::compute(bytes)) };
        let root = if self.name_workspace && Path::new(name).is_relative() {
            format!(" in {}", escape(&self.workspace.to_string_lossy()))
        } else {
            String::new()
        };
        format!("\t// md5 {hash}{root}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        for name in ["src/lib.rs", "a b/ü.rs", "\"q\"/\\x.rs"] {
            let line = write(7, name);
            assert!(line.is_ascii(), "{line}");
            assert_eq!(directive(&line), Some((7, name.to_owned())));
            assert_eq!(directive(&format!("{line}\t// md5 0 in /x")), Some((7, name.to_owned())));
        }
        assert_eq!(directive("\t.file\t1 \"k/\\303\\274 \\\"q\\\\x\""), Some((1, "k/ü \"q\\x".to_owned())), "LLVM's");
        assert_eq!(directive("\t.loc\t1 2 3"), None);
    }

    #[test]
    fn the_hash_is_that_of_the_file_and_only_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("ü.rs"), "fn a() {}\n").expect("a file");
        fs::write(at("k.ptx"), "\t.file\t1 \"ü.rs\"\n\t.file\t2 \"/rust/library/core/src/lib.rs\"\nx").expect("a file");
        let record = |name_workspace, began| {
            let sources = Sources { workspace: folder.path(), name_workspace, began };
            sources.record(&at("k.ptx")).expect("recorded");
            fs::read_to_string(at("k.ptx")).expect("the PTX")
        };
        let now = SystemTime::now() + std::time::Duration::from_secs(60);
        let name = "\t.file\t1 \"\\303\\274.rs\"\t// md5";
        let rest = "\n\t.file\t2 \"/rust/library/core/src/lib.rs\"\nx";
        let digest = format!("{:x}", md5::compute("fn a() {}\n"));
        let place = escape(&folder.path().to_string_lossy());
        assert_eq!(record(true, now), format!("{name} {digest} in {place}{rest}"));
        assert_eq!(record(false, now), format!("{name} {digest}{rest}"));
        let zeros = "0".repeat(32);
        assert_eq!(record(false, SystemTime::UNIX_EPOCH), format!("{name} {zeros}{rest}"), "changed since");
    }
}
