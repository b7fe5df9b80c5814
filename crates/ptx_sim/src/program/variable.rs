//! Variables of a module, their initialisers, and symbols with addresses.

use crate::isa::memory::Space;

/// A variable of a module.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name in the PTX text.
    pub name: String,
    /// `Global`, `Const` or `Shared`.
    pub space: Space,
    /// Size in bytes; 0 for an `.extern .shared x[]`, whose size the launch gives.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Leading bytes; the rest is zero. Empty without an initialiser (then shared memory starts undefined, global
    /// memory zero).
    pub init: Vec<u8>,
    /// Addresses to insert into the initialiser.
    pub relocations: Vec<Relocation>,
    /// Whether it is an `.extern .shared x[]`, which starts at the end of the block's static shared memory.
    pub dynamic: bool,
    /// Whether host and device share it, `.attribute(.managed)`.
    pub managed: bool,
}

/// An address in an initialiser.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Byte offset in the variable; 8 bytes are written.
    pub offset: u64,
    /// The symbol whose address is written.
    pub target: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// Whether it is the generic address, `generic(x)`, instead of the one in the symbol's space.
    pub generic: bool,
}

/// A symbol with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Index into `Program::variables`.
    Variable(u32),
    /// Index into `Program::functions`; the address is an opaque non-zero handle.
    Function(u32),
    /// Byte offset into the kernel's parameters (`Space::Param`).
    KernelParam(u64),
    /// Byte offset into the function's frame (`Space::Local` and `Space::Frame`).
    Frame(u64),
}
