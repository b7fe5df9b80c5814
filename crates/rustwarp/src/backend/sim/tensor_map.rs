//! Tensor maps for the simulator, which are made under the driver's rules.

use crate::backend::TensorLayout;
use crate::element::Dtype;
use crate::error::{Error, Result};
use cuda_std::memory::TensorMap;
use ptx_sim::tensor::Element;

/// Makes a tensor map: see [`Backend::tensor_map`](crate::backend::Backend::tensor_map).
pub(in crate::backend) fn tensor_map(layout: &TensorLayout) -> Result<TensorMap> {
    let element = Element::of(number(layout.dtype));
    let TensorLayout { address, sizes, strides, block: [columns, rows], swizzle, .. } = *layout;
    let block = [columns, rows, 1];
    let made = element
        .map(|element| ptx_sim::TensorMap::tiled(element, address, &sizes, &strides, &block, &[], swizzle.into()));
    let map = made.transpose().map_err(|error| Error::Argument(error.to_string()))?;
    let bytes = map.ok_or_else(|| Error::Argument(format!("no tensor map has {}", layout.dtype)))?.encode();
    let word = |i: usize| std::array::from_fn(|at| bytes[i * 8 + at]);
    Ok(TensorMap::new(std::array::from_fn(|i| u64::from_le_bytes(word(i)))))
}

/// The number of a type in `CUtensorMapDataType`.
pub(in crate::backend) fn number(dtype: Dtype) -> u32 {
    match dtype {
        // Copies do not look at the elements, so that bytes of any kind are U8.
        Dtype::U8 | Dtype::I8 | Dtype::F8 => 0,
        Dtype::U32 => 2,
        Dtype::I32 => 3,
        Dtype::U64 => 4,
        Dtype::I64 => 5,
        Dtype::F16 => 6,
        Dtype::F32 => 7,
        Dtype::F64 => 8,
        Dtype::Bf16 => 9,
    }
}
