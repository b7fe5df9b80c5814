//! Dispatch from names known at run time to types, for code that is generic over an operation or an element type.
//! `with_dtype!` does the same for all number types.

/// Runs code that is generic over the operation of a reduction, and wraps its value in `Ok`:
/// `with_op!(FAMILY, op, O => expression)`. The operation's name is resolved here, and nowhere else.
macro_rules! with_op {
    ($family:expr, $op:expr, $o:ident => $body:expr) => {
        match $op {
            "sum" => {
                type $o = ::kernels_gpu::reduce::Sum;
                Ok($body)
            }
            "max" => {
                type $o = ::kernels_gpu::reduce::Max;
                Ok($body)
            }
            "min" => {
                type $o = ::kernels_gpu::reduce::Min;
                Ok($body)
            }
            other => Err($family.no_op(other)),
        }
    };
}
pub(crate) use with_op;

/// A reduction as a value, for references, which are independent of the kernels' types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

/// The type of a reduction's kernels, with the reduction that its reference computes.
pub trait Reduces {
    /// The reduction.
    const REDUCTION: Reduction;
}

impl Reduces for kernels_gpu::reduce::Sum {
    const REDUCTION: Reduction = Reduction::Sum;
}

impl Reduces for kernels_gpu::reduce::Max {
    const REDUCTION: Reduction = Reduction::Max;
}

impl Reduces for kernels_gpu::reduce::Min {
    const REDUCTION: Reduction = Reduction::Min;
}

/// Runs code that is generic over the two float types that GPUs compute with, and returns a `Result`:
/// `with_float!(FAMILY, dtype, T => expression)`.
macro_rules! with_float {
    ($family:expr, $dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            ::rustwarp::element::Dtype::F32 => {
                type $t = f32;
                $body
            }
            ::rustwarp::element::Dtype::F64 => {
                type $t = f64;
                $body
            }
            other => Err($family.no_kernel(other)),
        }
    };
}
pub(crate) use with_float;
