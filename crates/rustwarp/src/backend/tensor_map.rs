//! Layouts from which devices make tensor maps.

use crate::element::Dtype;

/// Matrices of one size in device memory, and the boxes in which kernels copy them to and from shared memory. The axis
/// whose elements are neighbours in memory comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Elements of a row, rows of a matrix, and matrices; at least 1 each, at most 2^32.
    pub sizes: [u64; 3],
    /// Bytes from a row to the next, and from a matrix to the next; multiples of 16 below 2^40.
    pub strides: [u64; 2],
    /// Elements of a box's row, and number of its rows, at most 256 each; a row has a multiple of 16 bytes.
    pub block: [u32; 2],
    /// Bytes of the box's rows within which runs of 16 bytes are exchanged, so that no two of eight rows share a bank:
    /// 32, 64 or 128, at least a row of the box; or 0, not at all.
    pub swizzle: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Checks, Choice, open};

    #[test]
    fn a_layout_makes_a_map_or_names_the_rule() {
        let (device, _) = open(Choice::Sim, Checks::default()).expect("the simulator");
        let layout = TensorLayout {
            dtype: Dtype::Bf16,
            address: 4096,
            sizes: [100, 7, 2],
            strides: [208, 1456],
            block: [64, 4],
            swizzle: 128,
        };
        device.tensor_map(&layout).expect("a map");
        for (wrong, rule) in [
            (TensorLayout { address: 4098, ..layout }, "multiple of 16"),
            (TensorLayout { strides: [200, 1456], ..layout }, "stride of 200"),
            (TensorLayout { strides: [208, 1450], ..layout }, "stride of 1450"),
            (TensorLayout { block: [64, 257], ..layout }, "box of 257"),
            (TensorLayout { swizzle: 64, ..layout }, "more than the swizzle"),
            (TensorLayout { sizes: [0, 7, 1], ..layout }, "dimension of 0"),
        ] {
            let refusal = device.tensor_map(&wrong).expect_err("refused").to_string();
            assert!(refusal.contains(rule), "{rule}: {refusal}");
        }
    }
}
