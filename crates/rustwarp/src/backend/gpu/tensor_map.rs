//! Tensor maps, which the driver makes.

use super::context::Current;
use super::errors::check;
use crate::backend::TensorLayout;
use crate::backend::sim::tensor_map::{number, tensor_map};
use crate::error::Result;
use cuda_driver::sys;
use cuda_std::memory::TensorMap;

impl Current<'_> {
    /// Makes a tensor map: see [`Backend::tensor_map`](crate::backend::Backend::tensor_map).
    pub fn tensor_map(&self, layout: &TensorLayout) -> Result<TensorMap> {
        // The driver only says that a value is invalid; the simulator, which has the same rules, says which.
        tensor_map(layout)?;
        let swizzle = match layout.swizzle {
            0 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            _ => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        let [columns, rows] = layout.block;
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: the map has room for the result, and the arrays have an element for each of the three dimensions (the
        // strides one less).
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                number(layout.dtype),
                3,
                layout.address,
                layout.sizes.as_ptr(),
                layout.strides.as_ptr(),
                [columns, rows, 1].as_ptr(),
                [1; 3].as_ptr(),
                0,
                swizzle,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                0,
            )
        };
        check(result, || "making a tensor map".to_owned())?;
        Ok(TensorMap::new(map.opaque))
    }
}
