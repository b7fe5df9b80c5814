//! What `best` launches for a matrix that is stored transposed: a thread has neighbouring rows of the product, whose
//! elements lie beside each other in the stored lines.
//!
//! The threads of a block read neighbours of several stored lines, one for each `lanes` of them, with [`UNROLL`] loads
//! of 16 bytes in flight, and add their sums in shared memory. Blocks share the lines, so that the device is full with
//! any shape; the last one to finish adds their sums in their order. Where lines are long enough to fill the device, a
//! whole block reads neighbours of one line after the other, and no sums are shared.

use super::lines::{ALIGNED, SHIFTED, SINGLE, STREAMED, load};
use super::output::Output;
use super::{Bf16, Entry, F16};
use crate::number::Number;
use crate::operator::shuffle;
use crate::reduce::collective::Sharing;
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::math::Float;
use cuda_std::{address_space, kernel, thread};

/// Threads per block, a multiple of 32.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor that the registers leave room for.
pub const BLOCKS_PER_SM: u32 = 2;

/// Loads in flight per thread.
pub const UNROLL: usize = 8;

/// Loads in flight per thread, where each takes two vectors.
// tune: 2 4 8
const SHIFTED_UNROLL: usize = 4;

/// Loads in flight per thread, where they are single elements, and in the addition of the blocks' sums.
pub const SINGLE_UNROLL: usize = 16;

/// Largest number of rows of the product whose sums the warps of a block share: 32 lanes of 8 elements.
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
    /// Columns of the matrix: the number of stored lines.
    columns: usize,
    /// Elements from one stored line to the next.
    pitch: usize,
    /// Threads for a stored line.
    lanes: usize,
    /// The first row of the block.
    first: usize,
    /// The stored lines.
    start: usize,
    end: usize,
}

