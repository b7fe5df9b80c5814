//! Files that are written completely or not at all.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The destination of an array or a picture.
pub(super) type Writer<'w> = &'w mut BufWriter<File>;

/// Writes a new temporary file in the same folder and renames it once all bytes are there: an existing file is replaced
/// as a whole, and no other file of that folder is touched.
///
/// # Errors
/// [`Error::Write`]; no temporary file is left behind.
pub(super) fn replace(path: &Path, write: impl FnOnce(Writer<'_>) -> std::io::Result<()>) -> Result<()> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    if is_special(path) {
        return File::create(path).and_then(|file| fill(file, write)).map(drop).map_err(failed);
    }
    let whole = resolved(path);
    let attempt = || {
        let part = part_of(&whole)?;
        fill(part.as_file().try_clone()?, write)?.sync_data()?;
        part.persist(&whole)?;
        Ok(())
    };
    attempt().map_err(failed)
}

/// Calls `write` with a new file beside `path`, which replaces that if `keep` holds for the outcome. `begun` is called
/// with the name of the new file, for a program that is interrupted meanwhile and then removes it.
///
/// # Errors
/// Those of `write`, and [`Error::Write`]; the new file is removed then.
pub(crate) fn replace_at_positions<R>(
    path: &Path,
    begun: &dyn Fn(&Path),
    write: impl FnOnce(File) -> Result<R>,
    keep: impl FnOnce(&R) -> bool,
) -> Result<R> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    if is_special(path) {
        return write(File::create(path).map_err(failed)?);
    }
    let whole = resolved(path);
    let part = part_of(&whole).map_err(failed)?;
    begun(part.path());
    let outcome = write(part.as_file().try_clone().map_err(failed)?)?;
    if keep(&outcome) {
        part.as_file().sync_data().map_err(failed)?;
        part.persist(&whole).map_err(|error| failed(error.error))?;
    }
    Ok(outcome)
}

/// Writes a text file, which replaces an existing one once it is complete.
///
/// # Errors
/// [`Error::Write`]; no temporary file is left behind.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// Fails if [`write_text`] and [`super::write()`] would fail, before there is a result; leaves no file behind.
///
/// # Errors
/// [`Error::Write`].
pub fn require_writable(path: &Path) -> Result<()> {
    let attempt = match path.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false if is_special(path) => Ok(()),
        false => part_of(&resolved(path)).and_then(NamedTempFile::close),
    };
    attempt.map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn fill(file: File, write: impl FnOnce(Writer<'_>) -> std::io::Result<()>) -> std::io::Result<File> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)
}

/// Whether the path is a device or a pipe, such as `/dev/null`, which is written to rather than replaced.
pub(super) fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The path behind a symbolic link (`/dev/stdout`), so that the link stays one.
fn resolved(path: &Path) -> PathBuf {
    // A path that does not resolve names a new file; whether it can be created is seen when that is tried.
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A new temporary file beside `whole`, under a name that no file has; removed unless it is persisted.
fn part_of(whole: &Path) -> std::io::Result<NamedTempFile> {
    let folder = whole.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rustwarp-").suffix(".part");
    // The rights of any new file rather than those of a private temporary one; the umask applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_a_similar_name_are_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["x.npy", "x.npy.part"].map(|name| folder.path().join(name));
        std::fs::write(&other, "someone's work").expect("written");
        require_writable(&path).expect("a writable path");
        write_text(&path, "new").expect("written");
        replace(&path, |_| Err(std::io::ErrorKind::StorageFull.into())).expect_err("the disk is full");
        assert_eq!(std::fs::read_to_string(&other).expect("it is still there"), "someone's work");
        assert_eq!(std::fs::read_to_string(&path).expect("the first result"), "new");
    }

    #[cfg(unix)]
    #[test]
    fn a_result_is_readable_as_any_new_file_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let [result, plain] = ["result", "plain"].map(|name| folder.path().join(name));
        write_text(&result, "").expect("written");
        std::fs::write(&plain, "").expect("written");
        let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode(&result), mode(&plain));
    }

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
