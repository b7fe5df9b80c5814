//! Sources: bytes that are read at positions, by several threads.

use std::fs::File;
use std::io;

/// Bytes that several threads read at positions.
pub trait Source: Sync {
    /// Number of bytes.
    fn bytes(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::UnexpectedEof`] if there are fewer bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let part = start.and_then(|start| self.get(start..start.checked_add(into.len())?));
        into.copy_from_slice(part.ok_or_else(|| ended(self.bytes(), "source"))?);
        Ok(())
    }
}

/// A reference, such as one to a slice of bytes.
impl<S: Source + ?Sized> Source for &S {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, into)
    }
}

/// A part of a file, as a source and as a sink.
#[derive(Debug)]
pub struct FilePart {
    file: File,
    offset: u64,
    bytes: u64,
    /// Limits the threads that wait for the disk.
    #[cfg(target_os = "linux")]
    disk: super::turns::Turns,
    /// Whether the file system has refused to say what the page cache has.
    #[cfg(target_os = "linux")]
    untold: std::sync::atomic::AtomicBool,
    /// Held while the file's only position is in use.
    #[cfg(not(unix))]
    position: std::sync::Mutex<()>,
}

/// Threads that read from a disk at a time: more make the system read back and forth.
#[cfg(target_os = "linux")]
const AT_DISK: usize = 4;

impl FilePart {
    /// The `bytes` bytes of the file from `offset` on.
    pub fn new(file: File, offset: u64, bytes: u64) -> Self {
        Self {
            file,
            offset,
            bytes,
            #[cfg(target_os = "linux")]
            disk: super::turns::Turns::new(AT_DISK),
            #[cfg(target_os = "linux")]
            untold: std::sync::atomic::AtomicBool::new(false),
            #[cfg(not(unix))]
            position: std::sync::Mutex::default(),
        }
    }

    /// All bytes that the file has now.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn whole(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::new(file, 0, bytes))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    /// The place in the file of `len` bytes of the part; `None` if it has fewer.
    pub(super) fn place(&self, offset: u64, len: usize) -> Option<u64> {
        let end = offset.checked_add(len as u64)?;
        if end <= self.bytes { self.offset.checked_add(offset) } else { None }
    }

    /// What the page cache has is read at once, by any number of threads, and so is all where the file system cannot
    /// tell.
    #[cfg(target_os = "linux")]
    fn read(&self, place: u64, into: &mut [u8]) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        use std::sync::atomic::Ordering::Relaxed;
        let have = if self.untold.load(Relaxed) { 0 } else { self.cached(place, into) };
        if have == into.len() {
            return Ok(());
        }
        let _turn = (!self.untold.load(Relaxed)).then(|| self.disk.take());
        self.file.read_exact_at(&mut into[have..], place + have as u64)
    }

    /// Reads bytes that are in the page cache, up to the first that is not; none where the file system cannot tell,
    /// which is remembered. Other errors are those of the read that follows.
    #[cfg(target_os = "linux")]
    fn cached(&self, place: u64, into: &mut [u8]) -> usize {
        use rustix::io::{Errno, ReadWriteFlags};
        let mut have = 0;
        while have < into.len() {
            let rest = &mut [io::IoSliceMut::new(&mut into[have..])];
            match rustix::io::preadv2(&self.file, rest, place + have as u64, ReadWriteFlags::NOWAIT) {
                Ok(bytes) if bytes > 0 => have += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
                    self.untold.store(true, std::sync::atomic::Ordering::Relaxed);
                    break;
                }
                Ok(_) | Err(_) => break,
            }
        }
        have
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn read(&self, place: u64, into: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, into, place)
    }

    #[cfg(unix)]
    pub(super) fn write(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, place)
    }

    #[cfg(not(unix))]
    fn read(&self, place: u64, into: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek};
        let _held = crate::sync::lock(&self.position);
        (&self.file).seek(io::SeekFrom::Start(place))?;
        (&self.file).read_exact(into)
    }

    #[cfg(not(unix))]
    pub(super) fn write(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, Write};
        let _held = crate::sync::lock(&self.position);
        (&self.file).seek(io::SeekFrom::Start(place))?;
        (&self.file).write_all(bytes)
    }
}

impl Source for FilePart {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let place = self.place(offset, into.len()).ok_or_else(|| ended(self.bytes, "part of the file"))?;
        self.read(place, into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let text = "the file ends before that: it has become shorter since it was opened";
                io::Error::new(io::ErrorKind::UnexpectedEof, text)
            }
            _ => error,
        })
    }
}

/// The error for a place behind the end.
pub(super) fn ended(bytes: u64, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("the {what} has {bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamed::Sink;

    fn part(bytes: &[u8], offset: u64, len: u64) -> FilePart {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rustwarp-source-{}-{number}", std::process::id()));
        std::fs::write(&path, bytes).expect("a file");
        let file = File::options().read(true).write(true).open(&path).expect("the file");
        #[cfg(unix)]
        std::fs::remove_file(path).expect("the name");
        FilePart::new(file, offset, len)
    }

    #[test]
    fn a_part_is_read_and_written_within_its_limits() {
        let part = part(b"0123456789", 3, 4);
        let mut three = [0; 3];
        part.read_at(1, &mut three).expect("bytes");
        assert_eq!((&three, Source::bytes(&part)), (b"456", 4));
        assert_eq!(part.read_at(2, &mut three).expect_err("behind the end").kind(), io::ErrorKind::UnexpectedEof);
        part.write_at(1, b"xyz").expect("a write");
        assert!(part.write_at(2, b"xyz").is_err() && part.write_at(u64::MAX, b"x").is_err());
        part.read_at(1, &mut three).expect("bytes");
        assert_eq!(&three, b"xyz");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn no_turn_is_needed_where_the_file_system_cannot_tell() {
        let part = part(b"0123456789", 2, 8);
        part.untold.store(true, std::sync::atomic::Ordering::Relaxed);
        let _turns: Vec<_> = (0..AT_DISK).map(|_| part.disk.take()).collect();
        let mut three = [0; 3];
        part.read_at(1, &mut three).expect("bytes");
        assert_eq!(&three, b"345");
    }

    #[test]
    fn a_file_that_has_become_shorter_says_so() {
        let part = part(b"0123456789", 0, 10);
        part.file().set_len(5).expect("a shorter file");
        let error = part.read_at(4, &mut [0; 4]).expect_err("it ends");
        assert!(error.to_string().contains("shorter"), "{error}");
    }
}
