//! Kernels without `unsafe`, each with a twin that does the same with pointers: tests run both, and compare the numbers
//! of their instructions.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::view::Matrix;

const BLOCK: usize = 128;

/// `out[i] = a[i] + b[i]`, a thread for each element.
#[kernel]
pub fn view_once(a: &[f32], b: &[f32], mut out: DisjointSlice<f32>) {
    let i = thread::unique_index();
    if let (Some(a), Some(b), Some(out)) = (a.get(i.get()), b.get(i.get()), out.get_mut(i)) {
        *out = a + b;
    }
}

/// The twin of [`view_once`].
#[kernel]
pub unsafe fn pointer_once(a: &[f32], b: &[f32], out: *mut f32, n: usize) {
    let i = thread::global_index();
    if i < a.len() && i < b.len() && i < n {
        // SAFETY: `out` has `n` elements, and no other thread has this `i`.
        unsafe { out.add(i).write(a[i] + b[i]) };
    }
}

/// `out[i] = a[i] + b[i]`, for any grid.
#[kernel(for T in [f32, f64])]
pub fn view_strided<T: Copy + Sync + Send + core::ops::Add<Output = T>>(a: &[T], b: &[T], mut out: DisjointSlice<T>) {
    let n = a.len().min(b.len()).min(out.len());
    for i in thread::unique_indices(n) {
        out[i] = a[i] + b[i];
    }
}

/// The twin of [`view_strided`].
#[kernel(for T in [f32, f64])]
pub unsafe fn pointer_strided<T: Copy + core::ops::Add<Output = T>>(a: &[T], b: &[T], out: *mut T, n: usize) {
    let n = a.len().min(b.len()).min(n);
    let mut i = thread::global_index();
    while i < n {
        // SAFETY: `out` has `n` elements, and no other thread visits this `i`.
        unsafe { out.add(i).write(a[i] + b[i]) };
        i += thread::grid_stride();
    }
}

/// Two outputs, one of which is an input too: doubles `x`, and adds its old value to `sum`.
#[kernel]
pub fn view_two_outputs(mut x: DisjointSlice<u32>, mut sum: DisjointSlice<u32>) {
    if x.is_empty() {
        return;
    }
    for i in thread::unique_indices(x.len().min(sum.len())) {
        sum[i] += x[i];
        x[i] *= 2;
    }
}

/// The twin of [`view_two_outputs`].
#[kernel]
pub unsafe fn pointer_two_outputs(x: *mut u32, x_len: usize, sum: *mut u32, sum_len: usize) {
    if x_len == 0 {
        return;
    }
    let n = x_len.min(sum_len);
    let mut i = thread::global_index();
    while i < n {
        // SAFETY: both have `n` elements, and no other thread visits this `i`.
        unsafe {
            *sum.add(i) += *x.add(i);
            *x.add(i) *= 2;
        }
        i += thread::grid_stride();
    }
}

/// The product of two matrices, a thread for each element.
#[kernel]
pub fn view_product(a: &[f32], b: &[f32], inner: usize, mut out: DisjointMatrix<f32>) {
    let (rows, columns, i) = (out.rows(), out.columns(), thread::unique_index_2d());
    let (Some(a), Some(b)) = (Matrix::new(a, rows, inner), Matrix::new(b, inner, columns)) else { return };
    let (Some(row), Some(column), Some(out)) = (a.row(i.row()), b.column(i.column()), out.get_mut(i)) else { return };
    *out = row.iter().zip(column).map(|(a, b)| a * b).sum();
}

/// The twin of [`view_product`].
#[kernel]
pub unsafe fn pointer_product(a: &[f32], b: &[f32], inner: usize, out: *mut f32, rows: usize, columns: usize) {
    let i = thread::index_2d();
    let (row, column) = (i.y as usize, i.x as usize);
    let enough = |n: usize, m: usize, len| n.checked_mul(m).is_some_and(|count| count <= len);
    if !enough(rows, inner, a.len()) || !enough(inner, columns, b.len()) || row >= rows || column >= columns {
        return;
    }
    let mut sum = -0.0;
    for k in 0..inner {
        // SAFETY: the row and the column exist, and `k` is below their length.
        sum += unsafe { a.get_unchecked(row * inner + k) * b.get_unchecked(k * columns + column) };
    }
    // SAFETY: the element exists, and no other thread has it.
    unsafe { out.add(row * columns + column).write(sum) };
}

