//! What is left when kernels have run: bytes that nobody has written.

use super::Machine;
use crate::check::uninit::undefined_in;

impl Machine {
    /// The first byte without a defined value, and how many there are, among `bytes` bytes of one allocation; `None` when there
    /// are none, or [`Checks::uninit`](super::Checks::uninit) is off.
    pub(crate) fn unwritten(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        self.memory.with_shadow(address, |shadow, offset| undefined_in(shadow, offset, bytes)).flatten()
    }
}
