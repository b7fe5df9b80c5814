//! Runs PTX on the CPU, finds its bugs and explains its cost.

pub mod program;
pub mod registers;
