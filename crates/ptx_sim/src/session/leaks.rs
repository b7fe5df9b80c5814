//! What is left when kernels have run: memory that nobody freed, bytes that nobody has written.

use super::Machine;
use crate::memory::Owner;
use crate::memory::cells::undefined_in;

/// Device memory that is not freed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// As [`Machine::alloc`] was told; `device malloc` for what a kernel allocated.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Where it starts.
    pub address: u64,
    /// A kernel called `malloc`.
    pub by_kernel: bool,
}

impl Machine {
    /// What was allocated by the host and by kernels and not freed until now, by address. Variables of programs are
    /// none of it.
    pub fn leaks(&self) -> Vec<Leak> {
        let mut leaks = Vec::new();
        self.memory.each_live(|allocation| {
            if allocation.owner != Owner::Program {
                leaks.push(Leak {
                    name: allocation.name.to_string(),
                    bytes: allocation.size,
                    address: allocation.base,
                    by_kernel: allocation.owner != Owner::Host,
                });
            }
        });
        leaks
    }

    /// The first byte without a defined value, and how many there are, among `bytes` bytes of one allocation; `None`
    /// when there are none, or [`Checks::uninit`](crate::Checks::uninit) is off.
    pub(crate) fn unwritten(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        self.memory.with_shadow(address, |shadow, offset| undefined_in(shadow, offset, bytes)).flatten()
    }
}
