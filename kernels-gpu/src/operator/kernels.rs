//! The macros that declare kernels for a user's operators.
//!
//! Each makes a unit struct of the kernel's name, and the entry of that name: in an anonymous constant, so that the
//! launcher's name does not collide with the struct's. Crates that use them depend on `cuda_std`, too. At the end of
//! each, `allow(LINT, …)` is the argument of `#[kernel]`.

/// Declares a kernel that converts elements by an expression and reduces the results by an
/// [`Operator`](crate::operator::Operator): `pub fn NAME<OPERATOR>(ELEMENT: TYPE) -> RESULT { EXPRESSION }`.
///
/// ```
/// use kernels_gpu::operator::{Operator, Pod, Zeroable};
///
/// /// Minimum, maximum, sum and number of some values.
/// #[derive(Clone, Copy, Debug)]
/// #[repr(C, align(16))]
/// pub struct Summary {
///     pub min: f32,
///     pub max: f32,
///     pub sum: f32,
///     pub count: u32,
/// }
/// # // SAFETY: there is no padding, and every bit pattern is valid.
/// # unsafe impl Zeroable for Summary {}
/// # // SAFETY: as above.
/// # unsafe impl Pod for Summary {}
///
/// pub struct Join;
///
/// impl Operator<Summary> for Join {
///     const COMMUTATIVE: bool = true;
///
///     fn identity() -> Summary {
///         Summary { min: f32::INFINITY, max: f32::NEG_INFINITY, sum: 0.0, count: 0 }
///     }
///     fn combine(a: Summary, b: Summary) -> Summary {
///         Summary { min: a.min.min(b.min), max: a.max.max(b.max), sum: a.sum + b.sum, count: a.count + b.count }
///     }
/// }
///
/// kernels_gpu::reduce_kernel! {
///     /// Summary of all elements.
///     pub fn summary<Join>(x: f32) -> Summary { Summary { min: x, max: x, sum: x, count: 1 } }
/// }
/// ```
#[macro_export]
macro_rules! reduce_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$operator:ty>($element:ident: $input:ty) -> $value:ty $map:block
     $(allow($($lint:ident),+ $(,)?))?) => {
        $crate::kernel_name! { $(#[$meta])* $vis $name }

        const _: () = {
            use ::cuda_std::launch::{PtrMut, Slice};

            #[inline(always)]
            fn map($element: $input) -> $value $map

            #[::cuda_std::kernel($(allow($($lint),+))?)]
            unsafe fn $name(input: &[$input], words: *mut u64, output: *mut $value) {
                // SAFETY: the code that launches the kernel upholds this function's contract.
                unsafe {
                    $crate::reduce::best::transform_reduce::<$operator, $input, $value>(
                        input, map, words, output,
                    )
                }
            }

            // SAFETY: the call is the kernel's above.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl $crate::operator::launch::ReduceKernel for $name {
                type Input = $input;
                type Value = $value;
                type Operator = $operator;

                fn call<'a>(
                    input: Slice<'a, $input>,
                    words: PtrMut<'a, u64>,
                    output: PtrMut<'a, $value>,
                ) -> ::cuda_std::launch::Call<'a> {
                    $name(input, words, output)
                }
            }
        };
    };
}

/// Declares a kernel that scans by an [`Operator`](crate::operator::Operator), inclusively or exclusively:
/// `pub fn NAME<OPERATOR>(TYPE)`. [`operator`](crate::operator) shows one.
#[macro_export]
macro_rules! scan_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$operator:ty>($value:ty) $(allow($($lint:ident),+ $(,)?))?) => {
        $crate::kernel_name! { $(#[$meta])* $vis $name }

        const _: () = {
            use ::cuda_std::launch::{PtrMut, Slice};

            #[::cuda_std::kernel($(allow($($lint),+))?)]
            unsafe fn $name(input: &[$value], exclusive: u32, state: *mut u64, output: *mut $value) {
                // SAFETY: the code that launches the kernel upholds this function's contract.
                unsafe { $crate::scan::best::any_scan::<$operator, $value>(input, exclusive, state, output) }
            }

            // SAFETY: the call is the kernel's above.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl $crate::operator::launch::ScanKernel for $name {
                type Value = $value;
                type Operator = $operator;

                fn call<'a>(
                    input: Slice<'a, $value>,
                    exclusive: u32,
                    state: PtrMut<'a, u64>,
                    output: PtrMut<'a, $value>,
                ) -> ::cuda_std::launch::Call<'a> {
                    $name(input, exclusive, state, output)
                }
            }
        };
    };
}

