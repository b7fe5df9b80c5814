//! Parser: turns PTX text into a tree. The grammar has no list of instructions, so any opcode with well-formed operands
//! parses; the module `decode` gives it a meaning.

mod error;
mod expand;
mod expression;
mod lexer;
mod literal;
mod module;
mod parser;
pub mod section;
mod statement;
mod target;
pub mod tree;

pub use error::ParseError;
pub use module::parse;
pub(crate) use parser::type_bytes;
