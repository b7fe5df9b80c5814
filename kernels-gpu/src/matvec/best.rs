//! The rung to use, for a row-major matrix: many loads in flight, for any shape.
//!
//! - A team of lanes takes [`ROWS`] rows at a time, so that an element of the vector, which is in the caches, is loaded
//!   once for all of them. Each lane has [`UNROLL`] 16-byte loads of every row in flight.
//! - Short rows have small teams, so that all lanes have work; the teams of a warp take neighbouring rows, so that it
//!   loads neighbouring bytes. Where there are few rows, a team has several warps, up to a block, and then blocks share
//!   the rows: each adds a piece of the columns, and the last one to finish adds the pieces in their order.
//! - Rows that do not start on 16-byte boundaries are loaded by the vectors in which they lie, and shifted to the
//!   places of the vector's elements.

use super::lines::{ALIGNED, SHIFTED, SINGLE, STREAMED, load};
use super::output::Output;
use super::{Bf16, Entry, F16};
use crate::number::Number;
use crate::operator::{shuffle, slots};
use crate::reduce::collective::Sharing;
use crate::unroll::unroll;
use cuda_std::math::Float;
use cuda_std::{kernel, thread, warp};

/// The idea in one line.
pub const IDEA: &str = "four rows at a time, 16-byte loads in flight, and blocks that share the rows of wide matrices";

/// Threads per block, a multiple of 32.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor that the registers leave room for.
pub const BLOCKS_PER_SM: u32 = 2;

/// Rows that a team takes.
pub const ROWS: usize = 4;

/// Loads of each row in flight per lane.
pub const UNROLL: usize = 2;

/// Loads of each row in flight per lane, where each takes two vectors.
// tune: 1 2 4
const SHIFTED_UNROLL: usize = 1;

/// Loads of each row in flight per lane, where they are single elements.
// tune: 4 8 16
const SINGLE_UNROLL: usize = 8;

/// Lanes of a warp.
const WARP: u32 = 32;

/// Sums of a team's rows.
type Sums<S> = [S; ROWS];

/// The team's part of the matrix.
#[derive(Clone, Copy, Debug)]
struct Part {
    rows: usize,
    columns: usize,
    /// Elements from one row to the next.
    pitch: usize,
    /// The thread's lane among those of the team.
    lane: usize,
    /// Lanes of the team, a power of two.
    team: usize,
    /// The first row, and the distance to the next of [`ROWS`] rows.
    first: usize,
    apart: usize,
    /// The columns.
    start: usize,
    end: usize,
}

