//! Memory used by the checkers: at most two bytes for every byte that a kernel touches, for all element sizes.
//!
//! This is a test binary of its own, because it counts the allocations of the whole process.

use ptx_sim::{Checks, Config, Launch, Machine, Program};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator with a record of the peak memory in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(IN_USE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ARRAY: u64 = 1 << 20;

/// An element type: its PTX name, its size in bytes, and the registers that hold it.
const TYPES: [(&str, u64, &str); 5] =
    [("u8", 1, "%h"), ("u16", 2, "%h"), ("f32", 4, "%f"), ("f64", 8, "%d"), ("v4.f32", 16, "{%f, %f1, %f2, %f3}")];

/// A kernel for `to[i] = from[i]` on every element, where `from` starts `offset` bytes after the parameter.
fn copy(ty: &str, bytes: u64, register: &str, offset: u64) -> String {
    format!(
        "
.version 7.8
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{{
    .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .b16 %h; .reg .f32 %f, %f1, %f2, %f3; .reg .f64 %d;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 256, %r1;
    mul.wide.u32 %rd3, %r3, {bytes};
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.{ty} {register}, [%rd4+{offset}];
    st.global.{ty} [%rd5], {register};
    ret;
}}"
    )
}

/// Peak memory in use while a kernel copies an array to another one or (`in_place`) to itself.
fn peak(program: &Program, bytes: u64, in_place: bool, checks: Checks) -> usize {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut machine = Machine::new(Config { checks, workers: 1, ..Config::default() });
    let mut array = || {
        let address = machine.alloc(ARRAY + 16, "array").expect("memory");
        machine.fill(address, 1, ARRAY + 16).expect("in bounds");
        address
    };
    let from = array();
    let to = if in_place { from } else { array() };
    let params = [from.to_le_bytes().to_vec(), to.to_le_bytes().to_vec()];
    let blocks = (ARRAY / bytes / 256) as u32;
    let launch =
        Launch { entry: "copy", grid: [blocks, 1, 1], block: [256, 1, 1], params: &params, ..Launch::default() };
    let report = machine.launch(program, &launch).expect("runs");
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    PEAK.load(Relaxed) - before
}

#[test]
fn two_bytes_of_shadow_for_a_byte() {
    let mut measured = Vec::new();
    for (ty, bytes, register) in TYPES {
        for (how, in_place, offset) in [("copied", false, 0), ("in place", true, 0), ("shifted", false, bytes)] {
            let program = Program::parse(&copy(ty, bytes, register, offset)).expect("PTX");
            let touched = if in_place { ARRAY } else { 2 * ARRAY };
            let of = |checks| peak(&program, bytes, in_place, checks);
            // The first launch of a process allocates tables that stay.
            of(Checks::DEFECTS);
            let shadow = of(Checks::DEFECTS) - of(Checks::NONE);
            // Warps that read bytes at addresses that are not multiples of 32 need a cell for each byte of that array.
            let most = if (ty, how) == ("u8", "shifted") { 2.25 } else { 2.0 };
            measured.push((ty, how, shadow as f64 / touched as f64, most));
        }
    }
    let mut over = measured.iter().filter(|(.., ratio, most)| ratio > most);
    assert!(over.next().is_none(), "bytes of shadow per byte touched, and the limit: {measured:.2?}");
    // Shows that the measurement includes the shadow.
    assert!(measured.iter().all(|(.., ratio, _)| *ratio > 0.25), "{measured:.2?}");
}
