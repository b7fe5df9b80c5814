//! Memory of the host: pages at chosen addresses, and accesses through pointers of the program that cannot crash it.

use crate::code::{Answer, Code};
use crate::watch;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

/// Size of a page in bytes.
pub const PAGE: u64 = 4096;

/// Maps zeroed pages at an address.
///
/// # Errors
/// `OUT_OF_MEMORY` if the host has no room, or uses the address.
pub fn map(address: u64, bytes: u64) -> Answer<NonNull<u8>> {
    let (at, length) = (address as usize as *mut libc::c_void, bytes as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: with `MAP_FIXED_NOREPLACE`, no mapping is replaced.
    let mapped = unsafe { libc::mmap(at, length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(Code::OUT_OF_MEMORY);
    }
    if mapped != at {
        // An old kernel takes the address as a hint.
        // SAFETY: the pages were mapped above and are not used.
        unsafe { libc::munmap(mapped, length) };
        return Err(Code::OUT_OF_MEMORY);
    }
    NonNull::new(mapped.cast()).ok_or(Code::OUT_OF_MEMORY)
}

/// Removes pages.
///
/// # Safety
/// [`map`] mapped them, and nothing uses them any more.
pub unsafe fn unmap(address: u64, bytes: u64) {
    // SAFETY: by contract.
    unsafe { libc::munmap(address as usize as *mut libc::c_void, bytes as usize) };
}

/// Bytes that are read or written at a time; the system limits a call to 2 GiB.
const CHUNK: usize = 1 << 30;

/// Copies bytes of the program's memory into a buffer.
///
/// # Errors
/// `INVALID_VALUE` if some of them are not readable.
pub fn read(address: u64, into: &mut [u8]) -> Answer {
    into.chunks_mut(CHUNK).enumerate().try_for_each(|(chunk, into)| {
        let address = address.wrapping_add((chunk * CHUNK) as u64);
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: into.len() };
        // SAFETY: the kernel checks the program's addresses, and `local` is the buffer.
        let copy = || unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        let done = unprotected(address, copy);
        if is_refused(done) {
            return read_file(address, into);
        }
        if usize::try_from(done) == Ok(into.len()) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    })
}

/// Copies a buffer into the program's memory.
///
/// # Errors
/// `INVALID_VALUE` if some of it is not writable; the part before may have been written.
pub fn write(address: u64, from: &[u8]) -> Answer {
    from.chunks(CHUNK).enumerate().try_for_each(|(chunk, from)| {
        let address = address.wrapping_add((chunk * CHUNK) as u64);
        let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
        let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: from.len() };
        // SAFETY: the kernel checks the program's addresses, and `local` is only read.
        let copy = || unsafe { libc::process_vm_writev(libc::getpid(), &local, 1, &remote, 1, 0) };
        let done = unprotected(address, copy);
        if is_refused(done) {
            return write_file(address, from);
        }
        if usize::try_from(done) == Ok(from.len()) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    })
}

/// Copies, and again if the memory was protected against the host.
fn unprotected(address: u64, copy: impl Fn() -> isize) -> isize {
    let done = copy();
    if done < 0 && watch::open(address) { copy() } else { done }
}

/// Whether the system does not allow the checked access: some containers forbid it.
fn is_refused(done: isize) -> bool {
    done < 0 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Returns the pages of which a range covers everything that an allocation has in them.
pub fn whole_pages(range: &Range<u64>, allocation: &Range<u64>) -> Range<u64> {
    let start = if range.start <= allocation.start { allocation.start } else { range.start.next_multiple_of(PAGE) };
    let end = if range.end >= allocation.end { allocation.end.next_multiple_of(PAGE) } else { range.end / PAGE * PAGE };
    start..end.max(start)
}

/// As [`read()`], through a file of the system. It is opened each time, because a forked process has another one.
fn read_file(address: u64, into: &mut [u8]) -> Answer {
    let file = File::open(MEMORY).map_err(|_| refused())?;
    file.read_exact_at(into, address).map_err(|_| Code::INVALID_VALUE)
}

/// As [`write()`], through a file of the system, which writes to read-only memory, too, unless that is found out
/// before.
fn write_file(address: u64, from: &[u8]) -> Answer {
    let end = address.checked_add(from.len() as u64).ok_or(Code::INVALID_VALUE)?;
    if !Mapped::read().is_none_or(|mapped| mapped.contains(address..end)) {
        return Err(Code::INVALID_VALUE);
    }
    let file = File::options().write(true).open(MEMORY).map_err(|_| refused())?;
    file.write_all_at(from, address).map_err(|_| Code::INVALID_VALUE)
}

/// The memory of this process.
const MEMORY: &str = "/proc/self/mem";

/// Says why no memory of the program can be accessed.
fn refused() -> Code {
    crate::log::once(&format!(
        "the system allows neither process_vm_readv nor {MEMORY}, so that memory of the program cannot be accessed: \
         allow one of them, for instance by the container's seccomp profile"
    ));
    Code::OPERATING_SYSTEM
}

/// The address ranges of this process that are readable and writable, in order.
pub struct Mapped(Vec<Range<u64>>);

impl Mapped {
    /// Reads the ranges; `None` if the system does not list them.
    pub fn read() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/maps").ok()?;
        Some(Self(text.lines().filter_map(range).collect()))
    }

    /// Whether they cover a range.
    pub fn contains(&self, range: Range<u64>) -> bool {
        let mut at = range.start;
        for known in self.0.iter() {
            if known.contains(&at) {
                at = known.end;
            }
        }
        at >= range.end
    }
}

