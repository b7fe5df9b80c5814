//! The lanes of an access: their addresses by state space.

use crate::isa::lift::every;
use crate::lanes;
use crate::memory::address;
use crate::observe::AccessKind;
use crate::program::{Address, Order, Scope, Space};
use crate::registers::{LANES, Registers};

/// Computes the addresses of all lanes, including inactive ones.
#[inline(always)]
pub fn addresses(registers: &Registers, address: &Address) -> [u64; LANES] {
    let offset = address.offset as u64;
    if address.narrow {
        let base = &registers.w32[address.base as usize];
        every(|lane| u64::from(base[lane].wrapping_add(offset as u32)))
    } else {
        let base = &registers.w64[address.base as usize];
        every(|lane| base[lane].wrapping_add(offset))
    }
}

/// Properties of a memory instruction for checks and observers.
#[derive(Clone, Copy)]
pub struct Shape {
    pub kind: AccessKind,
    pub order: Order,
    pub scope: Scope,
    /// Bytes per lane.
    pub bytes: u32,
    /// See [`matrix_rows`](crate::observe::Touch::matrix_rows).
    pub matrix_rows: bool,
}

/// Lanes that access one state space, and the addresses there.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub space: Space,
    pub addresses: &'a [u64; LANES],
    pub mask: u32,
}

/// Divides the lanes of `mask` by state space, and returns space, lanes and addresses in it: once, or for generic
/// addresses once per space that occurs. Constant memory is part of device memory and keeps its generic addresses.
#[inline(always)]
pub fn in_each_space(
    space: Space,
    addresses: &[u64; LANES],
    mask: u32,
) -> impl Iterator<Item = (Space, u32, [u64; LANES])> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let (space, here, inside) = part(space, addresses, rest);
            rest &= !here;
            (space, here, inside)
        })
    })
}

/// Selects the lanes of `mask` that access the same specific space as the first of them, and converts all addresses to
/// offsets there.
#[inline(always)]
pub fn part(space: Space, addresses: &[u64; LANES], mask: u32) -> (Space, u32, [u64; LANES]) {
    match space {
        Space::Generic => {
            let space = address::space_of(addresses[lanes::first(mask)]);
            let here = lanes::select(mask, |lane| address::space_of(addresses[lane]) == space);
            let window = if space == Space::Const { 0 } else { address::window(space) };
            (space, here, addresses.map(|address| address.wrapping_sub(window)))
        }
        Space::Const => (space, mask, addresses.map(|address| address.wrapping_add(address::window(Space::Const)))),
        _ => (space, mask, *addresses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_addresses_are_divided_by_space() {
        let shared = address::window(Space::Shared);
        let addresses = std::array::from_fn(|lane| if lane % 2 == 0 { shared + lane as u64 } else { 1 << 20 });
        let found: Vec<_> = in_each_space(Space::Generic, &addresses, 0b1111).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0, found[0].1, found[0].2[2]), (Space::Shared, 0b0101, 2));
        assert_eq!((found[1].0, found[1].1), (Space::Global, 0b1010));
        assert_eq!(in_each_space(Space::Shared, &addresses, 0b1111).count(), 1);
        assert_eq!(in_each_space(Space::Generic, &addresses, 0).count(), 0);
    }
}
