//! The types of factors, with their kernels, and the types of products that they have.

use super::tile::Tile;
use crate::element::Scalar;
use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::epilogue::FINISHED;
use kernels_gpu::mma::best as warps;
use kernels_gpu::mma::join::mma_join;
use kernels_gpu::tensor::mixed::problem::WIDE;
use kernels_gpu::tensor::mixed::product;
use kernels_gpu::tensor::mixed::{Bf16, E4m3, F16, Precision, S8, Tf32};

/// A launcher of a kernel for factors of `P`. It is public for the ladders, which list its entry.
#[doc(hidden)]
pub type Kernel<P> = for<'a> fn(
    TensorMap<P>,
    TensorMap<P>,
    TensorMap,
    Ptr<'a, u8>,
    Ptr<'a, u8>,
    PtrMut<'a, u8>,
    u32,
    u32,
    u32,
    u32,
    u32,
    PtrMut<'a, u32>,
    PtrMut<'a, u32>,
    [u64; 3],
    [u32; 3],
    u32,
    f32,
    f32,
    Ptr<'a, u8>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
) -> Call<'a>;

/// A launcher of a kernel that adds the sums of parts of a product.
#[doc(hidden)]
pub type JoinKernel = for<'a> fn(
    Ptr<'a, u32>,
    u32,
    PtrMut<'a, u8>,
    u32,
    u32,
    u32,
    u32,
    f32,
    f32,
    Ptr<'a, u8>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
) -> Call<'a>;

/// The tiles, with their relative speed for a multiprocessor that has enough of them, measured on an H200.
pub const TILES: [Tile; 4] = [
    (product::COLUMNS_256, 1.0),
    (product::COLUMNS_192, 0.95),
    (product::COLUMNS_128, 0.85),
    (product::COLUMNS_64, 0.6),
];

/// A launcher of a kernel for single warps. It is public for the ladders, which list its entry.
#[doc(hidden)]
pub type WarpKernel = for<'a> fn(
    Ptr<'a, u8>,
    Ptr<'a, u8>,
    PtrMut<'a, u8>,
    u32,
    u32,
    u32,
    u32,
    [u64; 3],
    [u32; 3],
    u32,
    f32,
    f32,
    Ptr<'a, u8>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
    Ptr<'a, f32>,
) -> Call<'a>;

/// The parts of the product that blocks of these compute, with their relative speed, measured on an H200.
pub const WARP_TILES: [Tile; 3] = [(warps::LARGE, 1.0), (warps::BRIEF, 0.2), (warps::SMALL, 0.55)];

/// The one of [`WARP_TILES`] whose kernel takes factors that start anywhere.
pub const ANYWHERE: usize = 2;

/// The kernels of a type for single warps.
#[doc(hidden)]
#[non_exhaustive]
pub struct WarpKernels {
    /// Those of each of [`WARP_TILES`], by whether A and whether B lies across the depth.
    pub products: [[WarpKernel; 4]; WARP_TILES.len()],
    /// Adds the sums of parts of a product.
    pub join: JoinKernel,
}

/// A type of factors: `half::f16`, `half::bf16`, `f32` (of which the first 10 bits of the fraction are read, as tf32),
/// `float8::F8E4M3` and `i8`.
pub trait Operand: Scalar {
    /// The kernels' name of the type.
    #[doc(hidden)]
    type Precision: Precision;

    /// Whether tensor cores read factors in either storage order.
    #[doc(hidden)]
    const EITHER: bool;

    /// The kernels: of each tile, by whether A and whether B lies across the depth. They are public for the ladders,
    /// which list their entries.
    #[doc(hidden)]
    const KERNELS: [&'static [Kernel<Self::Precision>]; TILES.len()];

    /// The kernels for single warps; `None` for types that the tensor cores of sm_80 do not have.
    #[doc(hidden)]
    const WARP_KERNELS: Option<WarpKernels>;
}

/// Factors whose product can be of type `O`: f16 and bf16 of themselves or f32, f32 of f32, F8E4M3 of bf16 or f32, and
/// i8 of i32, or, with the sums rounded, of f32 or bf16.
pub trait Factor<O: Scalar>: Operand {
    /// The kernels' bits for the type of the product.
    #[doc(hidden)]
    const HOW: u32;
}

/// The kernels of a type for single warps.
macro_rules! warps {
    ($precision:ident) => { warps!(@ $precision: mma_best mma_best_brief mma_best_small) };
    (@ $precision:ident: $($kernel:ident)*) => {
        Some(WarpKernels {
            products: [$([
                warps::$kernel::<$precision, false, false>,
                warps::$kernel::<$precision, false, true>,
                warps::$kernel::<$precision, true, false>,
                warps::$kernel::<$precision, true, true>,
            ]),*],
            join: mma_join::<$precision>,
        })
    };
}

macro_rules! half {
    ($t:ty, $precision:ident: $($kernel:ident)*) => {
        impl Operand for $t {
            type Precision = $precision;
            const EITHER: bool = true;
            const KERNELS: [&'static [Kernel<$precision>]; TILES.len()] = [$(&[
                product::$kernel::<$precision, false, false>,
                product::$kernel::<$precision, false, true>,
                product::$kernel::<$precision, true, false>,
                product::$kernel::<$precision, true, true>,
            ]),*];
            const WARP_KERNELS: Option<WarpKernels> = warps!($precision);
        }
    };
}
half!(half::f16, F16: tensor_half_256 tensor_half_192 tensor_half_128 tensor_half_64);
half!(half::bf16, Bf16: tensor_half_256 tensor_half_192 tensor_half_128 tensor_half_64);

macro_rules! along {
    ($t:ty, $precision:ident, $warps:expr; $($kernel:ident)*) => {
        impl Operand for $t {
            type Precision = $precision;
            const EITHER: bool = false;
            const KERNELS: [&'static [Kernel<$precision>]; TILES.len()] = [$(&[product::$kernel::<$precision>]),*];
            const WARP_KERNELS: Option<WarpKernels> = $warps;
        }
    };
}
along!(f32, Tf32, warps!(Tf32); tensor_along_256 tensor_along_192 tensor_along_128 tensor_along_64);
along!(float8::F8E4M3, E4m3, None; tensor_along_256 tensor_along_192 tensor_along_128 tensor_along_64);
along!(i8, S8, warps!(S8); tensor_along_256 tensor_along_192 tensor_along_128 tensor_along_64);

macro_rules! products {
    ($($t:ty => $product:ty, $how:expr;)*) => { $(
        impl Factor<$product> for $t {
            const HOW: u32 = $how;
        }
    )* };
}
products! {
    half::f16 => half::f16, 0;
    half::f16 => f32, WIDE;
    half::bf16 => half::bf16, 0;
    half::bf16 => f32, WIDE;
    f32 => f32, WIDE;
    float8::F8E4M3 => half::bf16, 0;
    float8::F8E4M3 => f32, WIDE;
    i8 => i32, WIDE;
    i8 => f32, WIDE | FINISHED;
    i8 => half::bf16, FINISHED;
}