/// The number of each element, for any grid of two dimensions, added to what is there.
#[kernel]
pub fn view_matrix(mut out: DisjointMatrix<u32>, step: u32) {
    let columns = out.columns();
    for row in out.rows_mut() {
        for (i, element) in row {
            *element += (i.row() * columns + i.column()) as u32 * step;
        }
    }
}

/// The same by indices.
#[kernel]
pub fn view_matrix_indexed(mut out: DisjointMatrix<u32>, step: u32) {
    for row in thread::unique_rows(out.rows()) {
        for i in row.columns(out.columns()) {
            out[i] += (i.row() * out.columns() + i.column()) as u32 * step;
        }
    }
}

/// The twin of [`view_matrix`].
#[kernel]
pub unsafe fn pointer_matrix(out: *mut u32, rows: usize, columns: usize, step: u32) {
    let (from, height) = (thread::index_2d().y as usize, (thread::grid_dim_y() * thread::block_dim_y()) as usize);
    let mut row = from;
    while row < rows {
        let mut column = thread::global_index();
        while column < columns {
            let place = row * columns + column;
            // SAFETY: the element exists, and no other thread visits it.
            unsafe { *out.add(place) += place as u32 * step };
            column += thread::grid_stride();
        }
        row += height;
    }
}

/// The number of each element of a volume, a thread for each, added to what is there.
#[kernel]
pub fn view_volume(mut out: DisjointVolume<u32>) {
    let i = thread::unique_index_3d();
    let (rows, columns) = (out.rows(), out.columns());
    let place = ((i.plane() * rows + i.row()) * columns + i.column()) as u32;
    let before = out.get(i).copied().unwrap_or(0);
    if let Some(element) = out.get_mut(i) {
        *element = before + place;
    }
}

/// The number of each element of a volume, for any grid of three dimensions.
#[kernel]
pub fn view_volume_strided(mut out: DisjointVolume<u32>) {
    let (planes, rows, columns) = (out.planes(), out.rows(), out.columns());
    for plane in thread::unique_planes(planes) {
        for row in plane.rows(rows) {
            for i in row.columns(columns) {
                out[i] = ((i.plane() * rows + i.row()) * columns + i.column()) as u32;
            }
        }
    }
}

/// Ones at the thread's own element of each shape, by indices whose tests panic outside.
#[kernel]
pub fn view_tests(mut vector: DisjointSlice<u32>, mut matrix: DisjointMatrix<u32>, mut volume: DisjointVolume<u32>) {
    vector[thread::unique_index()] += 1;
    matrix[thread::unique_index_2d()] += 1;
    volume[thread::unique_index_3d()] += 1;
}

/// Reverses each block of 128 elements through shared memory.
#[kernel]
pub fn view_reverse(input: &[u32], mut out: DisjointSlice<u32>, tile: SharedTile<u32, BLOCK>) {
    let i = thread::unique_index();
    let tile = tile.put(input.get(i.get()).copied().unwrap_or(0));
    let opposite = BLOCK - 1 - thread::thread_idx_x() as usize;
    if let (Some(value), Some(out)) = (tile.get(opposite), out.get_mut(i)) {
        *out = value;
    }
}

/// The twin of [`view_reverse`].
#[kernel]
pub unsafe fn pointer_reverse(input: &[u32], out: *mut u32, n: usize) {
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];
    let tile = (&raw mut TILE).cast::<u32>();
    let (i, rank) = (thread::global_index(), thread::rank_in_block() as usize);
    let threads = (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize;
    let value = input.get(i).copied().unwrap_or(0);
    if rank < BLOCK {
        // SAFETY: the element exists, and it is this thread's.
        unsafe { tile.add(rank).write(value) };
    }
    thread::sync_threads(); // the tile is full before it is read
    let opposite = BLOCK - 1 - thread::thread_idx_x() as usize;
    if opposite < threads.min(BLOCK) && i < n {
        // SAFETY: the element was written, and no other thread has this `i`.
        unsafe { out.add(i).write(tile.add(opposite).read()) };
    }
}

