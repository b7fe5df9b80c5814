//! Products whose first factor is sparse: `mma.sp`. PTX ISA, "Sparse matrix storage" and "Matrix fragments for
//! multiply-accumulate operation with sparse matrix A".
//!
//! Of every two (tf32), four, or eight (4 bits, in pairs) neighbours in a row of `a`, half are stored, and indices of
//! two bits state which; they are the metadata. The stored half has the layout of a factor of half the depth.

use super::shape::{Multiply, Sparse};
use crate::registers::LANES;

/// Metadata that PTX leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Lane whose register has it.
    pub lane: usize,
    /// The four bits, of which each half is an index.
    pub bits: u32,
}

/// Returns the number of lanes of a group of four that have metadata; there are as many selectors as such sets.
pub fn lanes(shape: &Multiply) -> usize {
    // Each lane has 16 indices, or 8 pairs of indices that stand for one element each.
    let indices = match shape.a.bits() {
        4 => shape.k / 4,
        32 => shape.k,
        _ => shape.k / 2,
    };
    2 * indices / 16
}

/// Returns lane and lowest bit of the index of stored element `q` in a row.
fn place(shape: &Multiply, sparse: Sparse, row: usize, q: usize) -> (usize, usize) {
    let (group, upper) = (4 * (row % 8), row / 8);
    let first = group + sparse.selector * lanes(shape);
    match shape.a.bits() {
        // Both rows of a lane share its register.
        32 => (first + q / 4, 16 * upper + 4 * (q % 4)),
        16 => (first + q / 8, 16 * upper + 2 * (q % 8)),
        8 => (first + upper + q / 16 * 2, 2 * (q % 16)),
        _ => (first + upper + q / 2 / 16 * 2, 2 * (q / 2 % 16)),
    }
}

/// Returns the columns of `a` that its stored elements have, by row.
///
/// # Errors
/// [`Invalid`] if PTX gives the metadata no meaning.
pub fn columns(shape: &Multiply, sparse: Sparse, metadata: &[u32; LANES]) -> Result<Vec<usize>, Invalid> {
    let bits = shape.a.bits();
    let mut columns = Vec::with_capacity(shape.m * shape.k / 2);
    for row in 0..shape.m {
        for q in 0..shape.k / 2 {
            let (lane, bit) = place(shape, sparse, row, q);
            let nibble = metadata[lane] >> (bit & !3) & 15;
            let (low, high) = (nibble & 3, nibble >> 2);
            let known = match bits {
                32 => matches!(nibble, 0b0100 | 0b1110),
                _ => low < high || low != high && !sparse.ordered,
            };
            if !known {
                return Err(Invalid { lane, bits: nibble });
            }
            let index = (metadata[lane] >> bit & 3) as usize;
            columns.push(match bits {
                32 => 2 * q + index / 2,
                4 => 8 * (q / 4) + 2 * index + q % 2,
                _ => 4 * (q / 2) + index,
            });
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::super::shape::{Element, Sum};
    use super::*;

    fn shape(a: Element, k: usize, selector: usize) -> (Multiply, Sparse) {
        let sparse = Sparse { selector, ordered: true };
        let (c, d) = (Sum::F32, Sum::F32);
        let (saturate, and, wmma) = (false, false, None);
        (Multiply { m: 16, n: 8, k, a, b: a, c, d, saturate, and, wmma, sparse: Some(sparse) }, sparse)
    }

    #[test]
    fn selectors_name_the_lanes_with_metadata() {
        let count = |a, k| lanes(&shape(a, k, 0).0);
        assert_eq!((count(Element::F16, 16), count(Element::F16, 32)), (1, 2));
        assert_eq!((count(Element::Tf32, 8), count(Element::Tf32, 16)), (1, 2));
        assert_eq!((count(Element::S8, 32), count(Element::E4m3, 64)), (2, 4));
        assert_eq!((count(Element::S4, 64), count(Element::U4, 128)), (2, 4));
    }

    #[test]
    fn indices_are_those_of_the_selected_lane() {
        // Row 1 has the indices 0 and 1, 1 and 2, 2 and 3, 0 and 3; the others 0 and 1.
        let selected = |lane: usize| if lane % 4 == 2 { 0x4444_4444 } else { 0 };
        let mut metadata: [u32; LANES] = std::array::from_fn(selected);
        metadata[6] = 0x4444_ce94;
        let (product, sparse) = shape(Element::F16, 16, 2);
        let found = columns(&product, sparse, &metadata).expect("valid");
        assert_eq!(found[..8], [0, 1, 4, 5, 8, 9, 12, 13]);
        assert_eq!(found[8..16], [0, 1, 5, 6, 10, 11, 12, 15]);
        assert_eq!(found[9 * 8..10 * 8], found[..8]);
        // Selector 1 selects lanes without metadata.
        let (product, sparse) = shape(Element::F16, 16, 1);
        assert_eq!(columns(&product, sparse, &metadata), Err(Invalid { lane: 1, bits: 0 }));
    }

    #[test]
    fn the_rows_of_bytes_have_lanes_of_their_own() {
        let mut metadata = [0x4444_4444; LANES];
        metadata[1] = 0xeeee_eeee;
        let (product, sparse) = shape(Element::S8, 32, 0);
        let found = columns(&product, sparse, &metadata).expect("valid");
        assert_eq!(found[..4], [0, 1, 4, 5]);
        assert_eq!(found[8 * 16..8 * 16 + 4], [2, 3, 6, 7]);
    }

    #[test]
    fn one_of_two_and_four_of_eight() {
        let mut metadata = [0x4444_4444; LANES];
        metadata[0] = 0x4444_e4e4;
        let (product, sparse) = shape(Element::Tf32, 8, 0);
        assert_eq!(columns(&product, sparse, &metadata).expect("valid")[..4], [0, 3, 4, 7]);
        let (product, sparse) = shape(Element::S4, 64, 0);
        assert_eq!(columns(&product, sparse, &metadata).expect("valid")[..8], [0, 1, 2, 3, 12, 13, 14, 15]);
    }

    #[test]
    fn only_unordered_metadata_may_descend() {
        let metadata = [0x1111_1111; LANES];
        let (product, sparse) = shape(Element::Bf16, 16, 0);
        assert_eq!(columns(&product, sparse, &metadata), Err(Invalid { lane: 0, bits: 1 }));
        let unordered = Sparse { ordered: false, ..sparse };
        assert_eq!(columns(&product, unordered, &metadata).expect("valid")[..2], [1, 0]);
        assert!(columns(&product, unordered, &[0xaaaa_aaaa; LANES]).is_err());
        let (product, sparse) = shape(Element::Tf32, 8, 0);
        assert!(columns(&product, sparse, &[0x9999_9999; LANES]).is_err());
    }
}
