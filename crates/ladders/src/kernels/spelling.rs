//! The spelling of parameters and settings in messages: as options of the command line. No other file of this crate
//! contains it.

use std::fmt;

/// A parameter of jobs and benchmarks that is an option of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
}

macro_rules! parameters {
    ($($constant:ident $name:literal)*) => {
        $(pub(crate) const $constant: Parameter = Parameter { name: $name };)*

        /// Every parameter that messages of this crate name.
        pub const PARAMETERS: &[Parameter] = &[$($constant),*];
    };
}
parameters! {
    N "n"
    BLOCK_SIZE "block"
    GRID_SIZE "grid"
    OP "op"
    DTYPE "dtype"
    VARIANT "variant"
    REPEAT "repeat"
    PEERS "peers"
    STREAM "stream"
    CHUNK "chunk"
    NO_VERIFY "no-verify"
}

/// The option with this name.
pub(crate) fn option(name: &str) -> String {
    format!("--{name}")
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&option(self.name))
    }
}