/// Sums of a tile of `T`: the table of triangular numbers from 0 on, then the same table read in reverse, in one tile.
#[kernel(for T in [u8, i8, u16, i16, u32, i32, u64, i64, f32, f64])]
pub fn view_tile<T: Small>(mut out: DisjointSlice<T>, tile: SharedTile<T, 100>) {
    let tile = tile.fill(|i| T::of(i as u8));
    let mirrored: [Option<T>; 2] =
        core::array::from_fn(|k| tile.get(99usize.wrapping_sub(thread::thread_idx_x() as usize + k * 64)));
    let tile = tile.release().fill(|i| T::of(99 - i as u8));
    let i = thread::unique_index();
    let [Some(first), _] = mirrored else { return };
    if let (Some(same), Some(out), 100) = (tile.get(i.get()), out.get_mut(i), tile.len()) {
        *out = if same == first { same } else { T::of(255) };
    }
}

/// Threads of a block, and elements of a tile of the same name.
const TILE: usize = 64;

/// Tiles whose sizes have the names of the tiles: the reversed ranks of a block's threads, and the first `N` ranks
/// repeated.
#[kernel(for N in [16, 32], launch_bounds(TILE as u32))]
pub fn view_tile_sizes<const N: usize>(
    mut out: DisjointSlice<[u32; 2]>,
    tile: SharedTile<u32, TILE>,
    n: SharedTile<u32, N>,
) {
    let rank = thread::thread_idx_x();
    let (tile, n) = (tile.put(rank), n.put(rank));
    let pair = (tile.get(TILE - 1 - rank as usize), n.get(rank as usize % N));
    if let ((Some(opposite), Some(repeated)), Some(out)) = (pair, out.get_mut(thread::unique_index())) {
        *out = [opposite, repeated];
    }
}

/// Numbers made of small ones.
pub trait Small: cuda_std::view::Word + PartialEq + Sync {
    /// The number `small`, wrapped to the type.
    fn of(small: u8) -> Self;
}

