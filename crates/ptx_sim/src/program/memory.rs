//! Operands of instructions that access memory.

use crate::isa::memory::{AtomicOperation, Order, Scope, Space};
use crate::registers::Slot;

/// The address operand of a memory instruction: a row plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Row of `w64`, or of `w32` when `narrow`.
    pub base: Slot,
    /// The base is a 32-bit register (allowed for shared, local and const).
    pub narrow: bool,
    /// Added to the base, wrapping.
    pub offset: i64,
}

/// A load or a store of one, two, four or eight elements.
#[derive(Clone, Debug)]
pub struct Access {
    /// Space named by the instruction.
    pub space: Space,
    /// Memory order.
    pub order: Order,
    /// Scope of the order; meaningless for `Weak`.
    pub scope: Scope,
    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Registers are rows of `w64` (else `w32`). A 16-byte element takes two rows, starting at the one named.
    pub wide: bool,
    /// Load: sign-extend the element to this many bits (16, 32, 64) and keep that many; 0: zero-extend.
    pub sign_extend: u8,
    /// One row per element, in address order; `NO_SLOT` for `_`.
    pub registers: Vec<Slot>,
    /// Address of the access.
    pub address: Address,
    /// `ld.global.nc`: the memory must not be written during the launch.
    pub non_coherent: bool,
    /// `.pragma "used_bytes_mask"`: bit i clear means that byte i of the access is not used afterwards.
    pub used_bytes: u64,
}

/// A read-modify-write. `combine(old, b, c)` gives the new value from zero-extended bits.
#[derive(Clone, Debug)]
pub struct Atomic {
    /// What is computed.
    pub operation: AtomicOperation,
    /// The operands have an unsigned type.
    pub unsigned: bool,
    /// Space named by the instruction.
    pub space: Space,
    /// Memory order; PTX's default is `Relaxed`.
    pub order: Order,
    /// The text names the order.
    pub order_is_written: bool,
    /// Scope of the order; PTX's default is `Gpu`.
    pub scope: Scope,
    /// Size in bytes: 2, 4 or 8.
    pub bytes: u8,
    /// Rows are in `w64` (else `w32`).
    pub wide: bool,
    /// Old value; `None` for `red`, `NO_SLOT` for an `atom` whose result is `_`.
    pub destination: Option<Slot>,
    /// Address of the access.
    pub address: Address,
    /// First operand.
    pub b: Slot,
    /// Second operand of `cas` (the new value); else equal to `b`.
    pub c: Slot,
    /// The new value from (old, b, c).
    pub combine: fn(u64, u64, u64) -> u64,
}
