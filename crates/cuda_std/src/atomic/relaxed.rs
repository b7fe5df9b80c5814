//! The relaxed instructions, by type and scope.
//!
//! LLVM's own operations are better than inline assembly where they exist: LLVM infers that a pointer is to shared
//! memory and emits `atom.shared`, and it may move other code across. It emits `atom` without qualifiers, which means
//! `.relaxed.gpu`. So LLVM's operation is used for the device's scope, and for every scope in shared memory, which no
//! thread outside the block can access. The other scopes use inline assembly. In nearly all kernels the test for shared
//! memory is decided at compile time.

use core::arch::asm;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::fence;
use super::scope::{Kind, Scope};

unsafe extern "C" {
    #[link_name = "llvm.nvvm.isspacep.shared"]
    safe fn isspacep_shared(at: *const ()) -> bool;
    // LLVM reads these four as `atomicrmw` fadd, uinc_wrap and udec_wrap, for which Rust has no operation of its own.
    #[link_name = "llvm.nvvm.atomic.load.add.f32.p0"]
    fn llvm_add_f32(at: *mut f32, value: f32) -> f32;
    #[link_name = "llvm.nvvm.atomic.load.add.f64.p0"]
    fn llvm_add_f64(at: *mut f64, value: f64) -> f64;
    #[link_name = "llvm.nvvm.atomic.load.inc.32.p0"]
    fn llvm_inc(at: *mut u32, last: u32) -> u32;
    #[link_name = "llvm.nvvm.atomic.load.dec.32.p0"]
    fn llvm_dec(at: *mut u32, last: u32) -> u32;
}

#[inline(always)]
fn is_shared<T>(at: *const T) -> bool {
    isspacep_shared(at.cast())
}

/// Defines an `atom` instruction with one operand. `$llvm` is LLVM's own form of the operation.
macro_rules! read_modify_write {
    ($($name:ident($t:ident in $class:ident) = $op:literal or |$at:ident, $value:ident| $llvm:expr;)*) => { $(
        #[inline(always)]
        pub unsafe fn $name<S: Scope>($at: *mut $t, $value: $t) -> $t {
            let old: $t;
            // SAFETY: by contract `at` points to a live value that is only accessed atomically.
            unsafe {
                match S::KIND {
                    Kind::Block if !is_shared($at) => {
                        asm!(concat!("atom.relaxed.cta.", $op, " {}, [{}], {};"),
                            out($class) old, in(reg64) $at, in($class) $value, options(nostack));
                    }
                    Kind::System if !is_shared($at) => {
                        asm!(concat!("atom.relaxed.sys.", $op, " {}, [{}], {};"),
                            out($class) old, in(reg64) $at, in($class) $value, options(nostack));
                    }
                    _ => old = $llvm,
                }
            }
            old
        }
    )* };
}

