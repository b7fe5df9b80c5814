//! The kernels that a crate declares with the macros of [`operator`](super), as types: `rustwarp::operators` launches
//! them.
//!
//! Each macro makes a unit struct, which names the kernel, and implements one of these traits for it. There is no other
//! way to implement them safely.

use super::{Operator, Pod};
use cuda_std::launch::{Call, PtrMut, Slice};

/// A kernel of [`reduce_kernel!`](crate::reduce_kernel).
///
/// # Safety
/// The call is that of [`transform_reduce`](crate::reduce::best::transform_reduce) with these types.
pub unsafe trait ReduceKernel: Copy + 'static {
    /// Type of the elements.
    type Input: Pod;
    /// Type of the result.
    type Value: Pod;
    /// What results are combined by.
    type Operator: Operator<Self::Value>;

    /// The kernel with these arguments.
    fn call<'a>(input: Slice<'a, Self::Input>, words: PtrMut<'a, u64>, output: PtrMut<'a, Self::Value>) -> Call<'a>;
}

/// A kernel of [`scan_kernel!`](crate::scan_kernel).
///
/// # Safety
/// The call is that of [`any_scan`](crate::scan::best::any_scan) with these types.
pub unsafe trait ScanKernel: Copy + 'static {
    /// Type of the elements.
    type Value: Pod;
    /// What elements are combined by.
    type Operator: Operator<Self::Value>;

    /// The kernel with these arguments.
    fn call<'a>(
        input: Slice<'a, Self::Value>,
        exclusive: u32,
        state: PtrMut<'a, u64>,
        output: PtrMut<'a, Self::Value>,
    ) -> Call<'a>;
}

/// A kernel of [`scan_by_key_kernel!`](crate::scan_by_key_kernel).
///
/// # Safety
/// The call is that of [`any_scan_by_key`](crate::scan_by_key::best::any_scan_by_key) with these types.
pub unsafe trait ScanByKeyKernel: Copy + 'static {
    /// Type of the keys.
    type Key: Pod + PartialEq;
    /// Type of the elements.
    type Value: Pod;
    /// What elements are combined by.
    type Operator: Operator<Self::Value>;

    /// The kernel with these arguments.
    fn call<'a>(
        keys: Slice<'a, Self::Key>,
        values: Slice<'a, Self::Value>,
        exclusive: u32,
        state: PtrMut<'a, u64>,
        output: PtrMut<'a, Self::Value>,
    ) -> Call<'a>;
}

/// A kernel of [`segmented_reduce_kernel!`](crate::segmented_reduce_kernel).
///
/// # Safety
/// The call is that of [`segmented_reduce`](crate::segreduce::best::segmented_reduce) with these types.
pub unsafe trait SegmentedReduceKernel: Copy + 'static {
    /// Type of the elements.
    type Value: Pod;
    /// What elements are combined by.
    type Operator: Operator<Self::Value>;

    /// The kernel with these arguments.
    fn call<'a>(
        values: Slice<'a, Self::Value>,
        offsets: Slice<'a, u64>,
        results: PtrMut<'a, Self::Value>,
        carries: PtrMut<'a, Self::Value>,
        keys: PtrMut<'a, u64>,
        ticket: PtrMut<'a, u32>,
    ) -> Call<'a>;
}

/// A kernel of [`transform_kernel!`](crate::transform_kernel).
///
/// # Safety
/// The call is that of [`transform`](super::transform::transform) with these types.
pub unsafe trait TransformKernel: Copy + 'static {
    /// Type of the elements.
    type Input: Pod;
    /// Type of the results.
    type Value: Pod;

    /// The kernel with these arguments.
    fn call<'a>(input: Slice<'a, Self::Input>, output: PtrMut<'a, Self::Value>) -> Call<'a>;
}
