//! Reads rlibs, which are `ar` archives.

use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use crate::error::Error;

/// A bitcode file of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Name within the archive; several members may share one.
    pub name: String,
    pub data: Vec<u8>,
}

/// The bitcode members of `archive`, in order.
pub(super) fn members(archive: &Path) -> Result<Vec<Member>, Error> {
    let bytes = std::fs::read(archive).map_err(Error::io("read", archive))?;
    parse(&bytes).map_err(|error| Error::Library { path: PathBuf::from(archive), problem: error.to_string() })
}

fn parse(bytes: &[u8]) -> object::Result<Vec<Member>> {
    let archive = ArchiveFile::parse(bytes)?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member?;
        let data = member.data(bytes)?;
        if is_bitcode(data) {
            members.push(Member { name: String::from_utf8_lossy(member.name()).into_owned(), data: data.to_vec() });
        }
    }
    Ok(members)
}

/// Whether the data is raw bitcode, or bitcode in its wrapper.
fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(b"BC\xC0\xDE") || data.starts_with(&[0xDE, 0xC0, 0x17, 0x0B])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITCODE: &[u8] = b"BC\xC0\xDE\x01";

    fn archive(members: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for data in members {
            bytes.extend(format!("{:<48}{:<10}`\n", "same-name/", data.len()).as_bytes());
            bytes.extend(*data);
            bytes.extend(vec![b'\n'; data.len() % 2]);
        }
        bytes
    }

    #[test]
    fn bitcode_members_of_one_name_all_survive() {
        let members = parse(&archive(&[BITCODE, b"metadata", BITCODE])).expect("an archive");
        let one = Member { name: "same-name".to_owned(), data: BITCODE.to_vec() };
        assert_eq!(members.len(), 2);
        assert_eq!(members[1], one);
    }

    #[test]
    fn a_cut_archive_is_noticed() {
        let bytes = archive(&[BITCODE, b"0123456789"]);
        assert!(parse(&bytes[..bytes.len() - 4]).is_err());
        assert!(parse(b"ELF").is_err());
    }
}