/// Defines loads, stores and compare-and-swap of unsigned integers; the signed types are cast to these.
macro_rules! access {
    (u32 $atomic:ident $class:ident) => {
        access!(u32 $atomic "b32" $class);
    };
    (u64 $atomic:ident $class:ident) => {
        access!(u64 $atomic "b64" $class);
    };
    ($signed:ident $atomic:ident $class:ident) => {};
    ($t:ident $atomic:ident $bits:literal $class:ident) => {
        #[inline(always)]
        pub unsafe fn load<S: Scope>(at: *const $t, order: Ordering) -> $t {
            macro_rules! ld {
                ($qualifiers:literal) => {{
                    let value;
                    asm!(concat!("ld.", $qualifiers, ".", $bits, " {}, [{}];"),
                        out($class) value, in(reg64) at, options(nostack));
                    value
                }};
            }
            if order == Ordering::SeqCst {
                fence::fence::<S>(order);
            }
            // SAFETY: by contract `at` points to a live value that is only accessed atomically.
            unsafe {
                if is_shared(at) {
                    let value = $atomic::from_ptr(at.cast_mut()).load(Ordering::Relaxed);
                    fence::after::<S>(order);
                    return value;
                }
                match (order, S::KIND) {
                    (Ordering::Relaxed, Kind::Block) => ld!("relaxed.cta"),
                    (Ordering::Relaxed, Kind::Device) => ld!("relaxed.gpu"),
                    (Ordering::Relaxed, Kind::System) => ld!("relaxed.sys"),
                    (Ordering::Release | Ordering::AcqRel, _) => {
                        panic!("a load can't have the ordering `Release` or `AcqRel`")
                    }
                    (_, Kind::Block) => ld!("acquire.cta"),
                    (_, Kind::Device) => ld!("acquire.gpu"),
                    (_, Kind::System) => ld!("acquire.sys"),
                }
            }
        }

        #[inline(always)]
        pub unsafe fn store<S: Scope>(at: *mut $t, value: $t, order: Ordering) {
            macro_rules! st {
                ($qualifiers:literal) => {
                    asm!(concat!("st.", $qualifiers, ".", $bits, " [{}], {};"),
                        in(reg64) at, in($class) value, options(nostack))
                };
            }
            if order == Ordering::SeqCst {
                fence::fence::<S>(order);
            }
            // SAFETY: by contract `at` points to a live value that is only accessed atomically.
            unsafe {
                if is_shared(at) {
                    fence::before::<S>(order);
                    return $atomic::from_ptr(at).store(value, Ordering::Relaxed);
                }
                match (order, S::KIND) {
                    (Ordering::Relaxed, Kind::Block) => st!("relaxed.cta"),
                    (Ordering::Relaxed, Kind::Device) => st!("relaxed.gpu"),
                    (Ordering::Relaxed, Kind::System) => st!("relaxed.sys"),
                    (Ordering::Acquire | Ordering::AcqRel, _) => {
                        panic!("a store can't have the ordering `Acquire` or `AcqRel`")
                    }
                    (_, Kind::Block) => st!("release.cta"),
                    (_, Kind::Device) => st!("release.gpu"),
                    (_, Kind::System) => st!("release.sys"),
                }
            }
        }

        /// Returns the previous value.
        #[inline(always)]
        pub unsafe fn cas<S: Scope>(at: *mut $t, current: $t, new: $t) -> $t {
            macro_rules! cas {
                ($scope:literal) => {{
                    let old;
                    asm!(
                        concat!("atom.relaxed.", $scope, ".cas.", $bits, " {}, [{}], {}, {};"),
                        out($class) old, in(reg64) at, in($class) current, in($class) new, options(nostack)
                    );
                    old
                }};
            }
            // SAFETY: by contract `at` points to a live value that is only accessed atomically.
            unsafe {
                if is_shared(at) {
                    let place = $atomic::from_ptr(at);
                    let result = place.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed);
                    return result.unwrap_or_else(|found| found);
                }
                match S::KIND {
                    Kind::Block => cas!("cta"),
                    Kind::Device => cas!("gpu"),
                    Kind::System => cas!("sys"),
                }
            }
        }
    };
}

macro_rules! integer {
    ($t:ident $atomic:ident $class:ident:
        $add:literal $min:literal $max:literal $exch:literal $and:literal $or:literal $xor:literal) => {
        pub mod $t {
            use super::*;
            read_modify_write! {
                swap($t in $class) = $exch or |at, value| $atomic::from_ptr(at).swap(value, Ordering::Relaxed);
                add($t in $class) = $add or |at, value| $atomic::from_ptr(at).fetch_add(value, Ordering::Relaxed);
                min($t in $class) = $min or |at, value| $atomic::from_ptr(at).fetch_min(value, Ordering::Relaxed);
                max($t in $class) = $max or |at, value| $atomic::from_ptr(at).fetch_max(value, Ordering::Relaxed);
                and($t in $class) = $and or |at, value| $atomic::from_ptr(at).fetch_and(value, Ordering::Relaxed);
                or($t in $class) = $or or |at, value| $atomic::from_ptr(at).fetch_or(value, Ordering::Relaxed);
                xor($t in $class) = $xor or |at, value| $atomic::from_ptr(at).fetch_xor(value, Ordering::Relaxed);
            }
            access!($t $atomic $class);
        }
    };
}

integer!(u32 AtomicU32 reg32: "add.u32" "min.u32" "max.u32" "exch.b32" "and.b32" "or.b32" "xor.b32");
integer!(i32 AtomicI32 reg32: "add.s32" "min.s32" "max.s32" "exch.b32" "and.b32" "or.b32" "xor.b32");
integer!(u64 AtomicU64 reg64: "add.u64" "min.u64" "max.u64" "exch.b64" "and.b64" "or.b64" "xor.b64");
// There is no `add.s64`: in two's complement `add.u64` computes the same bits.
integer!(i64 AtomicI64 reg64: "add.u64" "min.s64" "max.s64" "exch.b64" "and.b64" "or.b64" "xor.b64");

pub mod f32 {
    use super::*;
    read_modify_write! {
        add(f32 in reg32) = "add.f32" or |at, value| llvm_add_f32(at, value);
    }
}

pub mod f64 {
    use super::*;
    read_modify_write! {
        add(f64 in reg64) = "add.f64" or |at, value| llvm_add_f64(at, value);
    }
}

read_modify_write! {
    inc(u32 in reg32) = "inc.u32" or |at, last| llvm_inc(at, last);
    dec(u32 in reg32) = "dec.u32" or |at, last| llvm_dec(at, last);
}
