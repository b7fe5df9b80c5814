//! Decodes the syntax tree to a [`Program`](crate::Program): names become rows, offsets and indices; opcodes become
//! functions.
//!
//! An instruction that only moves bits between registers is a row of `isa`. Every other instruction is a row of
//! [`effects`]: the table lists the chapters, each of which has its rows and the functions that decode them.

mod asynchronous;
mod atomics;
mod cluster;
mod control;
mod conversions;
mod decoder;
mod effects;
mod frames;
mod function;
mod instruction;
mod locations;
mod matrix;
mod memory;
mod module;
mod moves;
mod names;
mod operands;
mod product;
mod reject;
mod rows;
mod sparse;
mod tensor_maps;
#[cfg(test)]
mod tests;
mod texture;
mod variables;
mod video;
mod warpgroup;
