//! Reads rlibs: `ar` archives in the GNU format.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::error::Error;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// Writes the bitcode members of `archives` into `folder`, in order, and gives their paths.
pub(super) fn unpack_all(archives: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Error::io("empty", folder))?;
    }
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut paths = Vec::new();
    for archive in archives {
        let bytes = fs::read(archive).map_err(Error::io("read", archive))?;
        let members = members(&bytes).ok_or_else(|| Error::Answer {
            program: archive.display().to_string(),
            problem: "this is not an `ar` archive".to_owned(),
            output: String::new(),
        })?;
        for data in members.into_iter().filter(|data| is_bitcode(data)) {
            let path = folder.join(format!("{}.bc", paths.len()));
            fs::write(&path, data).map_err(Error::io("write", &path))?;
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Raw bitcode, or bitcode in its wrapper.
fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(b"BC\xC0\xDE") || data.starts_with(&[0xDE, 0xC0, 0x17, 0x0B])
}

/// The contents of an archive's members; names don't matter here. `None`: not an archive, or cut short.
fn members(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut members = Vec::new();
    while !rest.is_empty() {
        let header = rest.get(..HEADER)?;
        let size: usize = std::str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
        members.push(rest.get(HEADER..HEADER + size)?);
        // Members start at even offsets; the last one may go without its filler.
        rest = rest.get(HEADER + size + size % 2..).unwrap_or_default();
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(members: &[&[u8]]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for data in members {
            bytes.extend(format!("{:<48}{:<10}`\n", "same-name/", data.len()).as_bytes());
            bytes.extend(*data);
            bytes.extend(vec![b'\n'; data.len() % 2]);
        }
        bytes
    }

    #[test]
    fn members_of_one_name_all_survive() {
        let bytes = archive(&[b"odd", b"even", b""]);
        assert_eq!(members(&bytes), Some(vec![b"odd".as_slice(), b"even", b""]));
    }

    #[test]
    fn a_cut_archive_is_noticed() {
        let bytes = archive(&[b"0123456789"]);
        assert_eq!(members(&bytes[..bytes.len() - 4]), None);
        assert_eq!(members(b"ELF"), None);
    }
}
