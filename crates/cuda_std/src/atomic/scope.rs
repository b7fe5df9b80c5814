//! Scopes: the set of threads that an atomic operation or a fence concerns.

use crate::launch::Instance;

/// The threads among which an operation is atomic or a fence orders accesses: [`Block`], [`Device`] or [`System`].
pub trait Scope: sealed::Sealed + 'static {
    #[doc(hidden)]
    const KIND: Kind;
}

/// The scope as a value, for `match`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Block,
    Device,
    System,
}

/// The threads of one block (PTX `.cta`).
#[derive(Clone, Copy, Debug)]
pub struct Block;

/// The threads of one device (PTX `.gpu`).
#[derive(Clone, Copy, Debug)]
pub struct Device;

/// The threads of all devices, and the host (PTX `.sys`).
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Scope for Block {
    const KIND: Kind = Kind::Block;
}
impl Scope for Device {
    const KIND: Kind = Kind::Device;
}
impl Scope for System {
    const KIND: Kind = Kind::System;
}

impl Instance for Block {
    const NAME: &'static str = "block";
}
impl Instance for Device {
    const NAME: &'static str = "device";
}
impl Instance for System {
    const NAME: &'static str = "system";
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Block {}
    impl Sealed for super::Device {}
    impl Sealed for super::System {}
}
