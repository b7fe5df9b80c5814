//! What `best` launches for a matrix that is stored transposed: a thread has neighbouring rows of the product, whose
//! elements lie in one column of what is stored, beside each other.
//!
//! The threads of a block read neighbours of several stored lines, one for each `lanes` of them, with [`UNROLL`] loads
//! of 16 bytes in flight, and add their sums in shared memory. Blocks share the lines, so that the device is full with
//! any shape; the last one to finish adds their sums in their order.

use super::best::load;
use super::finish::Sharing;
use super::{Bf16, Entry, F16};
use crate::number::Number;
use crate::operator::shuffle;
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::math::Float;
use cuda_std::{address_space, kernel, thread};

/// Threads per block, a multiple of 32.
pub const BLOCK: u32 = 256;

/// Loads in flight per thread.
pub const UNROLL: usize = 8;

/// Loads in flight per thread, where they are single elements, and in the addition of the blocks' sums.
pub const SINGLE_UNROLL: usize = 16;

/// Largest number of rows of the product that a block has: 32 lanes of 8 elements.
const TILE: usize = 256;

/// Sums of each warp for each row of the product: f32 of all rows, or f64 of a quarter.
#[address_space(shared)]
static mut SUMS: [MaybeUninit<u64>; BLOCK as usize / 32 * TILE / 2] =
    [MaybeUninit::uninit(); BLOCK as usize / 32 * TILE / 2];

/// The block's part of the matrix.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Rows of the product: the length of a stored line.
    rows: usize,
    /// Lanes for a stored line, a power of two up to 32.
    lanes: usize,
    /// The first row of the block.
    first: usize,
    /// The stored lines.
    lines: [usize; 2],
}

/// Writes the product of the matrix `a` of `rows` by `columns`, which is stored transposed, and the vector `x`. A block
/// has the rows that `lanes` threads load at once, for `piece` columns of the matrix; `pieces` blocks share the rows.
/// `aligned` is 1 if the matrix starts on a 16-byte boundary, and a stored line has a whole number of 16 bytes.
///
/// # Safety
/// `a` has `rows * columns` elements, `x` `columns`, `y` room for `rows` and overlaps neither; [`BLOCK`] threads; `lanes`
/// is a power of two up to 32, and there is a block for each piece of each of these rows; `pieces * piece` is at least
/// `columns`. Where there are several pieces, `partials` has `pieces * rows` elements, `tickets` has one for the rows of
/// each block, all 0, and this launch alone uses both.
#[kernel(for T in [f32, f64, F16, Bf16], launch_bounds(BLOCK, 3))]
pub unsafe fn matvec_columns<T: Entry>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    lanes: u32,
    pieces: u32,
    piece: u32,
    aligned: u32,
    partials: *mut <T as Entry>::Sum,
    tickets: *mut u32,
) {
    let sharing = Sharing::of(thread::block_idx_x(), pieces);
    let width = if aligned != 0 { 16 / size_of::<T::Bits>() } else { 1 };
    let start = sharing.piece as usize * piece as usize;
    let part = Part {
        rows: rows as usize,
        lanes: lanes as usize,
        first: sharing.group as usize * lanes as usize * width,
        lines: [start, (columns as usize).min(start + piece as usize)],
    };
    // SAFETY: the lines are inside the matrix and the vector, and what is aligned is so by contract.
    unsafe {
        match width {
            1 => part.add_up::<T, 1, SINGLE_UNROLL>(a.as_ptr(), x.as_ptr()),
            2 => part.add_up::<T, 2, UNROLL>(a.as_ptr(), x.as_ptr()),
            4 => part.add_up::<T, 4, UNROLL>(a.as_ptr(), x.as_ptr()),
            _ => part.add_up::<T, 8, UNROLL>(a.as_ptr(), x.as_ptr()),
        }
    }
    thread::sync_threads(); // every warp's sums are in their places
    let (tid, block_rows) = (thread::thread_idx_x() as usize, part.lanes * width);
    let row = part.first + tid;
    let is_mine = tid < block_rows && row < part.rows;
    if is_mine {
        let sums = (&raw mut SUMS).cast::<T::Sum>();
        let mut sum = T::Sum::ZERO;
        unroll!(warp < const { BLOCK as usize / 32 } => {
            // SAFETY: each warp has stored the sums of these rows before the barrier.
            sum = sum.add(unsafe { sums.add(warp * block_rows + tid).read() });
        });
        // SAFETY: the row is inside the result, or has its place among the sums of this piece.
        unsafe {
            if pieces == 1 {
                y.add(row).write(sum);
            } else {
                partials.add(sharing.piece as usize * part.rows + row).write(sum);
            }
        }
    }
    if pieces == 1 {
        return;
    }
    thread::sync_threads(); // the block's sums are stored before its ticket is drawn, and read from shared memory
    // SAFETY: the block has stored; tickets are as the contract says.
    if !unsafe { sharing.is_last(tickets) } {
        return;
    }
    // SAFETY: all blocks of these rows have stored their sums.
    let sum = unsafe { add_pieces(partials, part.rows, part.first, block_rows, pieces as usize) };
    if is_mine {
        // SAFETY: the row is inside the result.
        unsafe { y.add(row).write(sum) };
    }
}

