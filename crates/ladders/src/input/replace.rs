//! Files that appear whole or not at all.

use rustwarp::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What is written: an array, a picture.
pub(super) type Writer<'w> = &'w mut BufWriter<File>;

/// Writes a file under another name, and gives it its own once all bytes are there: an existing file is replaced, never
/// half.
///
/// # Errors
/// [`Error::Write`], and no file is left behind then.
pub(super) fn replace(path: &Path, write: impl FnOnce(Writer<'_>) -> std::io::Result<()>) -> Result<()> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    if is_special(path) {
        return fill(path, write).map(drop).map_err(failed);
    }
    let (whole, part) = names(path);
    let written = fill(&part, write).and_then(|file| file.sync_data()).and_then(|()| std::fs::rename(&part, whole));
    written.map_err(|source| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&part);
        failed(source)
    })
}

/// Writes a file of text, which replaces an existing one when all of it is there.
///
/// # Errors
/// [`Error::Write`], and no file is left behind then.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// Fails where [`write_text`] and [`super::write`] would, before there is anything to write; leaves no file behind.
///
/// # Errors
/// [`Error::Write`].
pub fn require_writable(path: &Path) -> Result<()> {
    let (_, part) = names(path);
    let attempt = match path.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false if is_special(path) => Ok(()),
        false => File::create(&part).and_then(|_| std::fs::remove_file(&part)),
    };
    attempt.map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn fill(path: &Path, write: impl FnOnce(Writer<'_>) -> std::io::Result<()>) -> std::io::Result<File> {
    let mut out = BufWriter::new(File::create(path)?);
    write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)
}

/// A device or a pipe, `/dev/null` say: written to, and not replaced by a file.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The file's own name, which is not that of a link to it (`/dev/stdout`), and where it is written before it takes that
/// name.
fn names(path: &Path) -> (PathBuf, PathBuf) {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut part = whole.as_os_str().to_owned();
    part.push(".part");
    (whole, part.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_file_stays_when_the_new_one_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        replace(&path, |out| out.write_all(b"old")).expect("written");
        let half = replace(&path, |out| out.write_all(b"ne").and(Err(std::io::ErrorKind::StorageFull.into())));
        assert!(matches!(half, Err(Error::Write { .. })));
        assert_eq!(std::fs::read(&path).expect("the old file"), b"old");
        assert!(require_writable(&path).is_ok() && require_writable(folder.path()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["file.txt", "link.txt"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write_text(&link, "new").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), "new");
        assert!(link.is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_file_to_replace() {
        let null = Path::new("/dev/null");
        replace(null, |out| out.write_all(b"gone")).and_then(|()| require_writable(null)).expect("written");
        assert!(is_special(null));
    }
}
