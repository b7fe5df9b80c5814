//! Choices that the memory model leaves to the user.

/// How the race checker reads a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// `None`: by what wrote the PTX.
    pub atomics: Option<Atomics>,
    pub same_value_writes: SameValue,
}

/// How `atom` and `red` without a memory order are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomics {
    /// What the source most likely said: acquire and release. LLVM up to version 22 drops the ordering of `atomicrmw`.
    Source,
    /// What PTX says: relaxed. Order needs fences.
    Ptx,
}

/// How unordered writes of one value to the same place are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SameValue {
    /// A race, as PTX and Rust have it; the report has a note.
    #[default]
    Report,
    /// A habit of CUDA programmers.
    Ignore,
}
