//! Variables of the device, by their addresses in the host's code.

use crate::code::{Answer, Code};
use crate::entry::put;
use crate::{exported, registry};

exported! {
    cudaGetSymbolAddress(address: *mut u64, symbol: usize) { put(address, registry::variable(symbol)?.0) }

    cudaGetSymbolSize(bytes: *mut usize, symbol: usize) { put(bytes, registry::variable(symbol)?.1) }
}

/// The address of `bytes` at an offset in a variable.
///
/// # Errors
/// `INVALID_SYMBOL` if there is none; `INVALID_VALUE` if it ends before.
pub(super) fn place(symbol: usize, offset: usize, bytes: usize) -> Answer<u64> {
    let (address, size) = registry::variable(symbol)?;
    let end = offset.checked_add(bytes).filter(|end| *end <= size);
    end.map(|_| address + offset as u64).ok_or(Code::INVALID_VALUE)
}
