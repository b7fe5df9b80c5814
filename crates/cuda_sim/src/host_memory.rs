//! Memory of the host: pages at chosen addresses, and accesses through pointers of the program that cannot crash it.

use crate::code::{Answer, Code};
use crate::watch;
use std::ops::Range;
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

/// Copies bytes of the program's memory into a buffer.
///
/// # Errors
/// `INVALID_VALUE` if some of them are not readable.
pub fn read(address: u64, into: &mut [u8]) -> Answer {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel checks the program's addresses, and `local` is the buffer.
    let copy = || unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    let done = unprotected(address, copy);
    if is_refused(done) {
        // SAFETY: the caller of the driver promised a readable range; it cannot be checked here.
        unsafe { std::ptr::copy_nonoverlapping(address as usize as *const u8, into.as_mut_ptr(), into.len()) };
        return Ok(());
    }
    if usize::try_from(done) == Ok(into.len()) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// Copies a buffer into the program's memory.
///
/// # Errors
/// `INVALID_VALUE` if some of it is not writable; the part before may have been written.
pub fn write(address: u64, from: &[u8]) -> Answer {
    let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: from.len() };
    // SAFETY: the kernel checks the program's addresses, and `local` is only read.
    let copy = || unsafe { libc::process_vm_writev(libc::getpid(), &local, 1, &remote, 1, 0) };
    let done = unprotected(address, copy);
    if is_refused(done) {
        // SAFETY: the caller of the driver promised a writable range; it cannot be checked here.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address as usize as *mut u8, from.len()) };
        return Ok(());
    }
    if usize::try_from(done) == Ok(from.len()) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// Copies, and again if the memory was protected against the host.
fn unprotected(address: u64, copy: impl Fn() -> isize) -> isize {
    let done = copy();
    if done < 0 && watch::open(address) { copy() } else { done }
}

/// Whether the system does not allow the checked access: some sandboxes forbid it.
fn is_refused(done: isize) -> bool {
    done < 0 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Returns the pages of which a range covers everything that an allocation has in them.
pub fn whole_pages(range: &Range<u64>, allocation: &Range<u64>) -> Range<u64> {
    let start = if range.start <= allocation.start { allocation.start } else { range.start.next_multiple_of(PAGE) };
    let end = if range.end >= allocation.end { allocation.end.next_multiple_of(PAGE) } else { range.end / PAGE * PAGE };
    start..end.max(start)
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
