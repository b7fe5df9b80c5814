//! How the ranks of several processes exchange bytes on the host.
//!
//! Rank 0 hosts a server, and every rank, rank 0 too, is connected with it by one TCP connection. A rank posts its part
//! of an exchange, and the server forwards it to all other ranks. `docs/decisions/group-store.md` has the protocol and
//! what its secret protects.

mod clamped;
mod client;
mod config;
mod connect;
mod exchanges;
mod frame;
mod handshake;
mod hello;
mod ledger;
mod names;
mod secret;
mod sender;
mod server;
#[cfg(test)]
mod tests;
mod timed;

pub use client::{Client, Ticket};
pub use hello::Hello;