/// `y = alpha * a * x + beta * y`, of the row-major matrix `a` of `rows` by `columns`, whose rows start every `pitch`
/// elements, and the vector `x`; with a `beta` of 0, `y` is not read. `team` lanes take [`ROWS`] rows. If teams are
/// blocks, `pieces` of them share these rows, each with `piece` columns. `mode` is [`ALIGNED`], [`STREAMED`],
/// [`SHIFTED`] or [`SINGLE`].
///
/// # Safety
/// `a` has its elements, `x` `columns`, `y` room for `rows` and overlaps neither; [`BLOCK`] threads;
/// `team` is a power of two up to [`BLOCK`], and there is a team for each piece of each [`ROWS`] rows; `pieces` is 1
/// for other teams than blocks, `pieces * piece` is at least `columns`, and `piece` is a multiple of 8 if there are
/// several. For other modes than [`SINGLE`], the matrix and the vector start on 16-byte boundaries, and for [`ALIGNED`]
/// and [`STREAMED`] all rows do. Where there are several pieces, `partials` has [`ROWS`] elements for each block,
/// `tickets` has one for each [`ROWS`] rows, all 0, and this launch alone uses both.
#[kernel(for T in [f32, f64, F16, Bf16], launch_bounds(BLOCK, BLOCKS_PER_SM))]
pub unsafe fn matvec_best<T: Entry<Sum: Float>>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    pitch: u32,
    alpha: <T as Entry>::Sum,
    beta: <T as Entry>::Sum,
    team: u32,
    pieces: u32,
    piece: u32,
    mode: u32,
    partials: *mut <T as Entry>::Sum,
    tickets: *mut u32,
) {
    let tid = thread::thread_idx_x();
    // The teams of a warp share its rows: row k of a team lies among the k-th rows of all of them.
    let in_warp = team.min(WARP).trailing_zeros();
    let apart = WARP as usize >> in_warp;
    let unit = (thread::global_index() >> team.max(WARP).trailing_zeros()) as u32;
    let sharing = Sharing::of(unit, pieces);
    let first = sharing.group as usize * ROWS * apart + (warp::lane_id() >> in_warp) as usize;
    let start = sharing.piece as usize * piece as usize;
    let end = (columns as usize).min(start + piece as usize);
    let part = Part {
        rows: rows as usize,
        columns: columns as usize,
        pitch: pitch as usize,
        lane: (tid & (team - 1)) as usize,
        team: team as usize,
        first,
        apart,
        start,
        // Teams behind the last row have no columns: their lanes are needed by the shuffles of the warp.
        end: if first < rows as usize { end } else { start },
    };
    // SAFETY: the columns are inside the matrix and the vector, and what is aligned is so by contract.
    let mut sums = unsafe {
        match size_of::<T::Bits>() {
            8 => part.by_mode::<T, 2>(a.as_ptr(), x.as_ptr(), mode),
            4 => part.by_mode::<T, 4>(a.as_ptr(), x.as_ptr(), mode),
            _ => part.by_mode::<T, 8>(a.as_ptr(), x.as_ptr(), mode),
        }
    };
    // SAFETY: all lanes of the warp are here.
    sums = unsafe { total(sums, team.min(WARP)) };
    if team > WARP {
        // SAFETY: the whole block has this size of team.
        sums = unsafe { of_team(sums, team) };
    }
    if pieces > 1 {
        if tid == 0 {
            // SAFETY: each block has its place.
            unsafe { partials.cast::<Sums<T::Sum>>().add(unit as usize).write(sums) };
        }
        // SAFETY: the thread that draws has stored; tickets are as the contract says.
        if !unsafe { sharing.is_last(tickets) } {
            return;
        }
        // SAFETY: all blocks of these rows have stored their sums, and the whole block is here.
        sums = unsafe { of_pieces(partials.cast(), sharing.group * pieces, pieces) };
    }
    if part.lane < ROWS {
        // SAFETY: the rows are this team's.
        unsafe { part.store(Output { to: y, alpha, beta }, sums) };
    }
}

impl Part {
    /// The lane's part of the sums, with vectors of `W` elements.
    ///
    /// # Safety
    /// That of the kernel.
    #[inline(always)]
    unsafe fn by_mode<T: Entry<Sum: Float>, const W: usize>(
        self,
        a: *const T::Bits,
        x: *const T::Bits,
        mode: u32,
    ) -> Sums<T::Sum> {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match mode {
                SINGLE => self.add_up::<T, 1, SINGLE_UNROLL, SINGLE>(a, x),
                ALIGNED => self.add_up::<T, W, UNROLL, ALIGNED>(a, x),
                STREAMED => self.add_up::<T, W, UNROLL, STREAMED>(a, x),
                _ => self.add_up::<T, W, SHIFTED_UNROLL, SHIFTED>(a, x),
            }
        }
    }

    /// The lane's part of the sums, by `W` elements and `U` loads of each row at once.
    ///
    /// # Safety
    /// That of the kernel.
    #[inline(always)]
    unsafe fn add_up<T: Entry<Sum: Float>, const W: usize, const U: usize, const MODE: u32>(
        self,
        a: *const T::Bits,
        x: *const T::Bits,
    ) -> Sums<T::Sum> {
        let Self { rows, columns, pitch, lane, team, first, apart, start, end } = self;
        // Rows behind the last are the last one; their sums are not stored.
        let line = |row: usize| a.wrapping_add((first + row * apart).min(rows - 1) * pitch);
        let lines: [_; ROWS] = core::array::from_fn(line);
        // SAFETY: these elements are inside the vector, on a boundary where `W` is not 1.
        let of_x = |k| unsafe { if W == 1 { load::<_, W, SINGLE>(x.add(k)) } else { load::<_, W, ALIGNED>(x.add(k)) } };
        // SAFETY: these elements are inside the row, and where they are shifted, the bytes behind them, too.
        let of_a = |k| lines.map(|line| unsafe { load::<T::Bits, W, MODE>(line.add(k)) });
        let limit = if MODE == SHIFTED { end.min(columns.saturating_sub(W)) } else { end };
        // The end of the last whole vector.
        let whole = start + (limit.max(start) - start) / W * W;
        let mut sums = [T::Sum::ZERO; ROWS];
        let (mut k, step) = (start + lane * W, team * W);
        while k + (U - 1) * step < whole {
            let of_a: [_; U] = core::array::from_fn(|u| of_a(k + u * step));
            let of_x: [_; U] = core::array::from_fn(|u| of_x(k + u * step));
            unroll!(u < U => { sums = multiply::<T, W>(of_a[u], of_x[u], sums); });
            k += U * step;
        }
        while k < whole {
            sums = multiply::<T, W>(of_a(k), of_x(k), sums);
            k += step;
        }
        let mut k = whole + lane;
        while W > 1 && k < end {
            // SAFETY: the column is below `end`.
            let of_a = lines.map(|line| unsafe { load::<_, 1, SINGLE>(line.add(k)) });
            // SAFETY: as above.
            sums = multiply::<T, 1>(of_a, unsafe { load::<_, 1, SINGLE>(x.add(k)) }, sums);
            k += team;
        }
        sums
    }

    /// Stores the sums; each lane stores those of its rows.
    ///
    /// # Safety
    /// The product has the rows, and no other team has them.
    #[inline(always)]
    unsafe fn store<S: Number + Float>(self, output: Output<S>, sums: Sums<S>) {
        unroll!(row < ROWS => {
            let at = self.first + row * self.apart;
            if row & (self.team - 1) == self.lane && at < self.rows {
                // SAFETY: the row is inside the result.
                unsafe { output.write(at, sums[row]) };
            }
        });
    }
}

