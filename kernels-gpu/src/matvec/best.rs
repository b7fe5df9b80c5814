//! The rung to use, for a row-major matrix: many loads in flight, for any shape.
//!
//! - A team of lanes takes [`ROWS`] rows at a time, so that an element of the vector, which is in the caches, is loaded
//!   once for all of them. Each lane has [`UNROLL`] 16-byte loads of every row in flight.
//! - Short rows have small teams, so that all lanes have work. Where there are few rows, a team is a block, and blocks
//!   share the rows: each adds a piece of the columns, and the last one to finish adds the pieces in their order.
//! - Rows that do not start on 16-byte boundaries are loaded by single elements, as many at once.

use super::finish::Sharing;
use super::{Bf16, Entry, F16};
use crate::number::Number;
use crate::operator::shuffle;
use crate::reduce::collective::block_reduce_by;
use crate::unroll::unroll;
use cuda_std::math::Float;
use cuda_std::memory::Vector;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "four rows at a time, 16-byte loads in flight, and blocks that share the rows of wide matrices";

/// Threads per block, a multiple of 32.
pub const BLOCK: u32 = 256;

/// Rows that a team takes.
pub const ROWS: usize = 4;

/// Loads of each row in flight per lane.
pub const UNROLL: usize = 2;

/// Loads of each row in flight per lane, where they are single elements.
const SINGLE_UNROLL: usize = 4;

/// Sums of a team's rows.
type Sums<S> = [S; ROWS];

/// The work of a launch.
#[derive(Clone, Copy, Debug)]
struct Work {
    rows: usize,
    columns: usize,
    /// Lanes of a team: 4, 8, 16, 32 or [`BLOCK`].
    team: usize,
}

/// Writes the product of the row-major matrix `a` of `rows` by `columns` and the vector `x`. `team` lanes take
/// [`ROWS`] rows. If teams are blocks, `pieces` of them share these rows, each with `piece` columns. `aligned` is 1 if
/// the matrix, all its rows, and the vector start on 16-byte boundaries.
///
/// # Safety
/// `a` has `rows * columns` elements, `x` `columns`, `y` room for `rows` and overlaps neither; [`BLOCK`] threads; `team`
/// is 4, 8, 16, 32 or [`BLOCK`], and there is a team for each piece of each [`ROWS`] rows; `pieces` is 1 for other teams
/// than blocks, and `pieces * piece` at least `columns`; `piece` is a multiple of 8. Where there are several pieces,
/// `partials` has `ROWS` elements for each block, `tickets` has one for each [`ROWS`] rows, all 0, and this launch alone
/// uses both.
#[kernel(for T in [f32, f64, F16, Bf16], launch_bounds(BLOCK))]
pub unsafe fn matvec_best<T: Entry>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    team: u32,
    pieces: u32,
    piece: u32,
    aligned: u32,
    partials: *mut <T as Entry>::Sum,
    tickets: *mut u32,
) {
    let work = Work { rows: rows as usize, columns: columns as usize, team: team as usize };
    let at = thread::global_index() >> team.trailing_zeros();
    let sharing = Sharing::of(at as u32, pieces);
    let (first, start) = (sharing.group as usize * ROWS, sharing.piece as usize * piece as usize);
    let end = work.columns.min(start + piece as usize);
    // Teams behind the last row have no columns: their lanes are needed by the shuffles of the warp.
    let end = if first < work.rows { end } else { start };
    // SAFETY: the columns are inside the matrix and the vector, and what is aligned is so by contract.
    let sums = unsafe {
        match (aligned != 0, size_of::<T::Bits>()) {
            (false, _) => work.add_up::<T, 1, SINGLE_UNROLL>(a.as_ptr(), x.as_ptr(), first, [start, end]),
            (true, 8) => work.add_up::<T, 2, UNROLL>(a.as_ptr(), x.as_ptr(), first, [start, end]),
            (true, 4) => work.add_up::<T, 4, UNROLL>(a.as_ptr(), x.as_ptr(), first, [start, end]),
            (true, _) => work.add_up::<T, 8, UNROLL>(a.as_ptr(), x.as_ptr(), first, [start, end]),
        }
    };
    if team != BLOCK {
        // SAFETY: all lanes of the warp are here, and teams do not cross warps.
        let sums = unsafe { total(sums, team) };
        // SAFETY: the rows are this team's.
        unsafe { work.store(y, first, sums, work.lane()) };
        return;
    }
    let of_block = |sums| {
        // SAFETY: the whole block, of whole warps, is here.
        unsafe { block_reduce_by(sums, [T::Sum::ZERO; ROWS], |sums| total(sums, 32)) }
    };
    let tid = thread::thread_idx_x() as usize;
    let mut sums = of_block(sums);
    if pieces > 1 {
        if tid == 0 {
            // SAFETY: each block has its place.
            unsafe { partials.cast::<Sums<T::Sum>>().add(at).write(sums) };
        }
        // SAFETY: the thread that draws has stored; tickets are as the contract says.
        if !unsafe { sharing.is_last(tickets) } {
            return;
        }
        let first = sharing.group as usize * pieces as usize;
        let mut part = [T::Sum::ZERO; ROWS];
        let mut i = tid;
        while i < pieces as usize {
            // SAFETY: all blocks of these rows have stored their sums.
            let other = unsafe { partials.cast::<Sums<T::Sum>>().add(first + i).read() };
            unroll!(row < ROWS => { part[row] = part[row].add(other[row]); });
            i += BLOCK as usize;
        }
        sums = of_block(part);
    }
    // The first warp has the sums.
    if tid < ROWS {
        // SAFETY: the rows are this block's.
        unsafe { work.store(y, first, sums, tid) };
    }
}

