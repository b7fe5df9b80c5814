//! Operands of instructions that access memory.

use crate::isa::memory::{AtomicOperation, Order, Scope, Space};
use crate::registers::Slot;

/// The address operand of a memory instruction: a row plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Row of `w64`, or of `w32` when `narrow`.
    pub base: Slot,
    /// Whether the base is a 32-bit register (allowed for shared, local and const).
    pub narrow: bool,
    /// Offset in bytes, added to the base with wrapping.
    pub offset: i64,
}

/// A load or a store of one, two, four or eight elements.
#[derive(Clone, Debug)]
pub struct Access {
    /// State space named by the instruction.
    pub space: Space,
    /// Memory order.
    pub order: Order,
    /// Scope of the order; meaningless for `Weak`.
    pub scope: Scope,
    /// Size of one element in bytes: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Whether registers are rows of `w64`; otherwise of `w32`. A 16-byte element takes two rows, starting at the one
    /// named.
    pub wide: bool,
    /// For a load: width in bits (16, 32, 64) to which the element is sign-extended; 0 for zero extension.
    pub sign_extend: u8,
    /// One row per element, in address order; `NO_SLOT` for `_`.
    pub registers: Vec<Slot>,
    /// Address of the access.
    pub address: Address,
    /// `ld.global.nc`: the memory must not be written during the launch.
    pub non_coherent: bool,
    /// Mask of `.pragma "used_bytes_mask"`: if bit i is clear, byte i of the access is not used afterwards.
    pub used_bytes: u64,
}

/// A read-modify-write. `combine(old, b, c)` computes the new value from zero-extended bits.
#[derive(Clone, Debug)]
pub struct Atomic {
    /// Operation that computes the new value.
    pub operation: AtomicOperation,
    /// Whether the operands have an unsigned type.
    pub unsigned: bool,
    /// State space named by the instruction.
    pub space: Space,
    /// Memory order; PTX's default is `Relaxed`.
    pub order: Order,
    /// Whether the text names the order.
    pub order_is_written: bool,
    /// Scope of the order; PTX's default is `Gpu`.
    pub scope: Scope,
    /// Size in bytes: 2, 4 or 8.
    pub bytes: u8,
    /// Whether rows are in `w64`; otherwise in `w32`.
    pub wide: bool,
    /// Row for the old value; `None` for `red`, `NO_SLOT` for an `atom` whose result is `_`.
    pub destination: Option<Slot>,
    /// Address of the access.
    pub address: Address,
    /// First operand.
    pub b: Slot,
    /// Second operand of `cas` (the new value); otherwise equal to `b`.
    pub c: Slot,
    /// Computes the new value from (old, b, c).
    pub combine: fn(u64, u64, u64) -> u64,
}
