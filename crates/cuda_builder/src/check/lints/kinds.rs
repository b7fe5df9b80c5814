//! The kinds of warnings, and a warning.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::check::listing::Place;

macro_rules! lints {
    ($($variant:ident $name:literal $meaning:literal $help:literal),* $(,)?) => {
        /// A kind of warning about a kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Lint {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                $variant,
            )*
        }

        impl Lint {
            /// Every lint.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Name, in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What it reports.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }

            /// What to do.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$variant => $help,)*
                }
            }
        }
    };
}

lints! {
    LocalMemory "local_memory"
        "an array or a value whose address is taken is in local memory, which is as slow as global memory"
        "index the array by constants (unroll the loop), or place it in shared memory",
    Spills "spills"
        "ptxas keeps values in local memory, because the registers of a thread do not suffice"
        "keep fewer values at a time, use smaller tiles, or allow more registers per thread",
    GenericShared "generic_shared"
        "shared memory is accessed by a generic address, whose memory the GPU determines at run time"
        "take the address from the shared static where it is used, not from a variable that may point elsewhere",
    F64Arithmetic "f64_arithmetic"
        "f32 values are converted to f64, computed with, and converted back"
        "write constants as `1.0_f32`; most GPUs have 1/32 or 1/64 as many units for f64",
    DivergentBarrier "divergent_barrier"
        "a barrier of the block is in code that only some of its threads may execute"
        "move the barrier out of the branch or loop, or make the condition the same for the whole block",
    CoreAtomics "core_atomics"
        "LLVM drops the ordering and the scope of a read-modify-write of `core::sync::atomic`"
        "use `cuda_std::atomic`, whose operations have both",
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Warning {
    /// Its kind.
    pub lint: Lint,
    /// The line; `None` if the PTX has no line tables.
    pub place: Option<Place>,
    /// The entries that it concerns, which are instances of one kernel or use the same code.
    pub entries: Vec<String>,
    /// What is there, as a sentence without its end.
    pub what: String,
}

impl fmt::Display for Warning {
    /// Writes one line: place, kind, description, entries, remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, column }) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        let first = self.entries.first().map_or("", String::as_str);
        write!(f, "{}: {} in `{first}`", self.lint, self.what)?;
        if self.entries.len() > 1 {
            write!(f, " and {} more", self.entries.len() - 1)?;
        }
        write!(f, "; help: {}, or turn the lint off by `#[kernel(allow({}))]`", self.lint.help(), self.lint)
    }
}

/// Collects what a lint finds.
pub(super) struct Found<'a> {
    /// The entry that is examined.
    pub entry: &'a str,
    /// Its own line, for code that has none.
    pub line: Option<Place>,
    /// The entries of each warning so far.
    pub all: BTreeMap<(Option<Place>, Lint, String), BTreeSet<String>>,
    /// Whether a lint is turned off for an entry.
    pub allowed: &'a dyn Fn(Lint, &str) -> bool,
}

impl Found<'_> {
    /// Adds a warning about the entry, unless it turns the lint off.
    pub fn add(&mut self, lint: Lint, place: Option<&Place>, what: impl Into<String>) {
        if !(self.allowed)(lint, self.entry) {
            let place = place.or(self.line.as_ref()).cloned();
            self.all.entry((place, lint, what.into())).or_default().insert(self.entry.to_owned());
        }
    }
}