macro_rules! small {
    ($($t:ident)*) => { $( impl Small for $t { fn of(small: u8) -> Self { small as $t } } )* };
}
small!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Adds 1 through the view's address, in a kernel that is still `unsafe`.
#[kernel]
pub unsafe fn view_raw(mut out: DisjointSlice<u32>) {
    let (start, n) = (out.as_mut_ptr(), out.len());
    // SAFETY: the launch has one thread, and the first view is not used again.
    let mut out = unsafe { DisjointSlice::from_raw_parts(start, n) };
    for i in thread::unique_indices(n) {
        if let Some(old) = out.get(i).copied() {
            out[i] = old + 1;
        }
    }
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice, view};
    use std::vec::Vec;

    let n = 301;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| (i * i) as f32).collect();
    let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    let add = |name: &str, grid| Case::new(name, grid, 64).input(&a).input(&b).output(&sums);
    let add_wide = |name: &str| Case::new(name, 2, 64).input(&wide(&a)).input(&wide(&b)).output(&wide(&sums));
    let x: Vec<u32> = (0..n as u32).collect();
    let doubled: Vec<u32> = x.iter().map(|x| 2 * x).collect();
    let two = |name: &str| Case::new(name, 2, 32).updated(&x, &doubled).updated(&doubled, &triple(&x));
    let (rows, inner, columns) = (5, 7, 37);
    let product: Vec<f32> = (0..rows * columns)
        .map(|i| (0..inner).map(|k| a[i / columns * inner + k] * b[k * columns + i % columns]).sum())
        .collect();
    let multiply = |name: &str| {
        let case = Case::in_space(name, [2, 3, 1], [32, 2, 1]);
        case.input(&a[..rows * inner]).input(&b[..inner * columns]).output(&product)
    };
    let places: Vec<u32> = (0..(rows * columns) as u32).collect();
    let matrix = |name: &str| Case::in_space(name, [2, 2, 1], [8, 2, 1]).updated(&places, &triple(&places));
    let volume = [3, 4, 7];
    let cells: Vec<u32> = (0..3 * 4 * 7).collect();
    let mapped: Vec<u32> = cells.iter().map(|cell| 2 * cell).collect();
    let input: Vec<u32> = (0..3 * BLOCK as u32).map(|i| i * 7).collect();
    let reversed: Vec<u32> = input.chunks(BLOCK).flat_map(|c| c.iter().rev().copied()).collect();
    let m = input.len();
    let mut cases = std::vec![
        add("view_once", 5).calls(move |at| view_once(slice(at[0], n), slice(at[1], n), view(at[2], n))),
        add("pointer_once", 5).calls(move |at| pointer_once(slice(at[0], n), slice(at[1], n), out(at[2]), n)),
        add("view_strided", 2).calls(move |at| view_strided::<f32>(slice(at[0], n), slice(at[1], n), view(at[2], n))),
        add("pointer_strided", 2).calls(move |at| pointer_strided::<f32>(
            slice(at[0], n),
            slice(at[1], n),
            out(at[2]),
            n
        )),
        add_wide("view_strided of f64").calls(move |at| view_strided::<f64>(
            slice(at[0], n),
            slice(at[1], n),
            view(at[2], n)
        )),
        add_wide("pointer_strided of f64").calls(move |at| pointer_strided::<f64>(
            slice(at[0], n),
            slice(at[1], n),
            out(at[2]),
            n
        )),
        two("view_two_outputs").calls(move |at| view_two_outputs(view(at[0], n), view(at[1], n))),
        two("pointer_two_outputs").calls(move |at| pointer_two_outputs(out(at[0]), n, out(at[1]), n)),
        multiply("view_product").calls(move |at| {
            let (a, b) = (slice(at[0], rows * inner), slice(at[1], inner * columns));
            view_product(a, b, inner, view(at[2], rows * columns).matrix(rows, columns))
        }),
        multiply("pointer_product").calls(move |at| {
            let (a, b) = (slice(at[0], rows * inner), slice(at[1], inner * columns));
            pointer_product(a, b, inner, out(at[2]), rows, columns)
        }),
        matrix("view_matrix").calls(move |at| view_matrix(view(at[0], rows * columns).matrix(rows, columns), 2)),
        matrix("view_matrix_indexed")
            .calls(move |at| view_matrix_indexed(view(at[0], rows * columns).matrix(rows, columns), 2)),
        matrix("pointer_matrix").calls(move |at| pointer_matrix(out(at[0]), rows, columns, 2)),
        Case::in_space("view_volume", [2, 2, 1], [4, 2, 3])
            .updated(&cells, &mapped)
            .calls(move |at| view_volume(view(at[0], cells.len()).volume(volume[0], volume[1], volume[2]))),
        Case::in_space("view_volume_strided", [2, 1, 1], [2, 3, 2])
            .output(&(0..3 * 4 * 7).collect::<Vec<u32>>())
            .calls(|at| view_volume_strided(view(at[0], 3 * 4 * 7).volume(3, 4, 7))),
        Case::new("view_tests", 1, 32)
            .updated(&[1; 32], &[2; 32])
            .updated(&[2; 32], &[3; 32])
            .updated(&[3; 32], &[4; 32])
            .calls(|at| {
                view_tests(view(at[0], 32), view(at[1], 32).matrix(1, 32), view(at[2], 32).volume(1, 1, 32))
            }),
        Case::new("view_reverse", 3, 128)
            .input(&input)
            .output(&reversed)
            .calls(move |at| view_reverse(slice(at[0], m), view(at[1], m))),
        Case::new("pointer_reverse", 3, 128).input(&input).output(&reversed).calls(move |at| pointer_reverse(
            slice(at[0], m),
            out(at[1]),
            m
        )),
        tile_sizes::<16>().calls(|at| view_tile_sizes::<16>(view(at[0], TILE))),
        tile_sizes::<32>().calls(|at| view_tile_sizes::<32>(view(at[0], TILE))),
        Case::new("view_raw", 1, 1).updated(&[1u32, 2, 3], &[2u32, 3, 4]).calls(|at| view_raw(view(at[0], 3))),
    ];
    macro_rules! tiles {
        ($($t:ident)*) => { $(
            let expected: Vec<$t> = (0..64).map(|i| (99 - i) as $t).collect();
            cases.push(
                Case::new(std::concat!("view_tile of ", stringify!($t)), 1, 64)
                    .output(&expected)
                    .calls(|at| view_tile::<$t>(view(at[0], 64))),
            );
        )* };
    }
    tiles!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
    cases
}

#[cfg(not(target_arch = "nvptx64"))]
fn tile_sizes<const N: usize>() -> crate::case::Case {
    let pairs: std::vec::Vec<[u32; 2]> = (0..TILE as u32).map(|i| [TILE as u32 - 1 - i, i % N as u32]).collect();
    crate::case::Case::new(&std::format!("view_tile_sizes of {N}"), 1, TILE as u32).output(&pairs)
}

#[cfg(not(target_arch = "nvptx64"))]
fn triple(values: &[u32]) -> std::vec::Vec<u32> {
    values.iter().map(|value| 3 * value).collect()
}
