//! A box of a tensor: its rows in global memory, and the order of its bytes in shared memory.

use super::{RANK, TensorMap, swizzled};

/// A box of a tensor, and its place in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub map: TensorMap,
    /// Coordinates of its first element.
    pub start: [i32; RANK],
    /// Offset of the box in shared memory.
    pub shared: u64,
}

impl Tile {
    /// Returns the rows inside the tensor: offset in the box, address, bytes.
    pub fn rows(&self) -> Vec<(u64, u64, u64)> {
        let mut rows = Vec::new();
        self.map.rows(self.start, |offset, address, bytes| rows.push((offset, address, bytes)));
        rows
    }

    /// Returns the rows that a store writes: those inside the tensor, up to the end of their last unit of 16 bytes, if
    /// the box has it. (Observed on an H200: elements behind a row whose length is no multiple of 16 bytes are
    /// overwritten. Reductions were not observed.)
    pub fn stored_rows(&self) -> Vec<(u64, u64, u64)> {
        let whole = |(offset, address, bytes): (u64, u64, u64)| {
            let left = self.map.row_bytes() - offset % self.map.row_bytes();
            (offset, address, bytes.next_multiple_of(16).min(left))
        };
        self.rows().into_iter().map(whole).collect()
    }

    /// Returns the bytes of a box outside of the tensor.
    pub fn filled(&self) -> Vec<u8> {
        let element = self.map.fill().to_le_bytes();
        element[..self.map.element.bytes() as usize]
            .iter()
            .copied()
            .cycle()
            .take(self.map.box_bytes() as usize)
            .collect()
    }

    /// Whether bytes between the rows in shared memory belong to none of them.
    pub fn has_gaps(&self) -> bool {
        self.map.pitch() != self.map.row_bytes()
    }

    /// Returns the offset in shared memory of each chunk of 16 bytes of the box.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        (0..(self.map.box_bytes() / 16) as usize).map(|chunk| self.shared + self.place(chunk) as u64)
    }

    /// Orders the chunks of a box without gaps as in shared memory.
    pub fn swizzled(&self, rows: &[u8]) -> Vec<u8> {
        let mut found = vec![0; rows.len()];
        for (at, chunk) in rows.chunks(16).enumerate() {
            found[self.place(at)..][..chunk.len()].copy_from_slice(chunk);
        }
        found
    }

    /// Reverses [`Tile::swizzled`].
    pub fn unswizzled(&self, shared: &[u8]) -> Vec<u8> {
        (0..shared.len() / 16).flat_map(|at| shared[self.place(at)..][..16].iter().copied()).collect()
    }

    /// Returns the number of rows of the box, those of all its dimensions but the first.
    pub fn row_count(&self) -> u64 {
        self.map.box_bytes() / self.map.row_bytes()
    }

    /// Returns the offset in shared memory of a row's chunk of 16 bytes.
    pub fn address(&self, row: u64, chunk: u64) -> u64 {
        swizzled(self.shared + row * self.map.pitch() + 16 * chunk, self.map.swizzle)
    }

    /// Returns the row that the byte at an offset in shared memory belongs to, and its chunk: the inverse of
    /// [`Tile::address`].
    pub fn row_and_chunk(&self, address: u64) -> (u64, u64) {
        let offset = swizzled(address, self.map.swizzle) - self.shared;
        (offset / self.map.pitch(), offset % self.map.pitch() / 16)
    }

    fn place(&self, chunk: usize) -> usize {
        let chunks = self.map.row_bytes() / 16;
        (self.address(chunk as u64 / chunks, chunk as u64 % chunks) - self.shared) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;

    #[test]
    fn a_store_ends_with_a_unit_of_16_bytes_or_with_the_box() {
        let rows = |size, block| {
            let map = TensorMap::tiled(Element::Bf16, 4096, &[size, 2], &[512], &[block, 4], &[1, 1], 0);
            let tile = Tile { map: map.expect("a valid map"), start: [64, 1, 0, 0, 0], shared: 0 };
            (tile.rows(), tile.stored_rows())
        };
        let at = |bytes| vec![(0, 4096 + 512 + 128, bytes)];
        assert_eq!(rows(99, 64), (at(70), at(80)));
        assert_eq!(rows(104, 64), (at(80), at(80)));
        assert_eq!(rows(77, 8), (at(16), at(16)));
    }

    #[test]
    fn places_are_those_of_rows_and_chunks() {
        for (columns, swizzle) in [(64, 0), (64, 128), (24, 128), (32, 64), (16, 32)] {
            let map = TensorMap::tiled(Element::Bf16, 4096, &[64, 9], &[128], &[columns, 9], &[], swizzle);
            let tile = Tile { map: map.expect("a valid map"), start: [0; RANK], shared: 384 };
            let all: Vec<_> = tile.places().collect();
            assert_eq!(all.len() as u64, tile.row_count() * u64::from(columns) / 8);
            for (i, address) in all.into_iter().enumerate() {
                let (row, chunk) = (i as u64 / u64::from(columns / 8), i as u64 % u64::from(columns / 8));
                assert_eq!((tile.address(row, chunk), tile.row_and_chunk(address)), (address, (row, chunk)));
            }
        }
    }
}