impl Work {
    /// The thread's lane of its team.
    #[inline(always)]
    fn lane(self) -> usize {
        thread::thread_idx_x() as usize & (self.team - 1)
    }

    /// The lane's part of the sums of [`ROWS`] rows from `first` on, over columns `start..end`, by `W` elements and
    /// `U` loads of each row at once. Rows behind the last are the last one.
    ///
    /// # Safety
    /// The columns are inside the matrix and the vector; if `W` is not 1, both, and all rows, start on 16-byte
    /// boundaries, and `start` is a multiple of `W`.
    #[inline(always)]
    unsafe fn add_up<T: Entry, const W: usize, const U: usize>(
        self,
        a: *const T::Bits,
        x: *const T::Bits,
        first: usize,
        [start, end]: [usize; 2],
    ) -> Sums<T::Sum> {
        let lane = self.lane();
        let row = |row: usize| a.wrapping_add(self.rows.saturating_sub(1).min(first + row) * self.columns);
        let lines: [_; ROWS] = core::array::from_fn(row);
        let mut sums = [T::Sum::ZERO; ROWS];
        let mut k = start + lane * W;
        while k + ((U - 1) * self.team + 1) * W <= end {
            // SAFETY: the last of the loads ends at `end`.
            let (of_a, of_x) = unsafe {
                let of_a: [[_; U]; ROWS] =
                    lines.map(|line| core::array::from_fn(|u| load::<T::Bits, W>(line.add(k + u * self.team * W))));
                let of_x: [_; U] = core::array::from_fn(|u| load::<T::Bits, W>(x.add(k + u * self.team * W)));
                (of_a, of_x)
            };
            unroll!(u < U => { sums = multiply::<T, W>(of_a.map(|loads| loads[u]), of_x[u], sums); });
            k += U * self.team * W;
        }
        while k + W <= end {
            // SAFETY: the load ends at `end` or before.
            let (of_a, of_x) = unsafe { (lines.map(|line| load::<T::Bits, W>(line.add(k))), load(x.add(k))) };
            sums = multiply::<T, W>(of_a, of_x, sums);
            k += self.team * W;
        }
        if W > 1 {
            // Columns behind the last whole vector.
            let mut k = end - (end - start) % W + lane;
            while k < end {
                // SAFETY: the column is below `end`.
                let (of_a, of_x) = unsafe { (lines.map(|line| load::<_, 1>(line.add(k))), load::<_, 1>(x.add(k))) };
                sums = multiply::<T, 1>(of_a, of_x, sums);
                k += self.team;
            }
        }
        sums
    }

    /// Stores the sum of row `lane` of [`ROWS`] rows from `first` on.
    ///
    /// # Safety
    /// `y` has room for the rows, and no other lane stores it.
    #[inline(always)]
    unsafe fn store<S: Number>(self, y: *mut S, first: usize, sums: Sums<S>, lane: usize) {
        unroll!(row < ROWS => {
            if row == lane && first + row < self.rows {
                // SAFETY: the row is inside the result.
                unsafe { y.add(first + row).write(sums[row]) };
            }
        });
    }
}

/// Loads `W` elements at once.
///
/// # Safety
/// There are `W` elements, on a 16-byte boundary if `W` is not 1.
#[inline(always)]
pub(super) unsafe fn load<B: cuda_std::launch::Scalar + Copy, const W: usize>(at: *const B) -> [B; W] {
    // SAFETY: the caller upholds the contract.
    unsafe { if W == 1 { [at.read(); W] } else { Vector::<B, W>::load(at.cast()).0 } }
}

/// Adds the products of `W` columns to the sums.
#[inline(always)]
fn multiply<T: Entry, const W: usize>(
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
fn line<T: Entry, const W: usize>(a: [T::Bits; W], x: [T::Sum; W], mut sum: T::Sum) -> T::Sum {
    unroll!(i < W => { sum = T::widen(a[i]).mul_add(x[i], sum); });
    sum
}

/// The sums over the lanes of each team of a warp, in all its lanes.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn total<S: Number>(mut sums: Sums<S>, team: u32) -> Sums<S> {
    let mut distance = team / 2;
    while distance > 0 {
        // SAFETY: the caller upholds the contract.
        unroll!(row < ROWS => { sums[row] = sums[row].add(unsafe { shuffle::xor(sums[row], distance) }); });
        distance /= 2;
    }
    sums
}
