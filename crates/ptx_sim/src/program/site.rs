//! The position of an instruction in a program.

/// An instruction: index of its function, and its index in the function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
}
