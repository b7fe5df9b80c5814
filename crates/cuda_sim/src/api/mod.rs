//! The functions of the driver, by chapter of its documentation.

mod array;
mod context;
mod copy;
mod device;
mod event;
mod fill;
mod function;
mod graph;
mod host;
mod launch;
mod library;
mod linker;
mod memory;
mod module;
mod node;
mod occupancy;
mod peer;
mod pointer;
mod pool;
mod refused;
mod start;
mod stream;
mod tensor;
mod texture;
mod user_object;

use crate::entry::Symbol;

/// The functions of all chapters.
pub const SYMBOLS: &[&[Symbol]] = &[
    array::SYMBOLS,
    context::SYMBOLS,
    copy::SYMBOLS,
    device::SYMBOLS,
    event::SYMBOLS,
    fill::SYMBOLS,
    function::SYMBOLS,
    graph::SYMBOLS,
    host::SYMBOLS,
    launch::SYMBOLS,
    library::SYMBOLS,
    linker::SYMBOLS,
    memory::SYMBOLS,
    module::SYMBOLS,
    node::SYMBOLS,
    occupancy::SYMBOLS,
    peer::SYMBOLS,
    pointer::SYMBOLS,
    pool::SYMBOLS,
    refused::SYMBOLS,
    start::SYMBOLS,
    stream::SYMBOLS,
    tensor::SYMBOLS,
    texture::SYMBOLS,
    user_object::SYMBOLS,
];
