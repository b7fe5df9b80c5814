//! Races with the host: it accesses page-locked or managed memory that a work accesses which it has not waited for.
//!
//! While such a work has not been waited for, the pages that it accesses are protected: see [`watch`]. Not seen:
//! accesses to pages that a work accesses only partly, since the host may own their other bytes; accesses of another
//! thread while the simulator runs a work; memory that the program has registered.

use super::State;
use crate::host_memory::{PAGE, whole_pages};
use crate::model::{Access, Clock, Held, Watched};
use crate::watch::{self, Allowed, HostAccess};
use ptx_sim::stop::Diagnostic;
use ptx_sim::{Effect, Finding};
use std::ops::Range;
use std::sync::Arc;

/// Greatest number of ranges that are protected at a time; the oldest make room.
const MOST: usize = 64;

/// What the host may do with the pages.
fn allowed(watched: &Watched) -> Allowed {
    if watched.access.effect == Effect::Read { Allowed::Read } else { Allowed::Nothing }
}

impl State {
    /// Protects what a work accesses, from the end of the work on.
    pub(super) fn watch(&mut self, access: &Arc<Access>, range: &Range<u64>) {
        // The host may take part in atomic accesses.
        if !self.settings.host || access.effect == Effect::Atomic {
            return;
        }
        let Some((start, block)) = self.block_at(range.start) else { return };
        if !matches!(block.held, Held::Pinned(_)) && !block.held.is_managed() {
            return;
        }
        let pages = whole_pages(range, &(start..start + block.bytes));
        if pages.is_empty() || !watch::add(start..(start + block.bytes).next_multiple_of(PAGE)) {
            return;
        }
        let watched = &mut self.races.watched;
        if watched.len() == MOST {
            watched.pop_front();
        }
        watched.push_back(Watched { pages, access: access.clone() });
    }

    /// Lifts the protection, for an access of this library.
    pub(super) fn open_watched(&self) {
        self.races.watched.iter().for_each(|watched| watch::allow(&watched.pages, Allowed::All));
    }

    /// Ends [`State::open_watched`].
    pub(super) fn close_watched(&self) {
        for allowed in [Allowed::Read, Allowed::Nothing] {
            let these = self.races.watched.iter().filter(|watched| self::allowed(watched) == allowed);
            these.for_each(|watched| watch::allow(&watched.pages, allowed));
        }
    }

    /// Lets the host access what it has waited for.
    pub(super) fn unwatch(&mut self, waited: &Clock) {
        self.change_watched(|watched| waited.has(watched.access.work.token));
    }

    /// Forgets memory that is freed.
    pub(super) fn unwatch_block(&mut self, start: u64) {
        let of_block = |watched: &Watched| watched.pages.start >= start;
        let end = self.block_at(start).map_or(start, |(_, block)| start + block.bytes.next_multiple_of(PAGE));
        self.change_watched(|watched| of_block(watched) && watched.pages.start < end);
        watch::remove(start);
    }

    fn change_watched(&mut self, ends: impl Fn(&Watched) -> bool) {
        if !self.races.watched.iter().any(&ends) {
            return;
        }
        self.report_host();
        self.open_watched();
        self.races.watched.retain(|watched| !ends(watched));
        self.close_watched();
    }

    /// Reports accesses of the host that were noted.
    pub fn report_host(&mut self) {
        for seen in watch::accesses() {
            let conflicts = |watched: &&Watched| {
                watched.pages.contains(&seen.byte) && (seen.wrote || allowed(watched) == Allowed::Nothing)
            };
            // Without one, the host has waited for it in the meantime, in another thread.
            if let Some(access) = self.races.watched.iter().find(conflicts).map(|watched| watched.access.clone()) {
                self.report_host_access(&access, seen);
            }
        }
    }

    fn report_host_access(&mut self, access: &Access, seen: HostAccess) {
        let what = if seen.wrote { "a write" } else { "a read" };
        let (name, offset) = self.memory_at(seen.byte);
        let work = self.described(access);
        let title = format!(
            "{work} and {what} of the host access byte {offset} of `{name}`, and the host has not waited for the first"
        );
        let mut diagnostic = Diagnostic::new("race-host", title);
        diagnostic.place = access.place(seen.byte);
        diagnostic.label = diagnostic.place.is_some().then(|| access.label());
        diagnostic.notes.push(format!("the call: {}; then the host, at {}", access.work.call, code(seen.instruction)));
        diagnostic.help =
            Some("let the host wait before: cuStreamSynchronize, cuEventSynchronize or cuCtxSynchronize".to_owned());
        self.report.findings(access.kernel_name(), &[Finding::new(diagnostic, 1)]);
    }
}

/// Describes an address of the program's code.
fn code(address: u64) -> String {
    // SAFETY: plain data, for which zeros are valid.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the function only looks the address up, and `found` is valid for a write.
    if unsafe { libc::dladdr(address as usize as *const _, &mut found) } == 0 || found.dli_fname.is_null() {
        return format!("{address:#x}");
    }
    let text = |name: *const std::ffi::c_char| {
        // SAFETY: the function returned a string of the loader.
        unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
    };
    let offset = address.wrapping_sub(found.dli_fbase as u64);
    let symbol = if found.dli_sname.is_null() { String::new() } else { format!("`{}`, ", text(found.dli_sname)) };
    format!("{symbol}{offset:#x} in {}", text(found.dli_fname))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_memory;
    use crate::watch::*;

    #[test]
    fn an_access_is_noted_and_goes_on() {
        let (start, pages) = (0x7a10_0000_0000, 0x7a10_0000_0000..0x7a10_0000_0000 + 2 * PAGE);
        let memory = host_memory::map(start, 2 * PAGE).expect("room").as_ptr();
        assert!(add(pages.clone()));
        // SAFETY: mapped above; where they are protected, the handler lifts that.
        let read = || unsafe { memory.read_volatile() };
        // SAFETY: as above.
        let write = |at: usize, byte: u8| unsafe { memory.add(at).write_volatile(byte) };
        write(0, 7);
        allow(&pages, Allowed::Nothing);
        assert_eq!(read(), 7);
        let seen = accesses();
        assert_eq!(seen.iter().map(|seen| (seen.byte, seen.wrote)).collect::<Vec<_>>(), [(start, false)]);
        assert_eq!(accesses(), []);
        allow(&pages, Allowed::Read);
        assert_eq!(read(), 7);
        assert_eq!(accesses(), []);
        write(5000, 1);
        let seen = accesses();
        assert_eq!(seen.iter().map(|seen| (seen.byte, seen.wrote)).collect::<Vec<_>>(), [(start + 5000, true)]);
        allow(&pages, Allowed::Nothing);
        assert!(open(start + 1) && !open(start + 2 * PAGE));
        assert_eq!(read(), 7);
        assert_eq!(accesses(), []);
        remove(start);
        // SAFETY: nothing uses them any more.
        unsafe { host_memory::unmap(start, 2 * PAGE) };
    }
}
