//! Options of the race checker that the memory model leaves open.

/// How the race checker interprets a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How atomics without an ordering are interpreted; `None` to decide by the generator of the PTX.
    pub atomics: Option<Atomics>,
    pub same_value_writes: SameValue,
    pub volatile: Volatile,
}

/// How `atom` and `red` without a memory order are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Atomics {
    /// As acquire and release, which is the likely intent of the source: LLVM up to version 22 drops the ordering of
    /// `atomicrmw`.
    Source,
    /// As relaxed, which is PTX's definition; ordering then needs fences.
    Ptx,
}

/// How `ld.volatile` and `st.volatile` are interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Volatile {
    /// As strong accesses, which is PTX's definition: relaxed, at system scope.
    #[default]
    Strong,
    /// As ordinary accesses, which race: as C++ defines `volatile`.
    Weak,
}

/// How unordered writes of the same value to the same address are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SameValue {
    /// As a race, as PTX and Rust define it; the report has a note.
    #[default]
    Report,
    /// As intended, following a common CUDA idiom.
    Ignore,
}
