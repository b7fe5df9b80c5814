//! Products of narrow types on tensor cores: `C = A * B` of f16, bf16, f32 cut to tf32, fp8 (e4m3) and i8, with sums in
//! f32 or i32.
//!
//! One kernel, [`product`], for tiles of four widths. Tensor maps say how the matrices lie, so that no thread computes
//! addresses: copies and stores at the edges of a matrix are cut by the hardware. Tensor cores read factors of 16 bits
//! in either storage order; the other types have to lie along the depth, and [`turn`] makes a copy that does.
//!
//! Sources: NVIDIA CUTLASS and P. Shah's fast.cu (warpgroups that copy and that multiply, persistent blocks, stores by
//! tensor maps); NVIDIA's "Parallel Thread Execution" (wgmma, tensor maps).

pub mod pad;
pub mod parts;
pub mod problem;
pub mod product;
pub mod turn;

mod accumulator;
mod precision;
mod ring;
pub(crate) mod store;

pub use accumulator::{Accumulator, Sum};
pub use precision::{Bf16, E4m3, F16, Multiply, Precision, S8, Tf32};
pub use ring::{COPY_ROWS, ROW, ROWS, lines};