impl Part {
    /// Stores each warp's sums of the block's rows, by `W` elements and `U` loads at once.
    ///
    /// # Safety
    /// The lines are inside the matrix and the vector; if `W` is not 1, the matrix starts on a 16-byte boundary, and a
    /// line has a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn add_up<T: Entry, const W: usize, const U: usize>(self, a: *const T::Bits, x: *const T::Bits) {
        let (tid, Self { rows, lanes, first, lines: [start, end] }) = (thread::thread_idx_x() as usize, self);
        let (lane, slot, slots) = split(tid, lanes);
        // Lanes behind the last row read its neighbours before it, and their sums are not used.
        let column = (first + lane * W).min(rows - W);
        let mut sums = [T::Sum::ZERO; W];
        let mut line = start + slot;
        while line + (U - 1) * slots < end {
            // SAFETY: the last of the lines is below `end`.
            let (of_a, of_x) = unsafe {
                let of_a: [_; U] =
                    core::array::from_fn(|u| load::<T::Bits, W>(a.add((line + u * slots) * rows + column)));
                let of_x: [_; U] = core::array::from_fn(|u| x.add(line + u * slots).read());
                (of_a, of_x)
            };
            unroll!(u < U => { sums = multiply::<T, W>(of_a[u], of_x[u], sums); });
            line += U * slots;
        }
        while line < end {
            // SAFETY: the line is below `end`.
            let (of_a, of_x) = unsafe { (load::<_, W>(a.add(line * rows + column)), x.add(line).read()) };
            sums = multiply::<T, W>(of_a, of_x, sums);
            line += slots;
        }
        let mut distance = lanes;
        while distance < 32 {
            // SAFETY: all lanes of the warp are here.
            unroll!(i < W => { sums[i] = sums[i].add(unsafe { shuffle::xor(sums[i], distance as u32) }); });
            distance *= 2;
        }
        if tid % 32 < lanes {
            let to = (&raw mut SUMS).cast::<T::Sum>();
            let at = tid / 32 * lanes * W + lane * W;
            // SAFETY: each warp has its places, and each lane its own.
            unroll!(i < W => { unsafe { to.add(at + i).write(sums[i]) }; });
        }
    }
}

/// The thread's place among `lanes` neighbours, a power of two, the number of these neighbours before it, and how many
/// of them a block has.
#[inline(always)]
fn split(tid: usize, lanes: usize) -> (usize, usize, usize) {
    let shift = lanes.trailing_zeros();
    (tid & (lanes - 1), tid >> shift, BLOCK as usize >> shift)
}

/// Adds the products of `W` neighbouring rows with one element of the vector to their sums.
#[inline(always)]
fn multiply<T: Entry, const W: usize>(a: [T::Bits; W], x: T::Bits, mut sums: [T::Sum; W]) -> [T::Sum; W] {
    let x = T::widen(x);
    unroll!(i < W => { sums[i] = T::widen(a[i]).mul_add(x, sums[i]); });
    sums
}

/// The sum of all blocks' sums of row `first + tid`, in threads `tid` below `block_rows`, a power of two.
///
/// # Safety
/// The whole block calls it, after all have read their sums in shared memory; all pieces have stored their sums.
#[inline(always)]
unsafe fn add_pieces<S: Number>(partials: *const S, rows: usize, first: usize, block_rows: usize, pieces: usize) -> S {
    let tid = thread::thread_idx_x() as usize;
    let (row, slot, slots) = split(tid, block_rows);
    let at = (first + row).min(rows - 1);
    let read = |piece: usize| {
        // SAFETY: the piece has stored its sums.
        unsafe { partials.add(piece * rows + at).read() }
    };
    let mut sum = S::ZERO;
    let mut piece = slot;
    while piece + (SINGLE_UNROLL - 1) * slots < pieces {
        let round: [S; SINGLE_UNROLL] = core::array::from_fn(|u| read(piece + u * slots));
        unroll!(u < SINGLE_UNROLL => { sum = sum.add(round[u]); });
        piece += SINGLE_UNROLL * slots;
    }
    while piece < pieces {
        sum = sum.add(read(piece));
        piece += slots;
    }
    let sums = (&raw mut SUMS).cast::<S>();
    // SAFETY: each thread has its place.
    unsafe { sums.add(tid).write(sum) };
    thread::sync_threads(); // every thread's sum is in its place
    let mut sum = S::ZERO;
    let mut at = row;
    while at < BLOCK as usize {
        // SAFETY: each thread has stored its sum.
        sum = sum.add(unsafe { sums.add(at).read() });
        at += block_rows;
    }
    sum
}