/// Declares a kernel that scans each run of equal keys by an [`Operator`](crate::operator::Operator): `pub fn
/// NAME<OPERATOR>(KEY, TYPE)`. Keys are of any type that can be compared, of at most 16 bytes.
///
/// ```
/// # use bytemuck::{Pod, Zeroable};
/// # use kernels_gpu::operator::Operator;
/// # #[derive(Clone, Copy, Pod, Zeroable)]
/// # #[repr(C)]
/// # pub struct Line {
/// #     pub scale: f32,
/// #     pub shift: f32,
/// # }
/// # pub struct Compose;
/// # impl Operator<Line> for Compose {
/// #     const COMMUTATIVE: bool = false;
/// #     fn identity() -> Line {
/// #         Line { scale: 1.0, shift: 0.0 }
/// #     }
/// #     fn combine(a: Line, b: Line) -> Line {
/// #         Line { scale: a.scale * b.scale, shift: a.shift * b.scale + b.shift }
/// #     }
/// # }
/// kernels_gpu::scan_by_key_kernel! {
///     /// The composition of all maps of a run up to each.
///     pub fn compositions_of_runs<Compose>(u32, Line)
/// }
/// ```
#[macro_export]
macro_rules! scan_by_key_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$operator:ty>($key:ty, $value:ty)
     $(allow($($lint:ident),+ $(,)?))?) => {
        $crate::kernel_name! { $(#[$meta])* $vis $name }

        const _: () = {
            use ::cuda_std::launch::{PtrMut, Slice};

            #[::cuda_std::kernel($(allow($($lint),+))?)]
            unsafe fn $name(keys: &[$key], values: &[$value], exclusive: u32, state: *mut u64, output: *mut $value) {
                // SAFETY: the code that launches the kernel upholds this function's contract.
                unsafe {
                    $crate::scan_by_key::best::any_scan_by_key::<$operator, $key, $value>(
                        keys, values, exclusive, state, output,
                    )
                }
            }

            // SAFETY: the call is the kernel's above.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl $crate::operator::launch::ScanByKeyKernel for $name {
                type Key = $key;
                type Value = $value;
                type Operator = $operator;

                fn call<'a>(
                    keys: Slice<'a, $key>,
                    values: Slice<'a, $value>,
                    exclusive: u32,
                    state: PtrMut<'a, u64>,
                    output: PtrMut<'a, $value>,
                ) -> ::cuda_std::launch::Call<'a> {
                    $name(keys, values, exclusive, state, output)
                }
            }
        };
    };
}

/// Declares a kernel that reduces each segment of a vector by an [`Operator`](crate::operator::Operator), over values
/// of at most 32 bytes: `pub fn NAME<OPERATOR>(TYPE)`.
#[macro_export]
macro_rules! segmented_reduce_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$operator:ty>($value:ty) $(allow($($lint:ident),+ $(,)?))?) => {
        $crate::kernel_name! { $(#[$meta])* $vis $name }

        const _: () = {
            use ::cuda_std::launch::{PtrMut, Slice};

            #[::cuda_std::kernel($(allow($($lint),+))?)]
            unsafe fn $name(
                values: &[$value],
                offsets: &[u64],
                results: *mut $value,
                carries: *mut $value,
                keys: *mut u64,
                ticket: *mut u32,
            ) {
                // SAFETY: the code that launches the kernel upholds this function's contract.
                unsafe {
                    $crate::segreduce::best::segmented_reduce::<$operator, $value>(
                        values, offsets, results, carries, keys, ticket,
                    )
                }
            }

            // SAFETY: the call is the kernel's above.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl $crate::operator::launch::SegmentedReduceKernel for $name {
                type Value = $value;
                type Operator = $operator;

                fn call<'a>(
                    values: Slice<'a, $value>,
                    offsets: Slice<'a, u64>,
                    results: PtrMut<'a, $value>,
                    carries: PtrMut<'a, $value>,
                    keys: PtrMut<'a, u64>,
                    ticket: PtrMut<'a, u32>,
                ) -> ::cuda_std::launch::Call<'a> {
                    $name(values, offsets, results, carries, keys, ticket)
                }
            }
        };
    };
}

/// Declares a kernel that converts every element by an expression: `pub fn NAME(ELEMENT: TYPE) -> RESULT { EXPRESSION
/// }`.
#[macro_export]
macro_rules! transform_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($element:ident: $input:ty) -> $value:ty $map:block
     $(allow($($lint:ident),+ $(,)?))?) => {
        $crate::kernel_name! { $(#[$meta])* $vis $name }

        const _: () = {
            use ::cuda_std::launch::{PtrMut, Slice};

            #[inline(always)]
            fn map($element: $input) -> $value $map

            #[::cuda_std::kernel($(allow($($lint),+))?)]
            unsafe fn $name(input: &[$input], output: *mut $value) {
                // SAFETY: the code that launches the kernel upholds this function's contract.
                unsafe {
                    $crate::operator::transform::transform::<$input, $value>(input, map, output)
                }
            }

            // SAFETY: the call is the kernel's above.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe impl $crate::operator::launch::TransformKernel for $name {
                type Input = $input;
                type Value = $value;

                fn call<'a>(input: Slice<'a, $input>, output: PtrMut<'a, $value>) -> ::cuda_std::launch::Call<'a> {
                    $name(input, output)
                }
            }
        };
    };
}

/// The type that names a kernel.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_name {
    ($(#[$meta:meta])* $vis:vis $name:ident) => {
        $(#[$meta])*
        #[expect(non_camel_case_types, reason = "it has the name of the kernel")]
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;
    };
}
