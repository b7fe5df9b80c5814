//! The attribute macros of `cuda_std`, which re-exports them: [`macro@kernel`], [`macro@address_space`],
//! [`macro@gpu_only`], [`macro@externally_visible`].

mod address_space;
mod allow;
mod bounds;
mod expand;
mod externally_visible;
mod gpu_only;
mod instances;
mod kernel;
mod params;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Turns a function into a kernel: an `.entry` in the PTX, and on the host a launcher with checked argument types.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// `y[i] = a * x[i] + y[i]`, a thread for each `i`.
/// #[kernel]
/// pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::unique_index();
///     if let (Some(x), Some(y)) = (x.get(i.get()), y.get_mut(i)) {
///         *y += a * x;
///     }
/// }
/// ```
///
/// The function returns nothing, and takes
/// - `&[T]`: device memory that is not written during the launch. It becomes two PTX parameters, address and length;
/// - `DisjointSlice<T>`, `DisjointMatrix<T>`, `DisjointVolume<T>`: outputs that each thread writes at its own indices
///   (`cuda_std::view`). They become an address and one, two or three sizes;
/// - `SharedTile<T, N>`: shared memory of the block, which the launcher leaves out;
/// - values whose type is `cuda_std::launch::Scalar`: numbers and arrays of numbers;
/// - `*const T`, `*mut T`: device memory without a length. The kernel is then an `unsafe fn`.
///
/// `&mut [T]` is rejected: all threads would hold the same mutable reference.
///
/// A safe kernel has no contract but its types: its launch has as many dimensions as its views allow
/// (`Call::dimensions`). The proof of an `unsafe` kernel includes the barriers that it reaches through safe functions:
/// every thread of a block reaches the same ones.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// `y[i] = a * x[i] + y[i]` for each `i` of `x`.
/// ///
/// /// # Safety
/// /// `y` is as long as `x`, and does not overlap it.
/// #[kernel]
/// pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
///     let i = thread::global_index();
///     if i < x.len() {
///         // SAFETY: `y` is as long as `x`, and no other thread accesses element `i`.
///         unsafe { *y.add(i) += a * x[i] };
///     }
/// }
/// ```
///
/// A generic kernel lists its instances; each combination becomes one entry, whose name has one part per list, in the
/// order of the lists:
///
/// ```
/// # use cuda_std::kernel;
/// # use cuda_std::launch::Instance;
/// # pub trait Op<T> {}
/// # pub struct Sum;
/// # pub struct Max;
/// # impl Instance for Sum { const NAME: &'static str = "sum"; }
/// # impl Instance for Max { const NAME: &'static str = "max"; }
/// # impl<T> Op<T> for Sum {}
/// # impl<T> Op<T> for Max {}
/// # pub trait Number: Copy + 'static {}
/// # impl Number for f32 {}
/// # impl Number for f64 {}
/// #[kernel(for O in [Sum, Max], for T in [f32, f64], for B in [128, 256])]
/// pub unsafe fn reduce<O: Op<T>, T: Number, const B: u32>(input: &[T], output: *mut T) { /* … */ }
/// # use cuda_std::launch::{PtrMut, Slice};
/// # // SAFETY: nothing is launched.
/// # let (input, output) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
/// // reduce_sum_f32_128 and seven more
/// assert_eq!(reduce::<Sum, f32, 128>(input, output).entry, "reduce_sum_f32_128");
/// ```
///
/// The types of a list implement `cuda_std::launch::Instance`; `NAME` is the last segment of the type's path in lower
/// case.
///
/// Limits of the launch are arguments too; their values are constant expressions, which may use the instance's
/// parameters:
/// - `launch_bounds(threads)`, `launch_bounds(threads, blocks)`: a block has at most `threads` threads, and the
///   compiler uses so few registers that a multiprocessor can hold `blocks` of them (`.maxntid`, `.minnctapersm`);
/// - `block(x)`, `block(x, y)`, `block(x, y, z)`: a block has exactly this shape (`.reqntid`);
/// - `cluster(x)`, `cluster(x, y)`, `cluster(x, y, z)`: a cluster is a grid of exactly this many blocks
///   (`.reqnctapercluster`, since sm_90; without effect before);
/// - `max_registers(n)`: a thread has at most `n` registers, and what does not fit goes to local memory (`.maxnreg`). 0
///   leaves the limit out, for instances that shall have none.
///
/// A launch with another block fails, on a GPU and on the simulator.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel(for B in [128, 256], launch_bounds(B, 2), max_registers(64))]
/// pub fn first_of_block<const B: u32>(input: &[f32], mut out: DisjointSlice<f32>) { /* … */ }
/// ```
///
/// `allow(LINT, …)` turns off warnings of `cuda_builder` about the kernel, all its instances included: `local_memory`,
/// `spills`, `generic_shared`, `f64_arithmetic`, `divergent_barrier`, `core_atomics`.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel(allow(local_memory))]
/// pub fn lookup(index: &[u32], mut out: DisjointSlice<f32>) { /* … */ }
/// ```
///
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel(allow(slow_memory))] // unknown lint `slow_memory` of kernels: expected one of …
/// pub fn lookup(index: &[u32], mut out: DisjointSlice<f32>) {}
/// ```
///
/// **On the device** the function can still be called from other kernels. **On the host** it is replaced by a safe
/// function that takes `Slice`, `SliceMut`, `MatrixMut`, `VolumeMut`, `Ptr`, `PtrMut` and values, and returns a
/// `cuda_std::launch::Call`, or a `SafeCall` for a safe kernel; its body is still type-checked there.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(attr as bounds::Arguments);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(arguments, function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Places a static in an address space: `shared` (one instance per block), `constant` (read-only, cached), or `global`
/// (the default).
///
/// ```
/// # use core::mem::MaybeUninit;
/// # use cuda_std::address_space;
/// #[address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];
/// ```
///
/// A block's shared memory starts uninitialised, so a shared static is `MaybeUninit` or an array of it. Take its
/// address with `&raw mut`: a reference to the whole would alias the elements that other threads write.
///
/// On the host the static is an ordinary one.
#[proc_macro_attribute]
pub fn address_space(attr: TokenStream, item: TokenStream) -> TokenStream {
    let space = parse_macro_input!(attr as syn::Ident);
    let item = parse_macro_input!(item as syn::ItemStatic);
    address_space::expand(&space, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Marks a function whose body exists only on the device. On the host it has the same signature and documentation, and
/// panics when called.
///
/// On the device it is `#[inline(always)]`, unless it has an `#[inline]` attribute of its own.
#[proc_macro_attribute]
pub fn gpu_only(_attr: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(parse_macro_input!(item as syn::ItemFn)).into()
}

/// Marks a device function that the PTX keeps although no kernel calls it, for other PTX that is linked with it. The
/// function has a fixed symbol, by `#[unsafe(no_mangle)]` or `#[unsafe(export_name = "…")]`.
///
/// ```
/// # use cuda_std::externally_visible;
/// #[externally_visible]
/// #[unsafe(no_mangle)]
/// pub extern "C" fn twice(x: u32) -> u32 {
///     2 * x
/// }
/// ```
#[proc_macro_attribute]
pub fn externally_visible(_attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    externally_visible::expand(&function).unwrap_or_else(syn::Error::into_compile_error).into()
}