/// Reads a line such as `7f00-7f10 rw-p …`; `None` for memory with fewer rights.
fn range(line: &str) -> Option<Range<u64>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    rest.starts_with("rw").then_some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_pointer_is_an_error() {
        let text = *b"some bytes";
        let mut copy = [0; 10];
        read(text.as_ptr() as u64, &mut copy).expect("readable");
        assert_eq!(copy, text);
        write(copy.as_mut_ptr() as u64, b"others").expect("writable");
        assert_eq!(&copy, b"othersytes");
        for address in [0, 16, u64::MAX - 64, 1 << 46] {
            assert_eq!(read(address, &mut copy), Err(Code::INVALID_VALUE), "{address:#x}");
            assert_eq!(write(address, &copy), Err(Code::INVALID_VALUE), "{address:#x}");
        }
    }

    /// The way through a file finds the same errors.
    #[test]
    fn a_bad_pointer_is_an_error_without_the_system_call() {
        static CONSTANT: [u8; 10] = *b"some bytes";
        let mut copy = [0; 10];
        read_file(CONSTANT.as_ptr() as u64, &mut copy).expect("readable");
        assert_eq!(copy, CONSTANT);
        write_file(copy.as_mut_ptr() as u64, b"others").expect("writable");
        assert_eq!(&copy, b"othersytes");
        assert_eq!(write_file(CONSTANT.as_ptr() as u64, b"others"), Err(Code::INVALID_VALUE), "it is read-only");
        for address in [0, 16, u64::MAX - 64, 1 << 46] {
            assert_eq!(read_file(address, &mut copy), Err(Code::INVALID_VALUE), "{address:#x}");
            assert_eq!(write_file(address, &copy), Err(Code::INVALID_VALUE), "{address:#x}");
        }
    }

    #[test]
    fn ranges_of_memory() {
        let lines = ["10-20 rw-p 0", "20-30 rw-s", "30-40 r--p", "50-60 rw-p"];
        let mapped = Mapped(lines.into_iter().filter_map(range).collect());
        assert!(mapped.contains(0x12..0x30) && mapped.contains(0x50..0x60));
        assert!(!mapped.contains(0x12..0x31) && !mapped.contains(0x30..0x31) && !mapped.contains(0x40..0x51));
    }

    #[test]
    fn pages_lie_where_asked() {
        let address = 0x7a00_0000_0000;
        let pages = map(address, 2 * PAGE).expect("room");
        assert_eq!(pages.as_ptr() as u64, address);
        assert_eq!(map(address + PAGE, PAGE), Err(Code::OUT_OF_MEMORY));
        // SAFETY: mapped above.
        unsafe { unmap(address, 2 * PAGE) };
        assert_eq!(read(address, &mut [0]), Err(Code::INVALID_VALUE));
    }

    #[test]
    fn only_pages_that_are_covered() {
        let allocation = 0..3 * PAGE + 100;
        for (range, pages) in [
            (0..100, 0..0),
            (0..PAGE, 0..PAGE),
            (1..2 * PAGE, PAGE..2 * PAGE),
            (2 * PAGE + 1..3 * PAGE + 100, 3 * PAGE..4 * PAGE),
            (10..20, PAGE..PAGE),
            (0..3 * PAGE + 100, 0..4 * PAGE),
        ] {
            assert_eq!(whole_pages(&range, &allocation), pages, "{range:?}");
        }
    }
}
