//! Runs PTX on the CPU, finds its bugs and explains its cost.

mod check;
pub mod count;
mod decode;
mod diagnostics;
pub mod isa;
mod machine;
mod observe;
pub mod program;
pub mod registers;
pub mod stop;
mod syntax;

pub use count::{Counters, InstructionCounters};
pub use machine::{Checks, Config, Launch, Machine, Profile, Report};
pub use program::Program;
pub use stop::{Finding, Stop, StopKind};
pub use syntax::ParseError;
