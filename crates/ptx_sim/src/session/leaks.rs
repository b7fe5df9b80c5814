//! Memory that remains allocated after kernels have run, and bytes that remain uninitialised.

use super::Machine;
use crate::memory::Owner;
use crate::memory::cells::undefined_in;

/// An allocation in device memory that has not been freed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// Name passed to [`Machine::alloc`]; `device malloc` for a kernel's allocation.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Start address.
    pub address: u64,
    /// Whether a kernel allocated it by `malloc`.
    pub by_kernel: bool,
}

impl Machine {
    /// Returns the allocations of the host and of kernels that have not been freed, sorted by address. Variables of
    /// programs are not included.
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

    /// Returns the first undefined byte and the number of undefined bytes among `bytes` bytes of one allocation; `None`
    /// if there are none, or [`Checks::uninit`](crate::Checks::uninit) is off.
    pub(crate) fn unwritten(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        self.memory.with_shadow(address, |shadow, offset| undefined_in(shadow, offset, bytes)).flatten()
    }
}
