//! Options for what the memory model leaves open to the race checker, of `check` and `sanitize`.

use rustwarp::backend::{Atomics, Checkers, SameValue, Volatile};

/// How the race checker interprets a program.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// How the race checker interprets atomics without an ordering: source (acquire and release), ptx (relaxed), or
    /// auto: source for PTX written by LLVM, which drops the source's ordering [default: auto]
    #[arg(long, value_parser = str::parse::<Atomics>)]
    atomics: Option<Atomics>,
    /// How the race checker treats writes of one value to one address by several instructions or warps: report or
    /// ignore. Lanes of one store that write the same value never race [default: report]
    #[arg(long, value_parser = str::parse::<SameValue>)]
    same_value: Option<SameValue>,
    /// How the race checker interprets volatile accesses: strong (they are relaxed atomic accesses, as PTX defines
    /// them) or weak (they race, as in C++) [default: strong]
    #[arg(long, value_parser = str::parse::<Volatile>)]
    volatile: Option<Volatile>,
}

impl Options {
    /// These options, and those of `others` that are not given here.
    pub fn or(self, others: Self) -> Self {
        Self {
            atomics: self.atomics.or(others.atomics),
            same_value: self.same_value.or(others.same_value),
            volatile: self.volatile.or(others.volatile),
        }
    }

    /// The default checkers, with this interpretation.
    pub fn checkers(self) -> Checkers {
        let (atomics, same_value) = (self.atomics.unwrap_or_default(), self.same_value.unwrap_or_default());
        Checkers { atomics, same_value, volatile: self.volatile.unwrap_or_default(), ..Checkers::default() }
    }

    /// The variables by which the driver's library takes the options that are given, with their values.
    pub fn variables(self) -> [(&'static str, Option<String>); 3] {
        [
            ("RUSTWARP_SIM_ATOMICS", self.atomics.map(|atomics| atomics.to_string())),
            ("RUSTWARP_SIM_SAME_VALUE", self.same_value.map(|same_value| same_value.to_string())),
            ("RUSTWARP_SIM_VOLATILE", self.volatile.map(|volatile| volatile.to_string())),
        ]
    }
}
