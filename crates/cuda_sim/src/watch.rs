//! Notices accesses of the host to pages that it should leave alone for now: they are protected, and the handler of the
//! fault lifts the protection and notes the access, so that the program goes on.
//!
//! The handler may run in any thread at any time: it takes no lock and allocates nothing.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An allocation whose pages may be protected. A slot is free while its end is 0.
struct Slot {
    start: AtomicU64,
    end: AtomicU64,
    /// Address of the first access that was noted, or 0; the instruction, and whether it wrote.
    byte: AtomicU64,
    instruction: AtomicU64,
    wrote: AtomicBool,
}

/// Greatest number of allocations that can be watched.
const MOST: usize = 256;

static SLOTS: [Slot; MOST] = [const {
    Slot {
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
        byte: AtomicU64::new(0),
        instruction: AtomicU64::new(0),
        wrote: AtomicBool::new(false),
    }
}; MOST];

/// Whether an access was noted that [`accesses`] has not returned.
static NOTED: AtomicBool = AtomicBool::new(false);

/// What handled faults before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// An access of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAccess {
    pub byte: u64,
    pub wrote: bool,
    /// Address of the instruction.
    pub instruction: u64,
}

/// What the host may still do with pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    Nothing,
    Read,
    All,
}

/// Lets the pages of an allocation be protected. Returns whether there was room for it.
pub fn add(pages: Range<u64>) -> bool {
    let known =
        |slot: &&Slot| slot.end.load(Ordering::Acquire) != 0 && slot.start.load(Ordering::Acquire) == pages.start;
    if SLOTS.iter().any(|slot| known(&slot)) {
        return true;
    }
    install();
    let Some(slot) = SLOTS.iter().find(|slot| slot.end.load(Ordering::Acquire) == 0) else { return false };
    slot.start.store(pages.start, Ordering::Release);
    slot.byte.store(0, Ordering::Release);
    slot.end.store(pages.end, Ordering::Release);
    true
}

/// Ends [`add`]; the pages must be unprotected.
pub fn remove(start: u64) {
    let is_it = |slot: &&Slot| slot.end.load(Ordering::Acquire) != 0 && slot.start.load(Ordering::Acquire) == start;
    if let Some(slot) = SLOTS.iter().find(is_it) {
        slot.end.store(0, Ordering::Release);
    }
}

/// Protects pages of an allocation that was added, or lifts that.
pub fn allow(pages: &Range<u64>, what: Allowed) {
    let protection = match what {
        Allowed::Nothing => libc::PROT_NONE,
        Allowed::Read => libc::PROT_READ,
        Allowed::All => libc::PROT_READ | libc::PROT_WRITE,
    };
    // SAFETY: the pages are those of an allocation of this library, whose faults the handler resolves.
    unsafe {
        libc::mprotect(pages.start as usize as *mut c_void, (pages.end - pages.start) as usize, protection);
    }
}

/// Lifts the protection of the allocation at an address. Returns whether one was added there.
pub fn open(address: u64) -> bool {
    let Some(slot) = slot_at(address) else { return false };
    allow(&(slot.start.load(Ordering::Acquire)..slot.end.load(Ordering::Acquire)), Allowed::All);
    true
}

/// Returns the accesses that were noted since the last call, one for each allocation at most.
pub fn accesses() -> Vec<HostAccess> {
    if !NOTED.swap(false, Ordering::AcqRel) {
        return Vec::new();
    }
    let noted = SLOTS.iter().filter_map(|slot| {
        let (wrote, instruction) = (slot.wrote.load(Ordering::Acquire), slot.instruction.load(Ordering::Acquire));
        let byte = slot.byte.swap(0, Ordering::AcqRel);
        (byte != 0).then_some(HostAccess { byte, wrote, instruction })
    });
    noted.collect()
}

fn slot_at(address: u64) -> Option<&'static Slot> {
    SLOTS.iter().find(|slot| {
        let end = slot.end.load(Ordering::Acquire);
        slot.start.load(Ordering::Acquire) <= address && address < end
    })
}

/// Installs the handler, once.
fn install() {
    BEFORE.get_or_init(|| {
        let mut before = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: `sigaction` is plain data, for which zeros are valid; the handler has the type that `SA_SIGINFO`
        // requires.
        unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handle as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(libc::SIGSEGV, &new, before.as_mut_ptr());
            before.assume_init()
        }
    });
}

extern "C" fn handle(signal: i32, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes valid pointers.
    let (address, errno) = unsafe { ((*information).si_addr() as u64, *libc::__errno_location()) };
    let Some(slot) = slot_at(address) else { return pass_on(signal, information, context) };
    // SAFETY: as above.
    let (instruction, wrote) = unsafe { place(context) };
    if slot.byte.load(Ordering::Acquire) == 0 {
        slot.instruction.store(instruction, Ordering::Release);
        slot.wrote.store(wrote, Ordering::Release);
        slot.byte.store(address, Ordering::Release);
        NOTED.store(true, Ordering::Release);
    }
    allow(&(slot.start.load(Ordering::Acquire)..slot.end.load(Ordering::Acquire)), Allowed::All);
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = errno };
}

/// The address of the instruction that faulted, and whether it wrote.
///
/// # Safety
/// The context must be that of a fault.
#[cfg(target_arch = "x86_64")]
unsafe fn place(context: *mut c_void) -> (u64, bool) {
    /// The bit of a page fault's error code that says that it was a write.
    const WRITE: i64 = 2;
    // SAFETY: by contract.
    let registers = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_ERR as usize] & WRITE != 0)
}

/// As on x86-64, but an access counts as a write: the system does not say it in one word.
///
/// # Safety
/// The context must be that of a fault.
#[cfg(target_arch = "aarch64")]
unsafe fn place(context: *mut c_void) -> (u64, bool) {
    // SAFETY: by contract.
    (unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc }, true)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn place(_: *mut c_void) -> (u64, bool) {
    (0, true)
}

/// Does what would have happened without this handler.
fn pass_on(signal: i32, information: *mut libc::siginfo_t, context: *mut c_void) {
    type Plain = extern "C" fn(i32);
    type Informed = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);
    let before = BEFORE.get().map_or((libc::SIG_DFL, 0), |before| (before.sa_sigaction, before.sa_flags));
    match before {
        (libc::SIG_DFL | libc::SIG_IGN, _) => {
            // The access faults again, and ends the program as it would have.
            // SAFETY: the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        (handler, flags) if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler of this type was installed with this flag.
            let handler = unsafe { std::mem::transmute::<usize, Informed>(handler) };
            handler(signal, information, context);
        }
        (handler, _) => {
            // SAFETY: a handler of this type was installed without the flag.
            let handler = unsafe { std::mem::transmute::<usize, Plain>(handler) };
            handler(signal);
        }
    }
}