/// `y = alpha * a * x + beta * y`, of the matrix `a` of `rows` by `columns`, which is stored transposed, in lines that
/// start every `pitch` elements, and the vector `x`; with a `beta` of 0, `y` is not read. A block has the rows that
/// `lanes` threads load at once, for `piece` columns of the matrix; `pieces` blocks share the rows.
/// `mode` is [`ALIGNED`], [`STREAMED`], [`SHIFTED`] or [`SINGLE`].
///
/// # Safety
/// `a` has its elements, `x` `columns`, `y` room for `rows` and overlaps neither; [`BLOCK`] threads;
/// `lanes` is a power of two up to 32, or [`BLOCK`] with one piece; there is a block for each piece of each of these
/// rows; `pieces * piece` is at least `columns`. For other modes than [`SINGLE`], the matrix starts on a 16-byte
/// boundary; for [`ALIGNED`] and [`STREAMED`], all stored lines do and have whole vectors, and for [`SHIFTED`] they
/// have at least 32 bytes. Where there are several pieces, `partials` has `pieces * rows` elements, `tickets` has one
/// for the rows of each block, all 0, and this launch alone uses both.
#[kernel(for T in [f32, f64, F16, Bf16], launch_bounds(BLOCK, BLOCKS_PER_SM))]
pub unsafe fn matvec_columns<T: Entry<Sum: Float>>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    pitch: u32,
    alpha: <T as Entry>::Sum,
    beta: <T as Entry>::Sum,
    lanes: u32,
    pieces: u32,
    piece: u32,
    mode: u32,
    partials: *mut <T as Entry>::Sum,
    tickets: *mut u32,
) {
    let sharing = Sharing::of(thread::block_idx_x(), pieces);
    let width = if mode == SINGLE { 1 } else { 16 / size_of::<T::Bits>() };
    let start = sharing.piece as usize * piece as usize;
    let part = Part {
        rows: rows as usize,
        columns: columns as usize,
        pitch: pitch as usize,
        lanes: lanes as usize,
        first: sharing.group as usize * lanes as usize * width,
        start,
        end: (columns as usize).min(start + piece as usize),
    };
    let output = Output { to: y, alpha, beta };
    // SAFETY: the lines are inside the matrix and the vector, and what is aligned is so by contract.
    unsafe {
        match size_of::<T::Bits>() {
            8 => part.by_mode::<T, 2>(a.as_ptr(), x.as_ptr(), output, mode),
            4 => part.by_mode::<T, 4>(a.as_ptr(), x.as_ptr(), output, mode),
            _ => part.by_mode::<T, 8>(a.as_ptr(), x.as_ptr(), output, mode),
        }
    }
    if lanes == BLOCK {
        return;
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
                output.write(row, sum);
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
    let sum = unsafe { part.add_pieces(partials, block_rows, pieces as usize) };
    if is_mine {
        // SAFETY: the row is inside the result.
        unsafe { output.write(row, sum) };
    }
}

impl Part {
    /// Adds up the block's lines, with vectors of `W` elements.
    ///
    /// # Safety
    /// That of the kernel.
    #[inline(always)]
    unsafe fn by_mode<T: Entry<Sum: Float>, const W: usize>(
        self,
        a: *const T::Bits,
        x: *const T::Bits,
        output: Output<T::Sum>,
        mode: u32,
    ) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match mode {
                SINGLE => self.add_up::<T, 1, SINGLE_UNROLL, SINGLE>(a, x, output),
                ALIGNED => self.add_up::<T, W, UNROLL, ALIGNED>(a, x, output),
                STREAMED => self.add_up::<T, W, UNROLL, STREAMED>(a, x, output),
                _ => self.add_up::<T, W, SHIFTED_UNROLL, SHIFTED>(a, x, output),
            }
        }
    }

    /// Adds up `W` rows of the product in each thread, with `U` loads at once. If a line has all threads of the block,
    /// these are the products; otherwise each warp's sums are stored in shared memory.
    ///
    /// # Safety
    /// That of the kernel.
    #[inline(always)]
    unsafe fn add_up<T: Entry<Sum: Float>, const W: usize, const U: usize, const MODE: u32>(
        self,
        a: *const T::Bits,
        x: *const T::Bits,
        output: Output<T::Sum>,
    ) {
        let (tid, Self { rows, columns, pitch, lanes, first, start, end }) = (thread::thread_idx_x() as usize, self);
        let (lane, slot, slots) = split(tid, lanes);
        // Lanes behind the last row read the last ones, and their sums are not used.
        let row = (first + lane * W).min((rows - 1) / W * W);
        // SAFETY: the line has these elements, or the next line has the bytes that are loaded with them.
        let of_a = |line: usize| unsafe { load::<T::Bits, W, MODE>(a.add(line * pitch + row)) };
        // Elements of the last line, behind which there are no bytes. SAFETY: the row is inside the line.
        let of_last = |line: usize, i: usize| unsafe { a.add(line * pitch + (row + i).min(rows - 1)).read() };
        let limit = if MODE == SHIFTED { end.min(columns.saturating_sub(1)) } else { end };
        let mut sums = [T::Sum::ZERO; W];
        let mut line = start + slot;
        while line + (U - 1) * slots < limit {
            let of_a: [_; U] = core::array::from_fn(|u| of_a(line + u * slots));
            // SAFETY: the last of the lines is below `end`.
            let of_x: [_; U] = core::array::from_fn(|u| unsafe { x.add(line + u * slots).read() });
            unroll!(u < U => { sums = multiply::<T, W>(of_a[u], of_x[u], sums); });
            line += U * slots;
        }
        if line < limit {
            // The last round: lines behind the last one are the last one, so that no load waits for another, and are
            // not added.
            let at = |u: usize| (line + u * slots).min(limit - 1);
            let of_a: [_; U] = core::array::from_fn(|u| of_a(at(u)));
            // SAFETY: as above.
            let of_x: [_; U] = core::array::from_fn(|u| unsafe { x.add(at(u)).read() });
            unroll!(u < U => {
                if line + u * slots < limit {
                    sums = multiply::<T, W>(of_a[u], of_x[u], sums);
                }
            });
        }
        if limit < end && (limit - start) & (slots - 1) == slot {
            // SAFETY: the line is below `end`.
            sums = multiply::<T, W>(core::array::from_fn(|i| of_last(limit, i)), unsafe { x.add(limit).read() }, sums);
        }
        if lanes == BLOCK as usize {
            // SAFETY: no other thread has these rows.
            return unsafe { output.write_all(rows, first + lane * W, sums) };
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

    /// The sum of all blocks' sums of row `first + tid`, in threads `tid` below `block_rows`, a power of two.
    ///
    /// # Safety
    /// The whole block calls it, after all have read their sums in shared memory; all pieces have stored their sums.
    #[inline(always)]
    unsafe fn add_pieces<S: Number>(self, partials: *const S, block_rows: usize, pieces: usize) -> S {
        let tid = thread::thread_idx_x() as usize;
        let (row, slot, slots) = split(tid, block_rows);
        let at = (self.first + row).min(self.rows - 1);
        // SAFETY: the piece has stored its sums.
        let read = |piece: usize| unsafe { partials.add(piece * self.rows + at).read() };
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
}

/// The thread's place among `lanes` neighbours, a power of two, the number of such neighbours before it, and how many
/// of them a block has.
#[inline(always)]
fn split(tid: usize, lanes: usize) -> (usize, usize, usize) {
    let shift = lanes.trailing_zeros();
    (tid & (lanes - 1), tid >> shift, BLOCK as usize >> shift)
}

/// Adds the products of `W` neighbouring rows with one element of the vector to their sums.
#[inline(always)]
fn multiply<T: Entry<Sum: Float>, const W: usize>(a: [T::Bits; W], x: T::Bits, mut sums: [T::Sum; W]) -> [T::Sum; W] {
    let x = T::widen(x);
    unroll!(i < W => { sums[i] = T::widen(a[i]).mul_add(x, sums[i]); });
    sums
}
