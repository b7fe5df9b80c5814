//! Text to tree. Knows the shape of PTX and nothing of what it does: an unknown instruction is an opcode with operands.

mod error;
mod lexer;
mod literal;
mod module;
mod parser;
mod statement;
pub mod tree;

pub use error::ParseError;
pub use module::parse;
pub(crate) use parser::type_bytes;
