//! Matrices in shared memory that descriptors locate. PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory
//! Layout", "Strides", "Matrix Descriptor Format".
//!
//! A matrix consists of chunks of 16 bytes. Of a factor whose rows are contiguous along k, a chunk belongs to one row
//! (of `b`: column); eight rows form a group. Of a transposed factor, a chunk belongs to one k and to eight rows. With
//! a swizzle, the bits 4 to 6 of a chunk's address are combined with the bits 7 to 9 by exclusive or (128 bytes; fewer
//! bits for 64 and 32 bytes).

use crate::tensor::swizzled;

/// Bytes of a chunk.
pub const CHUNK: u64 = 16;

/// Order of a factor in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Contiguous along k.
    K,
    /// Contiguous along the other dimension, m or n.
    Mn,
}

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Address of the first byte.
    pub start: u64,
    /// Leading dimension byte offset.
    pub leading: u64,
    /// Stride dimension byte offset.
    pub stride: u64,
    /// Number of the 128-byte row of the swizzle's pattern that the matrix starts with.
    pub base: u64,
    /// Chunks of a swizzled row: 1 (none), 2, 4 or 8.
    pub width: u64,
}

impl Descriptor {
    /// Decodes the 64 bits.
    pub fn of(bits: u64) -> Self {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let width = [1, 8, 4, 2][(bits >> 62) as usize];
        Self { start: field(0), leading: field(16), stride: field(32), base: bits >> 49 & 7, width }
    }

    /// Returns the address of a chunk. In the form `K`, `outer` is a row and `inner` counts chunks along k; in the form
    /// `Mn`, `outer` is a k and `inner` counts chunks along the other dimension.
    pub fn chunk(&self, form: Form, outer: u64, inner: u64) -> u64 {
        let Self { start, leading, stride, width, .. } = *self;
        let (group, row) = (outer / 8, outer % 8);
        let offset = match (form, width) {
            (Form::K, 1) => group * stride + row * CHUNK + inner * leading,
            (Form::K, _) => group * stride + row * width * CHUNK + inner * CHUNK,
            (Form::Mn, 1) => group * leading + row * CHUNK + inner * stride,
            (Form::Mn, _) => group * stride + row * width * CHUNK + inner / width * leading + inner % width * CHUNK,
        };
        self.swizzle(start + offset)
    }

    fn swizzle(&self, address: u64) -> u64 {
        swizzled(address.wrapping_sub(self.base << 7), self.width).wrapping_add(self.base << 7)
    }

    /// Reads a factor with `rows` rows (of `b`: columns) of `k` elements of `bytes` bytes each, by row, from chunks
    /// that `load` reads.
    pub fn read(&self, form: Form, rows: usize, k: usize, bytes: usize, load: impl Fn(u64) -> u128) -> Vec<u64> {
        let mut found = vec![0; rows * k];
        let per_chunk = CHUNK as usize / bytes;
        let kept = (1u128 << (8 * bytes)) - 1;
        let [outer, inner] = extent(form, rows, k, bytes);
        for o in 0..outer {
            for i in 0..inner {
                let chunk = load(self.chunk(form, o, i));
                for j in 0..per_chunk {
                    let (o, i) = (o as usize, i as usize * per_chunk + j);
                    let (row, column) = if form == Form::K { (o, i) } else { (i, o) };
                    if let Some(place) = found.get_mut(row * k + column) {
                        *place = (chunk >> (8 * bytes * j) & kept) as u64;
                    }
                }
            }
        }
        found
    }
}

/// Returns the numbers of chunks of a factor: see [`Descriptor::chunk`].
pub fn extent(form: Form, rows: usize, k: usize, bytes: usize) -> [u64; 2] {
    let chunks = |elements: usize| (elements * bytes).div_ceil(CHUNK as usize) as u64;
    match form {
        Form::K => [rows as u64, chunks(k)],
        Form::Mn => [k as u64, chunks(rows)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn descriptor(start: u64, leading: u64, stride: u64, mode: u64) -> Descriptor {
        Descriptor::of(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62)
    }

    #[test]
    fn swizzles_permute_the_chunks_of_their_rows() {
        for (width, row) in [(2, 32), (4, 64), (8, 128)] {
            let all: BTreeSet<u64> = (0..64).map(|chunk| swizzled(chunk * 16, width)).collect();
            assert_eq!(all.len(), 64);
            for chunk in 0..64u64 {
                let (from, to) = (chunk * 16, swizzled(chunk * 16, width));
                assert_eq!((from / row, swizzled(to, width)), (to / row, from), "{width}");
            }
        }
        // Row 3 of a tile of 128-byte rows: its first chunk lies at the fourth place.
        assert_eq!(swizzled(3 * 128, 8), 3 * 128 + 3 * 16);
        assert_eq!(swizzled(2 * 64, 4), 2 * 64 + 16);
        assert_eq!(swizzled(4 * 32, 2), 4 * 32 + 16);
    }

    #[test]
    fn a_step_along_k_inside_swizzled_rows_moves_the_start() {
        // 64 rows of 64 elements of two bytes; the second step of k = 16 starts 32 bytes later.
        let step = descriptor(1024 + 32, 0, 1024, 1);
        assert_eq!(step.chunk(Form::K, 0, 0), 1024 + 32);
        assert_eq!(step.chunk(Form::K, 3, 1), 1024 + 3 * 128);
        assert_eq!(step.chunk(Form::K, 8, 0), 2048 + 32);
    }

    #[test]
    fn without_swizzle_both_strides_count() {
        let plain = descriptor(256, 128, 512, 0);
        assert_eq!(plain.chunk(Form::K, 9, 1), 256 + 512 + 16 + 128);
        assert_eq!(plain.chunk(Form::Mn, 9, 2), 256 + 128 + 16 + 2 * 512);
    }

    #[test]
    fn transposed_factors_count_rows_in_chunks() {
        let wide = descriptor(0, 4096, 1024, 1);
        assert_eq!(wide.chunk(Form::Mn, 0, 9), 4096 + 16);
        assert_eq!(wide.chunk(Form::Mn, 9, 0), 1024 + 128 + 16);
        let memory: Vec<u8> = (0..8192u32).map(|at| (at / 2 % 251) as u8).collect();
        let load = |at: u64| u128::from_le_bytes(memory[at as usize..at as usize + 16].try_into().expect("16 bytes"));
        let read = wide.read(Form::Mn, 64, 16, 2, load);
        let place = wide.chunk(Form::Mn, 5, 3) as usize + 2 * 6;
        assert_eq!(read[(3 * 8 + 6) * 16 + 5], u64::from(memory[place]) | u64::from(memory[place + 1]) << 8);
    }
}