/// Adds the products of `W` columns to the sums.
#[inline(always)]
fn multiply<T: Entry<Sum: Float>, const W: usize>(
    a: [[T::Bits; W]; ROWS],
    x: [T::Bits; W],
    mut sums: Sums<T::Sum>,
) -> Sums<T::Sum> {
    let x = x.map(T::widen);
    unroll!(row < ROWS => { sums[row] = line::<T, W>(a[row], x, sums[row]); });
    sums
}

/// Adds the products of `W` columns to the sum of one row.
#[inline(always)]
fn line<T: Entry<Sum: Float>, const W: usize>(a: [T::Bits; W], x: [T::Sum; W], mut sum: T::Sum) -> T::Sum {
    unroll!(i < W => { sum = T::widen(a[i]).mul_add(x[i], sum); });
    sum
}

/// The sum of both.
#[inline(always)]
fn add<S: Number>(mut sums: Sums<S>, other: Sums<S>) -> Sums<S> {
    unroll!(row < ROWS => { sums[row] = sums[row].add(other[row]); });
    sums
}

/// The sums over each `lanes` neighbouring lanes of a warp, in all of them.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn total<S: Number>(mut sums: Sums<S>, lanes: u32) -> Sums<S> {
    let mut distance = lanes / 2;
    while distance > 0 {
        // SAFETY: the caller upholds the contract.
        sums = add(sums, sums.map(|sum| unsafe { shuffle::xor(sum, distance) }));
        distance /= 2;
    }
    sums
}

/// The sums over the warps of each team of several, from those of each warp, in the order of the warps.
///
/// # Safety
/// The whole block calls it together.
#[inline(always)]
unsafe fn of_team<S: Number>(sums: Sums<S>, team: u32) -> Sums<S> {
    let (slots, tid) = (slots::of_warps::<Sums<S>>(), thread::thread_idx_x());
    if warp::lane_id() == 0 {
        // SAFETY: each warp has its slot.
        unsafe { slots.add((tid / WARP) as usize).write(sums) };
    }
    thread::sync_threads(); // every warp's sums are in its slot
    let (first, count) = ((tid & !(team - 1)) / WARP, team / WARP);
    let mut sums = [S::ZERO; ROWS];
    let mut i = 0;
    while i < count {
        // SAFETY: the warps of the team have filled their slots.
        sums = add(sums, unsafe { slots.add((first + i) as usize).read() });
        i += 1;
    }
    sums
}

/// The sum of `pieces` sums from number `first` on.
///
/// # Safety
/// They are stored, and the whole block calls it together, after all have read the slots of `of_team`.
#[inline(always)]
unsafe fn of_pieces<S: Number>(partials: *const Sums<S>, first: u32, pieces: u32) -> Sums<S> {
    let mut sums = [S::ZERO; ROWS];
    let mut i = thread::thread_idx_x();
    while i < pieces {
        // SAFETY: the caller upholds the contract.
        sums = add(sums, unsafe { partials.add((first + i) as usize).read() });
        i += BLOCK;
    }
    // SAFETY: the whole block is here.
    unsafe { of_team(total(sums, WARP), BLOCK) }
}
